import { get, part, post } from "./api.js";
import { el, openDialog, problem } from "./dom.js";

const BLOCK = 4000;

// A whole document with all its hits marked, and a strip that shows where they lie. `j` and `k` step through them.
export async function showDocument(hit, request) {
  openDialog(hit.document_id, el("p", { class: "muted" }, "Loading"));
  try {
    const [document, { hits }] = await Promise.all([
      get(`/collections/${part(request.collection)}/documents/${part(hit.document_id)}?offset_unit=utf16`),
      post("/search", { ...request, context: undefined, offset_unit: "utf16" }),
    ]);
    const own = hits.filter((other) => other.document_id === hit.document_id && other.mode !== "maxsim").sort((a, b) => a.start - b.start);
    present(hit, document.text, own);
  } catch (error) { openDialog(hit.document_id, problem(error)); }
}

function present(hit, text, hits) {
  const marks = [];
  const blocks = [...blocksOf(text, hits)].map((block) => el("p", { class: "text block" }, marked(text, block, marks)));
  const place = el("span", { class: "meta", role: "status" });
  let current = -1;
  const show = (index) => {
    current = Math.max(0, Math.min(marks.length - 1, index));
    marks[current].scrollIntoView({ block: "center" });
    marks[current].focus({ preventScroll: true });
    place.textContent = `Hit ${current + 1} of ${marks.length}`;
  };
  const step = (by, label, key) => el("button", { type: "button", class: "plain", onclick: () => show(current + by) }, label, " ", el("kbd", {}, key));
  const strip = el("div", { class: "strip", role: "img", "aria-label": `Where the ${hits.length} hits lie in the document` },
    hits.map((other) => el("i", { "--from": String(other.start / text.length), "--wide": String((other.end - other.start) / text.length) })));
  const reader = el("div", { onkeydown: (event) => {
    const by = { j: 1, k: -1 }[event.key];
    if (by && marks.length) { event.preventDefault(); show(current + by); }
  } }, marks.length ? [el("div", { class: "row" }, step(-1, "Previous", "k"), step(1, "Next", "j"), place), strip] : null, blocks);
  openDialog(hit.document_id, reader);
  const first = hits.findIndex((other) => other.start === hit.start);
  if (marks.length) show(Math.max(0, first));
}

// Stretches of the text that the browser can leave out of layout; none ends inside a hit or a character.
function* blocksOf(text, hits) {
  let start = 0, row = 0;
  while (start < text.length) {
    let end = Math.min(text.length, start + BLOCK);
    const line = text.indexOf("\n", end);
    if (line >= 0 && line < end + BLOCK) end = line + 1;
    if (/[\uDC00-\uDFFF]/.test(text[end] || "")) end++;
    const inside = [];
    while (row < hits.length && hits[row].start < end) { end = Math.max(end, hits[row].end); inside.push(hits[row++]); }
    yield { start, end, hits: inside };
    start = end;
  }
}

function marked(text, block, marks) {
  const pieces = [];
  let at = block.start;
  for (const hit of block.hits) {
    if (hit.start < at) continue; // it overlaps the one before
    const mark = el("mark", { tabindex: "-1" }, text.slice(hit.start, hit.end));
    marks.push(mark);
    pieces.push(text.slice(at, hit.start), mark);
    at = hit.end;
  }
  return [...pieces, text.slice(at, block.end)];
}
