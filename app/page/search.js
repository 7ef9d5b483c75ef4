import { get, post } from "./api.js";
import { csv, download, el, field, problem, say, select, table } from "./dom.js";
import { showDocument } from "./document.js";
import { card, metadata, showWhy } from "./hit.js";
import { ThresholdSlider, histogram } from "./histogram.js";
import { VirtualList } from "./list.js";
import { preview } from "./preview.js";
import { state, update } from "./state.js";

const MODES = { best_span: "Meaning of spans", lexical: "Words", hybrid: "Meaning and words", facets: "What stands near sentences", maxsim: "Documents by nuggets" };
// A phone folds what is not needed at first.
const isWide = () => matchMedia("(min-width: 40rem)").matches;
let lists = [];
let running = new AbortController();
let keys = new AbortController();

export async function searchView(main) {
  closeView();
  keys = new AbortController();
  const { collections } = await get("/collections");
  if (!collections.length) {
    main.replaceChildren(el("h1", {}, "Nothing to search yet"), el("p", {}, "Add documents under ", el("a", { href: "/?view=data" }, "Data"), ", then come back."));
    return;
  }
  if (!collections.some((one) => one.name === state.c)) update({ c: collections[0].name });
  const results = el("div", { "aria-live": "off" });
  const form = queryForm(main, collections, results);
  main.replaceChildren(el("h1", {}, "Find the phrase, not the page"), form, results);
  document.addEventListener("keydown", (event) => navigate(event, form), { signal: keys.signal });
  if (state.q) await search(results);
  else results.replaceChildren(el("p", { class: "muted" }, "Write what you are looking for in your own words, such as “cancel my subscription”. ",
    "Then ", el("kbd", {}, "j"), " and ", el("kbd", {}, "k"), " step through the hits, ", el("kbd", {}, "Enter"), " opens one, ", el("kbd", {}, "w"), " says why, ", el("kbd", {}, "/"), " returns here."));
}

export function closeView() {
  keys.abort();
  running.abort();
  for (const list of lists) list.close();
  lists = [];
}

function navigate(event, form) {
  if (event.target.closest("input, textarea, select, dialog") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "j") lists[0]?.move(1);
  else if (event.key === "k") lists[0]?.move(-1);
  else if (event.key === "/") { event.preventDefault(); form.querySelector("#query").focus(); }
}

function queryForm(main, collections, results) {
  const tag = state.many ? "textarea" : "input";
  const query = el(tag, { id: "query", ...(state.many ? { rows: "4" } : { type: "search" }), placeholder: "cancel my subscription", autocomplete: "off", maxlength: "100000" });
  query.value = state.q || "";
  const change = (name) => (value) => { update({ [name]: value }, true); if (query.value.trim()) { update({ q: query.value }); search(results); } };
  const chosen = collections.find((one) => one.name === state.c);
  const modes = Object.entries(MODES).filter(([name]) => (name !== "maxsim" || chosen.nuggets)
    && (!["lexical", "hybrid"].includes(name) || chosen.representations.includes("words"))
    && (name !== "facets" || chosen.representations.includes("facets")));
  const many = el("button", { type: "button", class: "plain", "aria-pressed": String(Boolean(state.many)), onclick: () => {
    update({ many: state.many ? "" : "1", q: query.value.split("\n")[0] }, true); searchView(main);
  } }, "Several phrases");
  return el("form", { role: "search", onsubmit: (event) => { event.preventDefault(); update({ q: query.value.trim() }, true); search(results); } },
    el("div", { class: "query" }, field(state.many ? "Phrases, one a line" : "Phrase", query), el("button", { type: "submit" }, "Search")),
    el("details", { class: "panel", open: isWide() }, el("summary", {}, "Options"), el("div", { class: "options" },
      field("Collection", select(collections.map((one) => [one.name, `${one.name} (${one.documents.toLocaleString()})`]), state.c, (value) => { update({ c: value, f: "", mode: "", vs: "" }, true); searchView(main); })),
      field("Mode", select(modes, state.mode, change("mode"))),
      field("Ranking", select([["", "Span score"], ["cosine", "Cosine"]], state.rank, change("rank"))),
      field("Boundaries", select([["", "Any span"], ["clause", "Clause"], ["sentence", "Sentence"]], state.b, change("b"))),
      field("Beside it", select([["", "Nothing"], ...modes], state.vs, change("vs"))), el("div", { class: "row" }, many))));
}

