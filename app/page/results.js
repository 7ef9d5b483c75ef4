import { ApiError, post } from "./api.js";
import { showDocument } from "./document.js";
import { el, plural, problem, say } from "./dom.js";
import { filtersOf } from "./filters.js";
import { CONTEXT, card } from "./hit.js";
import { ThresholdSlider, counted, histogram, uncounted } from "./histogram.js";
import { VirtualList } from "./list.js";
import { preview } from "./preview.js";
import { state, update } from "./state.js";
import { showWhy } from "./why.js";

export const MODES = {
  best_span: "Spans by meaning", lexical: "Sentences by words", hybrid: "Sentences by meaning and words", facets: "Sentences by facets",
  restorable: "Sentences by meaning", maxsim: "Documents by nuggets",
};
// The first request: as many as a window shows, in a fraction of the time of all.
export const FEW = 30;
const MOST = 1000;
// Restoring a text takes longer than reading one.
const MOST_RESTORED = 100;

// A request for each mode of the address. Without a threshold in the address the collection's applies, if it has one.
export function requestsOf() {
  return [...new Set([state.mode || "best_span", ...(state.vs ? [state.vs] : [])])].map((mode, column) => {
    const request = { collection: state.c, text: state.q, mode, offset_unit: "utf16" };
    if (state[place(column)]) request.threshold = 0;
    if (mode !== "maxsim") request.context = CONTEXT;
    if (state.rank && mode === "best_span") request.ranking = state.rank;
    if (state.b && mode !== "maxsim") request.spans = { boundaries: state.b };
    if (state.f) request.filter = filtersOf();
    return request;
  });
}

// Where the address has the threshold of a column.
const place = (column) => (column ? "t2" : "t");

// The answer of each request.
export async function ask(requests, top_k, signal) {
  const queries = requests.map((request) => ({ ...request, top_k }));
  try {
    const answers = queries.length === 1 ? [await post("/search", queries[0], { signal })]
      : (await post("/search/batch", { queries }, { signal })).results;
    const failed = answers.find((answer) => answer.error);
    if (failed) throw new ApiError(0, failed.error);
    return answers;
  } catch (error) {
    // A collection without texts counts code points alone.
    if (error.code !== "text_not_stored" || queries[0].offset_unit === "codepoint") throw error;
    return ask(requests.map((request) => ({ ...request, offset_unit: "codepoint" })), top_k, signal);
  }
}

// The best hits at once, then all, then the exact counts.
export async function showHits(results, signal, early, onshown) {
  const requests = requestsOf();
  const answers = await (early || ask(requests, FEW, signal));
  const columns = requests.map((request, index) => new Column(request, answers[index], index, requests.length > 1));
  results.replaceChildren(el("div", { class: columns.length > 1 ? "columns two" : "columns" }, columns.map((one) => one.element)));
  for (const column of columns) column.apply();
  onshown(columns.map((one) => one.list));
  reopen(columns);
  if (!columns.every((one) => one.isWhole)) {
    const most = columns[0].isRestored ? MOST_RESTORED : MOST;
    try {
      const all = await ask(columns.map((one) => one.request), most, signal);
      columns.forEach((one, index) => one.fill(all[index].hits, most));
    } catch (error) {
      if (error.name === "AbortError") throw error;
      for (const column of columns) column.note.replaceWith(problem(error));
      return;
    }
  }
  await Promise.all(columns.map((one) => one.ask(signal)));
  say(columns.map((one) => one.slider.describe(one.slider.value)).join("; "));
}

// The document that the address names, at the hit that it names.
function reopen(columns) {
  if (!state.d) return;
  const isMeant = (hit) => hit.document_id === state.d && String(hit.start) === state.at;
  const column = columns.find((one) => one.hits.some(isMeant)) || columns[0];
  column.open(column.hits.find(isMeant) || { document_id: state.d, start: Number(state.at), mode: column.request.mode });
}

// In their order: by what the second look says, and by score behind it.
const reaching = (hits, threshold) => (threshold ? hits.filter((hit) => hit.score >= threshold) : hits);

