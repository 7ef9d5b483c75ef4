import { call, get, part, post, put } from "./api.js";
import { el, field, problem, say, select, table } from "./dom.js";
import { scoreBar } from "./hit.js";
import { ThresholdSlider } from "./histogram.js";
import { precision, recall, suggested } from "./labels.js";
import { preview } from "./preview.js";
import { state, update } from "./state.js";

let keys = new AbortController();
export const closeThresholds = () => keys.abort();

export async function thresholdsView(main) {
  const { collections } = await get("/collections");
  if (!collections.length) {
    main.replaceChildren(el("h1", {}, "Nothing to tune yet"), el("p", {}, "Add documents under ", el("a", { href: "/?view=data" }, "Data"), " first."));
    return;
  }
  if (!collections.some((one) => one.name === state.c)) update({ c: collections[0].name });
  const { phrases } = await get(`/collections/${part(state.c)}/phrases?limit=1000`);
  const saved = phrases.find((one) => one.name === state.p) || phrases[0];
  const work = el("div");
  const again = () => thresholdsView(main);
  main.replaceChildren(el("h1", {}, "Which hits are good enough?"),
    el("div", { class: "panel options" },
      field("Collection", select(collections.map((one) => [one.name, one.name]), state.c, (value) => { update({ c: value, p: "" }, true); again(); })),
      saved ? field("Saved phrase", select(phrases.map((one) => [one.name, one.name]), saved.name, (value) => { update({ p: value }, true); again(); })) : null,
      newPhrase(again)), work);
  if (saved) await tune(saved, work);
  else work.replaceChildren(el("p", { class: "muted" }, "Save a phrase to see how its scores are spread, and to label examples."));
}

function newPhrase(again) {
  const input = el("input", { required: true, maxlength: "200", placeholder: "cancel my subscription" });
  const result = el("div");
  return el("form", { onsubmit: async (event) => {
    event.preventDefault();
    try {
      const phrase = await post(`/collections/${part(state.c)}/phrases`, { text: input.value.trim() });
      update({ p: phrase.name }, true);
      await again();
    } catch (error) { result.replaceChildren(problem(error)); }
  } }, field("New phrase", input), el("p", {}, el("button", { class: "plain" }, "Save phrase")), result);
}

async function tune(phrase, work) {
  keys.abort();
  keys = new AbortController();
  work.replaceChildren(el("p", { class: "muted" }, "Counting"));
  const answer = await preview(state.c, [phrase.text], "best_span", { signal: keys.signal });
  if (!answer) { work.replaceChildren(el("p", {}, "Counts and labels need a key with the scope admin.")); return; }
  const counts = answer.phrases[0];
  const labels = new Labels(phrase, () => slider.value, (value) => { slider.set(value); labels.draw(); });
  const describe = (value) => {
    const index = Math.round(value * 100), spans = counts.spans_above?.[index];
    return `${spans === null || spans === undefined ? "" : `${spans.toLocaleString()} spans in `}${counts.documents_above[index].toLocaleString()} documents at ${value.toFixed(2)} or more`;
  };
  const slider = new ThresholdSlider(phrase.applies.value ?? 0.8, describe, () => labels.draw());
  slider.show(counts.histogram);
  const history = el("div");
  const base = `/collections/${part(state.c)}/phrases/${part(phrase.name)}/threshold`;
  const change = (action) => async () => {
    try { await action(); say("Saved"); await showHistory(base, history); } catch (error) { history.replaceChildren(problem(error)); }
  };
  const collection = `/admin/collections/${part(state.c)}/thresholds`;
  work.replaceChildren(el("section", { class: "panel" }, el("h2", {}, phrase.text), slider.element,
    el("div", { class: "row" },
      el("button", { type: "button", onclick: change(() => put(base, { value: slider.value })) }, "Save for this phrase"),
      el("button", { type: "button", class: "plain", onclick: change(() => put(collection, { value: slider.value })) }, "Save for the collection"),
      el("button", { type: "button", class: "plain", onclick: change(() => call("POST", `${base}/undo`)) }, "Undo the phrase's last change")), history), labels.element);
  document.addEventListener("keydown", (event) => labels.key(event), { signal: keys.signal });
  await showHistory(base, history);
}

async function showHistory(base, place) {
  const { changes } = await get(`${base}/history`);
  const value = (threshold) => (threshold ? `${threshold.value} on ${threshold.on}` : "none");
  place.replaceChildren(changes.length ? table(["When", "From", "To", ""], changes.slice(0, 10).map((change) => [
    new Date(change.at).toLocaleString(), value(change.from), value(change.to), change.undo ? "undo" : change.note || ""]), "History of the threshold")
    : el("p", { class: "meta" }, "The phrase has no threshold of its own yet."));
}