const filters = () => JSON.parse(state.f || "{}");

function requestOf(mode) {
  const request = { collection: state.c, text: state.q, mode, top_k: 1000, threshold: 0, offset_unit: "utf16" };
  if (mode !== "maxsim") request.context = 120;
  if (state.rank && mode === "best_span") request.ranking = state.rank;
  if (state.b && mode !== "maxsim") request.spans = { boundaries: state.b };
  if (state.f) request.filter = filters();
  return request;
}

async function search(results) {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  for (const list of lists) list.close();
  lists = [];
  if (!state.q) return;
  results.replaceChildren(el("p", { class: "muted" }, "Searching"));
  try {
    if (state.many) await showTable(results, signal);
    else await showHits(results, signal);
  } catch (error) {
    if (error.name === "AbortError") return;
    results.replaceChildren(problem(error));
  }
}

async function showHits(results, signal) {
  const modes = [state.mode || "best_span", ...(state.vs ? [state.vs] : [])];
  const requests = modes.map(requestOf);
  const answers = modes.length === 1 ? [await post("/search", requests[0], { signal })]
    : (await post("/search/batch", { queries: requests }, { signal })).results;
  const columns = answers.map((answer, index) => column(modes[index], answer.hits, requests[index]));
  lists = columns.map((one) => one.list);
  let counts = null;
  const describe = (threshold) => described(threshold, answers[0].hits, counts);
  const apply = (threshold) => columns.forEach((one) => one.apply(threshold));
  let saving;
  const slider = new ThresholdSlider(state.t || 0, describe, (threshold) => {
    apply(threshold);
    clearTimeout(saving);
    saving = setTimeout(() => update({ t: threshold ? String(threshold) : "" }), 200);
  });
  results.replaceChildren(el("section", { class: "panel", "aria-label": "Threshold" }, slider.element), facets(answers[0].hits, results),
    el("div", { class: modes.length > 1 ? "columns two" : "columns" }, columns.map((one) => one.element)));
  slider.show(histogram(answers[0].hits.map((hit) => hit.score)));
  apply(slider.value);
  say(slider.describe(slider.value));
  const exact = await preview(state.c, [state.q], modes[0], { signal, body: { ...(state.f && { filter: filters() }), ...(requests[0].spans && { spans: requests[0].spans }), ...(requests[0].ranking && { ranking: requests[0].ranking }) } });
  if (!exact) return;
  counts = exact.phrases[0];
  slider.show(counts.histogram);
  say(slider.describe(slider.value));
}

const plural = (count, noun) => `${count.toLocaleString()} ${noun}${count === 1 ? "" : "s"}`;
const reaching = (hits, threshold) => {
  let low = 0, high = hits.length;
  while (low < high) { const middle = (low + high) >> 1; if (hits[middle].score >= threshold) low = middle + 1; else high = middle; }
  return low;
};

function described(threshold, hits, counts) {
  const at = threshold.toFixed(2), index = Math.round(threshold * 100);
  const shown = reaching(hits, threshold);
  if (!counts) return `${plural(shown, "hit")} of the first ${hits.length.toLocaleString()} at ${at} or more`;
  const spans = counts.spans_above?.[index];
  const exact = spans === null || spans === undefined ? "" : `${plural(spans, "span")} in `;
  return `${exact}${plural(counts.documents_above[index], "document")} at ${at} or more`;
}