// The hits of one mode: a threshold, and the list of what reaches it.
class Column {
  constructor(request, { hits, threshold, verified, notice }, index, isNamed) {
    const isOwn = threshold?.source === "collection" && threshold.on === "score";
    this.own = isOwn ? threshold.value : null;
    this.isRestored = hits.some((hit) => hit.restored);
    this.request = { ...request, threshold: 0, ...(this.isRestored && { offset_unit: "codepoint" }) };
    this.hits = hits;
    this.verified = verified;
    this.notice = notice;
    this.isFolded = verified?.likely > 0;
    this.most = MOST;
    this.isWhole = hits.length < FEW && (threshold?.source !== "collection" || !threshold.value);
    const name = MODES[request.mode];
    this.words = el("p", { class: "meta" });
    this.note = el("p", { class: "meta" });
    this.verdict = el("p", { class: "verdict", role: "status" });
    this.slider = new ThresholdSlider(state[place(index)] || this.own || 0, (value) => this.describe(value), (value) => {
      this.apply();
      clearTimeout(this.saving);
      this.saving = setTimeout(() => update({ [place(index)]: String(value) }), 200);
    });
    this.list = new VirtualList(`Hits: ${name}`, (hit, number, room) => card(hit, number, {
      room, onopen: (one) => this.open(one), onwhy: (one) => showWhy(one, this.request),
    }));
    this.element = el("section", { "aria-label": name }, el("section", { class: "panel threshold", "aria-label": `Threshold: ${name}` },
      el("h2", { class: isNamed ? null : "hidden" }, name), this.slider.element, this.note), this.verdict, this.words, this.list.element);
    this.slider.show(histogram(hits.map((hit) => hit.score)));
  }

  open(hit) {
    update({ d: hit.document_id, at: String(hit.start) });
    showDocument(hit, { ...this.request, top_k: MOST, threshold: this.slider.value });
  }

  fill(hits, most) {
    Object.assign(this, { hits, most, isWhole: true });
    this.slider.show(histogram(hits.map((hit) => hit.score)));
    this.apply();
  }

  async ask(signal) {
    const { collection, text, mode, filter, spans, ranking } = this.request;
    try {
      this.counts = (await preview(collection, [text], mode, { signal, body: { filter, spans, ranking } })).phrases[0];
      this.slider.show(this.counts.histogram);
      this.words.textContent = this.said(reaching(this.hits, this.slider.value).length);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      this.note.textContent = `Without exact counts: ${error.message} ${error.hint || ""}`;
      this.slider.refresh();
    }
  }

  describe(threshold) {
    if (this.counts) return counted(this.counts, threshold);
    if (!this.isWhole) return "Counting";
    return `${plural(reaching(this.hits, threshold).length, "hit")} of the first ${this.hits.length.toLocaleString()} at ${threshold.toFixed(2)} or more`;
  }

  apply() {
    const above = reaching(this.hits, this.slider.value);
    const likely = above.filter((hit) => hit.verdict === "match");
    const shown = this.isFolded ? likely : above;
    this.words.textContent = this.said(above.length);
    this.verdict.replaceChildren(...(this.notice ? [`${this.notice} `] : []), ...this.judged(likely.length, above.length - likely.length));
    this.list.show(shown);
  }

  // The answer before the evidence: how many hits say it, and a button for those that do not.
  judged(likely, others) {
    if (!this.verified) return [];
    if (!this.verified.likely) return ["No likely match. These are nearest:"];
    const first = `${likely.toLocaleString()} likely ${likely === 1 ? "match" : "matches"}${this.verified.complete ? "" : " among the first; there may be more"}.`;
    const label = this.isFolded ? `Show ${others.toLocaleString()} that may be near` : "Show likely matches alone";
    return [el("strong", {}, first), " ", others ? el("button", { class: "quiet", type: "button", onclick: () => { this.isFolded = !this.isFolded; this.apply(); } }, label) : ""];
  }

  said(shown) {
    if (!this.isWhole) return "The best hits. The others follow.";
    if (!this.hits.length) return state.f ? "No document passes the filters and has hits. Clear a filter, or use other words." : "No hits. Use other words, or another mode.";
    if (!shown) return "Nothing reaches this threshold. Lower it, or use other words.";
    const own = this.own && this.slider.value === this.own ? " at the collection's threshold" : "";
    const list = `${shown.toLocaleString()} shown${own}${shown === this.most ? `, of the ${this.most.toLocaleString()} best` : ""}`;
    return [list, uncounted(this.counts, this.slider.value)].filter(Boolean).join(". ");
  }
}
