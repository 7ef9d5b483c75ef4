import { ApiError, post } from "./api.js";
import { showDocument } from "./document.js";
import { el, plural, problem, say } from "./dom.js";
import { filtersOf, filterPanel } from "./filters.js";
import { card, showWhy } from "./hit.js";
import { ThresholdSlider, histogram } from "./histogram.js";
import { VirtualList } from "./list.js";
import { preview } from "./preview.js";
import { state, update } from "./state.js";

export const MODES = { best_span: "Meaning of spans", lexical: "Words", hybrid: "Meaning and words", facets: "What stands near sentences", restorable: "Whole sentences", maxsim: "Documents by nuggets" };
// The first request: as many as a window shows, in a fraction of the time of all.
export const FEW = 30;
const MOST = 1000;

// A request for each mode of the address.
export function requestsOf() {
  return [...new Set([state.mode || "best_span", ...(state.vs ? [state.vs] : [])])].map((mode) => {
    const request = { collection: state.c, text: state.q, mode, threshold: 0, offset_unit: "utf16" };
    if (mode !== "maxsim") request.context = 120;
    if (state.rank && mode === "best_span") request.ranking = state.rank;
    if (state.w && ["best_span", "hybrid"].includes(mode)) request.weighting = state.w;
    if (state.b && mode !== "maxsim") request.spans = { boundaries: state.b };
    if (state.f) request.filter = filtersOf();
    return request;
  });
}

// The hits of each request.
export async function ask(requests, top_k, signal) {
  const queries = requests.map((request) => ({ ...request, top_k }));
  try {
    const answers = queries.length === 1 ? [await post("/search", queries[0], { signal })]
      : (await post("/search/batch", { queries }, { signal })).results;
    const failed = answers.find((answer) => answer.error);
    if (failed) throw new ApiError(0, failed.error);
    return answers.map((answer) => answer.hits);
  } catch (error) {
    // A collection without texts counts code points alone.
    if (error.code !== "text_not_stored" || queries[0].offset_unit === "codepoint") throw error;
    for (const request of requests) request.offset_unit = "codepoint";
    return ask(requests, top_k, signal);
  }
}

// The best hits at once, then all, then the exact counts.
export async function showHits(results, signal, early, onlists, again) {
  const requests = requestsOf();
  let answers = await (early || ask(requests, FEW, signal));
  let isWhole = answers.every((hits) => hits.length < FEW);
  let counts = null, saving;
  const columns = requests.map((request) => column(request));
  onlists(columns.map((one) => one.list));
  const note = el("p", { class: "meta" });
  const of = requests.length > 1 ? `${MODES[requests[0].mode]}: ` : "";
  const describe = (threshold) => (counts || isWhole ? of + described(threshold, answers[0], counts) : "Counting");
  const slider = new ThresholdSlider(state.t || 0, describe, (threshold) => {
    columns.forEach((one) => one.apply(threshold));
    clearTimeout(saving);
    saving = setTimeout(() => update({ t: threshold ? String(threshold) : "" }), 200);
  });
  const fill = () => {
    columns.forEach((one, index) => one.fill(answers[index], isWhole, slider.value));
    if (!counts) slider.show(histogram(answers[0].map((hit) => hit.score)));
  };
  results.replaceChildren(el("section", { class: "panel", "aria-label": "Threshold" }, slider.element, note), filterPanel(again),
    el("div", { class: columns.length > 1 ? "columns two" : "columns" }, columns.map((one) => one.element)));
  fill();
  try {
    if (!isWhole) {
      answers = await ask(requests, MOST, signal);
      isWhole = true;
      fill();
    }
    const { mode, filter, spans, ranking, weighting } = requests[0];
    counts = (await preview(state.c, [state.q], mode, { signal, body: { filter, spans, ranking, weighting } })).phrases[0];
    slider.show(counts.histogram);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (isWhole) note.textContent = `Without exact counts: ${error.message} ${error.hint || ""}`;
    else note.replaceWith(problem(error));
  }
  say(slider.describe(slider.value));
}

const reaching = (hits, threshold) => {
  let low = 0, high = hits.length;
  while (low < high) { const middle = (low + high) >> 1; if (hits[middle].score >= threshold) low = middle + 1; else high = middle; }
  return low;
};

function described(threshold, hits, counts) {
  const at = threshold.toFixed(2), index = Math.round(threshold * 100);
  if (!counts) return `${plural(reaching(hits, threshold), "hit")} of the first ${hits.length.toLocaleString()} at ${at} or more`;
  const spans = counts.spans_above?.[index];
  const exact = spans === null || spans === undefined ? "" : `${plural(spans, "span")} in `;
  return `${exact}${plural(counts.documents_above[index], "document")} at ${at} or more`;
}

function column(request) {
  const count = el("p", { class: "meta" });
  let hits = [], isWhole = false, threshold = 0;
  const list = new VirtualList(`Hits of ${MODES[request.mode]}`, (hit, index) => card(hit, index, {
    onopen: (one) => showDocument(one, { ...request, top_k: MOST, threshold }), onwhy: (one) => showWhy(one, request),
  }));
  const words = (shown) => {
    if (!hits.length) return state.f ? "No document passes the filters and has hits. Clear a filter, or use other words." : "No hits. Use other words, or another mode.";
    if (!shown) return "Nothing reaches this threshold. Lower it, or use other words.";
    if (!isWhole) return "The best hits. The others follow.";
    return `${shown.toLocaleString()} shown${hits.length === MOST ? ", of the 1,000 best" : ""}`;
  };
  const apply = (value) => {
    threshold = value;
    const shown = reaching(hits, value);
    count.textContent = words(shown);
    list.show(hits, shown);
  };
  const fill = (all, whole, value) => { hits = all; isWhole = whole; apply(value); };
  return { list, apply, fill, element: el("section", {}, el("h2", {}, MODES[request.mode]), count, list.element) };
}