// Proposed examples, one at a time: y, n, and u for undo.
class Labels {
  constructor(phrase, threshold, suggest) {
    Object.assign(this, { phrase, threshold, suggest, candidates: [], labels: [] });
    this.question = el("div", { "aria-live": "polite" });
    this.figures = el("div", { role: "status" });
    this.report = el("div");
    this.start = el("button", { type: "button", onclick: () => this.load() }, "Propose examples");
    this.element = el("section", { class: "panel", "aria-label": "Labels" }, el("h2", {}, "Label examples"),
      el("p", { class: "muted" }, "Does the span say the same as the phrase? Every answer makes precision and recall more certain."),
      this.start, this.question, this.figures, this.report);
  }

  async load() {
    this.start.disabled = true;
    try {
      const query = new URLSearchParams({ phrase: this.phrase.text, count: "60" });
      this.candidates = (await get(`/admin/collections/${part(state.c)}/label-candidates?${query}`)).candidates;
      this.start.hidden = true;
      this.draw();
    } catch (error) { this.question.replaceChildren(problem(error)); }
    this.start.disabled = false;
  }

  key(event) {
    if (!this.candidates.length || event.target.closest("input:not([type=range]), textarea, select, dialog") || event.ctrlKey || event.metaKey) return;
    const actions = { y: () => this.label(true), n: () => this.label(false), u: () => this.undo() };
    actions[event.key]?.();
  }

  label(match) {
    const candidate = this.candidates[this.labels.length];
    if (candidate) this.labels.push({ ...candidate, match });
    this.draw();
  }

  undo() { this.labels.pop(); this.draw(); }

  draw() {
    if (!this.candidates.length) return;
    const next = this.candidates[this.labels.length];
    const focused = [...this.question.querySelectorAll("button")].indexOf(document.activeElement);
    const button = (text, key, action, off) => el("button", { type: "button", class: "plain", disabled: Boolean(off), onclick: action }, `${text} (${key})`);
    this.question.replaceChildren(el("p", { class: "meta" }, `${this.labels.length} of ${this.candidates.length} labelled`),
      next ? el("div", {}, scoreBar(next.score), el("blockquote", {}, around(next))) : el("p", {}, "All examples are labelled."),
      el("div", { class: "row" }, button("Match", "y", () => this.label(true), !next), button("No match", "n", () => this.label(false), !next),
        button("Undo", "u", () => this.undo(), !this.labels.length)));
    if (focused >= 0) this.question.querySelectorAll("button")[focused].focus();
    const interval = (part) => (part ? `${percent(part.value)} (${percent(part.low)} to ${percent(part.high)})` : "not known yet");
    const best = suggested(this.labels);
    this.figures.replaceChildren(...(this.labels.length ? [
      el("p", { class: "count" }, `At ${this.threshold().toFixed(2)}: precision ${interval(precision(this.labels, this.threshold()))}, recall ${interval(recall(this.labels, this.threshold()))}`),
      el("div", { class: "row" }, best === null ? el("p", { class: "muted" }, "No threshold reaches 90 % precision with these labels.")
        : el("button", { type: "button", class: "plain", onclick: () => this.suggest(best) }, `Use ${best.toFixed(2)}: the lowest with 90 % precision`),
      this.labels.length >= 20 ? el("button", { type: "button", class: "plain", onclick: () => this.fit() }, "Fit a calibration") : null)] : []));
  }

  async fit() {
    const labels = this.labels.map(({ phrase, span, stratum, probability, match }) => ({ phrase, span, stratum, probability, match }));
    try {
      const { report } = await post(`/admin/collections/${part(state.c)}/calibrations`, { labels, note: "from the page" });
      this.report.replaceChildren(el("p", {}, `Stored, not active. ${report.warnings.join(" ")}`), table(["Target", "Threshold", "Precision", "Recall"],
        report.suggested.map((one) => one.threshold ? [one.wish, one.threshold.score.toFixed(2), percent(one.threshold.precision.value), percent(one.threshold.recall.value)] : [one.wish, "none reaches it", "", ""]), "Suggested thresholds"));
    } catch (error) { this.report.replaceChildren(problem(error)); }
  }
}

const percent = (value) => `${Math.round(value * 100)} %`;

function around({ context, says }) {
  const at = context ? context.indexOf(says) : -1;
  return at < 0 ? [el("mark", {}, says)] : [context.slice(0, at), el("mark", {}, says), context.slice(at + says.length)];
}
