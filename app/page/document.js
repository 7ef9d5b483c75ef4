import { get, part, post } from "./api.js";
import { el, openDialog, problem } from "./dom.js";
import { facts } from "./hit.js";
import { preview } from "./preview.js";

const BLOCK = 4000;
// The least that a hit is shaded; the best is shaded whole.
const LIGHTEST = 0.2;
const MOST = 1000;

// A whole document with all its hits marked, and a strip that shows where they lie. `j` and `k` step through them.
export async function showDocument(hit, request) {
  openDialog(hit.document_id, el("p", { class: "muted" }, "Loading"));
  try {
    const unit = request.offset_unit;
    const read = get(`/collections/${part(request.collection)}/documents/${part(hit.document_id)}?offset_unit=${unit}`);
    const asked = { ...request, filter: only(request.filter, hit.document_id), context: undefined };
    const [document, hits] = await Promise.all([read, hit.mode === "maxsim" ? stretches(asked) : marksOf(asked)]);
    present(hit, document, document.restored ? found(document.text, hits) : hits, hits.length < MOST ? "" : await left(asked, hits.length));
  } catch (error) { openDialog(hit.document_id, problem(error)); }
}

// The filter of a search for the hits of one document.
function only(filter, id) {
  const own = `document.id = ${JSON.stringify(id)}`;
  return { ...filter, expression: filter?.expression ? `(${filter.expression}) and ${own}` : own };
}

async function marksOf(asked) {
  const { hits } = await post("/search", asked);
  return hits.sort((a, b) => a.start - b.start || a.end - b.end);
}

// Of a document that was found by its nuggets, the stretches that answer the query.
async function stretches(asked) {
  const { hits } = await post("/search", { ...asked, threshold: 0, top_k: 1, explain: true });
  const pairs = hits[0]?.explanation.pairs || [];
  const places = new Map(pairs.map(({ segment_text: segment, cosine }) => [`${segment.start} ${segment.end}`, { ...segment, score: cosine }]));
  return [...places.values()].sort((a, b) => a.start - b.start || a.end - b.end);
}

// Offsets count the text that was sent. In a restored text, hits stand where their own texts do, if they came back alike.
function found(text, hits) {
  return hits.map((hit) => ({ ...hit, sent: hit.start, ...nearest(text, hit) })).filter((hit) => hit.start >= 0).sort((a, b) => a.start - b.start || a.end - b.end);
}

function nearest(text, hit) {
  let best = -1;
  for (let at = text.indexOf(hit.text); hit.text && at >= 0; at = text.indexOf(hit.text, at + 1)) if (best < 0 || Math.abs(at - hit.start) < Math.abs(best - hit.start)) best = at;
  return { start: best, end: best + hit.text.length };
}

// Says how many hits the best 1,000 leave out.
async function left(asked, marked) {
  const body = { filter: asked.filter, ...(asked.ranking && { ranking: asked.ranking }), ...(asked.spans && { spans: asked.spans }) };
  const counts = await preview(asked.collection, [asked.text], asked.mode || "best_span", { body }).then((answer) => answer.phrases[0], () => null);
  const total = counts?.with_spans === 1 ? counts.spans_above[Math.round(asked.threshold * 100)] : null;
  if (typeof total === "number") return total > marked ? `The ${marked.toLocaleString()} best of ${total.toLocaleString()} hits are marked.` : "";
  return `The ${marked.toLocaleString()} best hits are marked. A search returns no more: raise the threshold to see that these are all.`;
}

function present(hit, { text, parts = [], metadata, restored }, hits, note) {
  const marks = hits.map(() => []);
  const starts = new Map(parts.filter((one) => Object.keys(one.metadata).length).map((one) => [one.start, facts(one.metadata)]));
  const cuts = restored ? [] : [...starts.keys()];
  const place = el("span", { class: "meta", role: "status" });
  const top = Math.max(1e-9, ...hits.map((other) => other.score ?? 1));
  const shaded = hits.map((other) => ({ ...other, weight: Math.max(LIGHTEST, (other.score ?? 1) / top) }));
  const bars = shaded.map((other) => el("i", { "--from": String(other.start / text.length), "--wide": String((other.end - other.start) / text.length), "--weight": String(other.weight) }));
  const blocks = [...blocksOf(text, shaded, cuts)].flatMap((block) => [
    !restored && starts.has(block.start) ? el("p", { class: "meta turn" }, starts.get(block.start)) : null, el("p", { class: "text block" }, marked(text, block, marks))]);
  let current = 0;
  const show = (index) => {
    for (const mark of [...marks[current], bars[current]]) mark.classList.remove("current");
    current = Math.max(0, Math.min(hits.length - 1, index));
    for (const mark of [...marks[current], bars[current]]) mark.classList.add("current");
    marks[current][0].scrollIntoView({ block: "center" });
    marks[current][0].focus({ preventScroll: true });
    place.textContent = `Hit ${current + 1} of ${hits.length}`;
    place.nextSibling.textContent = typeof hits[current].score === "number" ? `score ${hits[current].score.toFixed(2)}` : "";
  };
  const step = (by, label, key) => el("button", { type: "button", class: "plain", onclick: () => show(current + by) }, label, " ", el("kbd", {}, key));
  const strip = el("div", { class: "strip", role: "img", "aria-label": `Where the ${hits.length} hits lie in the document`,
    onclick: (event) => show(closest(hits, (event.clientX - strip.getBoundingClientRect().left) / strip.clientWidth * text.length)) }, bars);
  const about = [facts(metadata || {}), restored ? "restored from vectors: words may differ" : "", note].filter(Boolean);
  const dialog = openDialog(hit.document_id, about.map((line) => el("p", { class: "meta" }, line)),
    hits.length ? el("div", { class: "tools" }, el("div", { class: "row" }, step(-1, "Previous", "k"), step(1, "Next", "j"), place, el("span", { class: "meta" })), strip) : null, el("div", {}, blocks));
  dialog.onkeydown = (event) => {
    const by = { j: 1, k: -1 }[event.key];
    if (by && hits.length) { event.preventDefault(); show(current + by); }
  };
  const first = hits.findIndex((other) => other.sent === hit.start || (other.start === hit.start && (hit.end === undefined || other.end === hit.end)));
  if (hits.length) show(Math.max(0, first));
}

const closest = (hits, at) => hits.reduce((best, hit, index) => (Math.abs(hit.start - at) < Math.abs(hits[best].start - at) ? index : best), 0);

// Stretches of the text that the browser can leave out of layout; none ends inside a hit or, where there are spaces, a word.
// Hits are sorted by start; a block has the numbers of its own. Blocks end at cuts, which are sorted.
export function* blocksOf(text, hits, cuts = []) {
  let start = 0, row = 0, cut = 0;
  while (start < text.length) {
    while (cuts[cut] <= start) cut++;
    let end = Math.min(breakAt(text, start + BLOCK), cuts[cut] ?? text.length);
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
      const own = group.filter((hit) => hit.start <= edges[index] && hit.end >= end);
      const mark = el("mark", { tabindex: "-1", "--weight": String(Math.max(...own.map((hit) => hit.weight))) }, text.slice(edges[index], end));
      for (const hit of own) marks[hit.number].push(mark);
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
