import { get, part, post } from "./api.js";
import { el, openDialog, problem } from "./dom.js";
import { preview } from "./preview.js";

const BLOCK = 4000;
const MOST = 1000;

// A whole document with all its hits marked, and a strip that shows where they lie. `j` and `k` step through them.
export async function showDocument(hit, request) {
  openDialog(hit.document_id, el("p", { class: "muted" }, "Loading"));
  // Documents with other metadata cannot take the places of this one's hits.
  const plain = Object.entries(hit.metadata).filter(([, value]) => value === null || typeof value !== "object");
  const filter = { ...request.filter, document: { ...request.filter?.document, ...Object.fromEntries(plain) } };
  const unit = hit.restored ? "codepoint" : "utf16";
  const asked = { ...request, filter, context: undefined, offset_unit: unit };
  try {
    const [document, { hits }] = await Promise.all([
      get(`/collections/${part(request.collection)}/documents/${part(hit.document_id)}?offset_unit=${unit}`),
      hit.mode === "maxsim" ? { hits: [] } : post("/search", asked),
    ]);
    const own = hits.filter((other) => other.document_id === hit.document_id).sort((a, b) => a.start - b.start || a.end - b.end);
    present(hit, document.text, own, hits.length < MOST ? "" : await left(asked, hits, own));
  } catch (error) { openDialog(hit.document_id, problem(error)); }
}

// Says what the best 1,000 hits leave out: how many, if no other document passes the filter, else below which score.
async function left(asked, hits, own) {
  const body = { filter: asked.filter, ...(asked.ranking && { ranking: asked.ranking }), ...(asked.weighting && { weighting: asked.weighting }), ...(asked.spans && { spans: asked.spans }) };
  const counts = await preview(asked.collection, [asked.text], asked.mode || "best_span", { body }).then((answer) => answer.phrases[0], () => null);
  const total = counts?.with_spans === 1 ? counts.spans_above[Math.round(asked.threshold * 100)] : null;
  if (typeof total === "number") return total > own.length ? `The ${own.length.toLocaleString()} best of ${total.toLocaleString()} hits are marked.` : "";
  return `${own.length.toLocaleString()} hits are marked. Others that score less than ${hits.at(-1).score.toFixed(2)} are not: a search returns the best ${MOST.toLocaleString()}. Raise the threshold, or filter by metadata.`;
}

function present(hit, text, hits, note) {
  const marks = hits.map(() => []);
  const blocks = [...blocksOf(text, hits)].map((block) => el("p", { class: "text block" }, marked(text, block, marks)));
  const place = el("span", { class: "meta", role: "status" });
  let current = 0;
  const show = (index) => {
    for (const mark of marks[current]) mark.classList.remove("current");
    current = Math.max(0, Math.min(hits.length - 1, index));
    for (const mark of marks[current]) mark.classList.add("current");
    marks[current][0].scrollIntoView({ block: "center" });
    marks[current][0].focus({ preventScroll: true });
    place.textContent = `Hit ${current + 1} of ${hits.length}`;
  };
  const step = (by, label, key) => el("button", { type: "button", class: "plain", onclick: () => show(current + by) }, label, " ", el("kbd", {}, key));
  const strip = el("div", { class: "strip", role: "img", "aria-label": `Where the ${hits.length} hits lie in the document` },
    hits.map((other) => el("i", { "--from": String(other.start / text.length), "--wide": String((other.end - other.start) / text.length) })));
  const reader = el("div", { onkeydown: (event) => {
    const by = { j: 1, k: -1 }[event.key];
    if (by && hits.length) { event.preventDefault(); show(current + by); }
  } }, hits.length ? [el("div", { class: "row" }, step(-1, "Previous", "k"), step(1, "Next", "j"), place), strip] : null,
  note ? el("p", { class: "meta" }, note) : null, blocks);
  openDialog(hit.document_id, reader);
  const first = hits.findIndex((other) => other.start === hit.start && other.end === hit.end);
  if (hits.length) show(Math.max(0, first));
}

// Stretches of the text that the browser can leave out of layout; none ends inside a hit or, where there are spaces, a word.
// Hits are sorted by start; those of a block have their numbers.
export function* blocksOf(text, hits) {
  let start = 0, row = 0;
  while (start < text.length) {
    let end = breakAt(text, start + BLOCK);
    const inside = [];
    while (row < hits.length && hits[row].start < end) {
      if (hits[row].end > end) end = breakAt(text, hits[row].end);
      inside.push(row++);
    }
    yield { start, end, hits: inside.map((number) => ({ number, ...hits[number] })) };
    start = end;
  }
}

// The end of the line from a place on, else of the word, else the place itself; never within a character.
function breakAt(text, place) {
  if (place >= text.length) return text.length;
  const ahead = text.slice(place - 1, place + BLOCK);
  const line = ahead.indexOf("\n");
  const after = line >= 0 ? line : ahead.search(/\s/);
  if (after >= 0) return place + after;
  return /[\uDC00-\uDFFF]/.test(text[place]) ? place + 1 : place;
}

// The text of a block in pieces that begin or end where a hit does; those within hits are marked, and belong to all of these.
function marked(text, block, marks) {
  const pieces = [];
  let group = [];
  let at = block.start;
  const close = () => {
    if (!group.length) return;
    const edges = [...new Set(group.flatMap((hit) => [hit.start, hit.end]))].sort((a, b) => a - b);
    pieces.push(text.slice(at, edges[0]));
    edges.slice(1).forEach((end, index) => {
      const mark = el("mark", { tabindex: "-1" }, text.slice(edges[index], end));
      for (const hit of group) if (hit.start <= edges[index] && hit.end >= end) marks[hit.number].push(mark);
      pieces.push(mark);
    });
    at = edges.at(-1);
    group = [];
  };
  for (const hit of block.hits) {
    if (group.every((one) => one.end <= hit.start)) close();
    group.push(hit);
  }
  close();
  return [...pieces, text.slice(at, block.end)];
}