function column(mode, hits, request) {
  const count = el("p", { class: "meta" });
  let threshold = 0;
  const asked = () => ({ ...request, threshold });
  const list = new VirtualList(`Hits of ${MODES[mode]}`, (hit, index) => card(hit, index, {
    onopen: (one) => showDocument(one, asked()), onwhy: (one) => showWhy(one, request),
  }));
  const apply = (value) => {
    threshold = value;
    const shown = reaching(hits, value);
    count.textContent = shown ? `${shown.toLocaleString()} shown${hits.length === 1000 ? ", of the 1,000 best" : ""}` : "Nothing reaches this threshold. Lower it, or use other words.";
    list.show(hits, shown);
  };
  return { list, apply, element: el("section", {}, el("h2", {}, MODES[mode]), count, list.element) };
}

// The metadata of the hits, with counts among them; pressing one filters the whole search by it.
function facets(hits, results) {
  const counts = new Map();
  const add = (level, object) => Object.entries(object || {}).forEach(([name, value]) => {
    const id = JSON.stringify([level, name, value]);
    counts.set(id, (counts.get(id) || 0) + 1);
  });
  for (const hit of hits) { add("document", hit.metadata); add("part", hit.part_metadata); }
  const active = filters();
  const many = [...counts].map(([id, count]) => [...JSON.parse(id), count]).sort((a, b) => b[3] - a[3]).slice(0, 12);
  if (!many.length && !state.f) return "";
  const press = (level, name, value) => {
    const next = filters();
    next[level] = { ...next[level] };
    if (next[level][name] === value) delete next[level][name]; else next[level][name] = value;
    if (!Object.keys(next[level]).length) delete next[level];
    update({ f: Object.keys(next).length ? JSON.stringify(next) : "" }, true);
    search(results);
  };
  return el("details", { class: "panel", open: Boolean(state.f) }, el("summary", {}, "Filter by metadata"), el("p", { class: "meta" }, "Counts are among these hits."), el("div", { class: "row" },
    many.map(([level, name, value, count]) => el("button", {
      class: "chip", type: "button", "aria-pressed": String(active[level]?.[name] === value), onclick: () => press(level, name, value),
    }, `${name}: ${value} (${count})`)),
    state.f ? el("button", { class: "quiet", type: "button", onclick: () => { update({ f: "" }, true); search(results); } }, "Clear filters") : null));
}

async function showTable(results, signal) {
  const phrases = [...new Set(state.q.split("\n").map((line) => line.trim()).filter(Boolean))];
  const answer = await preview(state.c, phrases, state.mode || "best_span", { signal, body: { ...(state.f && { filter: filters() }), ...(state.b && { spans: { boundaries: state.b } }) } });
  if (!answer) throw new Error("Counts need a key with the scope admin, and at most 100 phrases.");
  const total = answer.phrases.reduce((bars, one) => bars.map((bar, index) => bar + one.histogram[index]), new Array(100).fill(0));
  const rows = (threshold) => answer.phrases.map((one) => {
    const index = Math.round(threshold * 100);
    return [one.phrase, one.spans_above?.[index] ?? "", one.documents_above[index]];
  });
  const place = el("div");
  const headings = ["Phrase", "Spans", "Documents"];
  const slider = new ThresholdSlider(state.t || 0.8, (value) => `${plural(phrases.length, "phrase")} at ${value.toFixed(2)} or more`, show);
  function show(value) {
    update({ t: String(value) });
    place.replaceChildren(table(headings, rows(value).map((row) => row.map((cell) => (cell === "" ? "not counted so low" : String(cell)))), "Counts of the phrases"));
  }
  slider.show(total);
  show(slider.value);
  results.replaceChildren(el("section", { class: "panel" }, slider.element), place,
    el("p", {}, el("button", { type: "button", class: "plain", onclick: () => download("phrases.csv", csv([headings, ...rows(slider.value)]), "text/csv") }, "Export as CSV")));
}
