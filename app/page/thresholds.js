import { call, get, part, post, put } from "./api.js";
import { Calibrations } from "./calibrations.js";
import { chooseCollection } from "./collections.js";
import { download, el, field, problem, say, select, table, when } from "./dom.js";
import { scoreBar } from "./hit.js";
import { ThresholdSlider, counted } from "./histogram.js";
import { precision, recall, suggested } from "./labels.js";
import { preview, start } from "./preview.js";
import { state, update } from "./state.js";

let keys = new AbortController();
export const closeThresholds = () => keys.abort();

export async function thresholdsView(main) {
  const { collections } = await get("/collections");
  if (!collections.length) {
    main.replaceChildren(el("h1", {}, "Nothing to tune yet"), el("p", {}, "Add documents under ", el("a", { href: "./?view=data" }, "Data"), " first."));
    return;
  }
  await chooseCollection(collections);
  const { phrases } = await get(`/collections/${part(state.c)}/phrases?limit=1000`);
  const saved = phrases.find((one) => one.name === state.p) || phrases[0];
  const work = el("div");
  const again = () => thresholdsView(main);
  main.replaceChildren(el("h1", {}, "Which hits are good enough?"),
    el("div", { class: "panel tuner" },
      field("Collection", select(collections.map((one) => [one.name, one.name]), state.c, (value) => { update({ c: value, p: "" }, true); again(); })),
      saved ? field("Saved phrase", select(phrases.map((one) => [one.name, one.name]), saved.name, (value) => { update({ p: value }, true); again(); })) : null, newPhrase(again)), work);
  if (saved) await tune(saved, work, again);
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
  } }, el("div", { class: "row inline" }, field("New phrase", input), el("button", { class: "plain" }, "Save phrase")), result);
}

async function tune(phrase, work, again) {
  keys.abort();
  keys = new AbortController();
  work.replaceChildren(el("p", { class: "muted" }, "Counting"));
  let counts;
  try { [counts] = (await preview(state.c, [phrase.text], "best_span", { signal: keys.signal })).phrases; } catch (error) {
    if (error.name !== "AbortError") work.replaceChildren(problem(error));
    return;
  }
  const labels = new Labels(phrase, () => slider.value, (value) => { slider.set(value); labels.draw(); });
  const slider = new ThresholdSlider(phrase.applies.value ?? start([counts]), (value) => counted(counts, value), () => labels.draw());
  labels.onlabel = (all) => slider.mark(all);
  slider.show(counts.histogram);
  const history = el("div"), refusal = el("div");
  const own = `/collections/${part(state.c)}/phrases/${part(phrase.name)}/threshold`;
  const common = `/admin/collections/${part(state.c)}/thresholds`;
  const change = (action) => async () => {
    refusal.replaceChildren();
    try { await action(); say("Saved"); await showHistory(own, common, history); } catch (error) { refusal.replaceChildren(problem(error)); }
  };
  const button = (text, kind, action) => el("button", { type: "button", class: kind, onclick: change(action) }, text);
  const calibrations = new Calibrations(state.c, again);
  labels.onfit = () => calibrations.show();
  const remove = el("button", { type: "button", class: "quiet" }, "Delete the phrase");
  remove.addEventListener("click", async () => {
    if (remove.textContent === "Delete the phrase") { remove.textContent = "Delete for good"; return; }
    try { await call("DELETE", `/collections/${part(state.c)}/phrases/${part(phrase.name)}`); update({ p: "" }); await again(); } catch (error) { refusal.replaceChildren(problem(error)); }
  });
  const hits = `./?${new URLSearchParams({ c: state.c, q: phrase.text })}`;
  work.replaceChildren(el("section", { class: "panel" }, el("div", { class: "row head" }, el("h2", { class: "grow" }, phrase.text), el("a", { href: hits }, "See its hits"), remove), slider.element,
    el("div", { class: "row actions" },
      button("Save for this phrase", "", () => put(own, { value: slider.value })),
      button("Save for the collection", "plain", () => put(common, { value: slider.value })),
      button("Undo the phrase's last change", "quiet", () => call("POST", `${own}/undo`)),
      button("Undo the collection's last change", "quiet", () => call("POST", `${common}/undo`))), refusal, history), labels.element, calibrations.element);
  document.addEventListener("keydown", (event) => labels.key(event), { signal: keys.signal });
  await Promise.all([showHistory(own, common, history), calibrations.show()]);
}

async function showHistory(own, common, place) {
  const [phrase, collection] = await Promise.all([own, common].map((base) => get(`${base}/history`)));
  const value = (threshold) => (threshold ? `${threshold.value} on ${threshold.on}` : "none");
  const rows = [...phrase.changes.map((change) => ["this phrase", change]), ...collection.changes.map((change) => ["the collection", change])]
    .sort(([, one], [, other]) => Date.parse(other.at) - Date.parse(one.at)).slice(0, 10);
  place.replaceChildren(rows.length ? table(["When", "Threshold of", "From", "To", ""], rows.map(([of, change]) => [
    when(change.at), of, value(change.from), value(change.to), change.undo ? "undo" : change.note || ""]), "Latest changes")
    : el("p", { class: "meta" }, "Neither the phrase nor the collection has a threshold yet."));
}

// Proposed examples, one at a time: y, n, and u for undo.
class Labels {
  constructor(phrase, threshold, suggest) {
    Object.assign(this, { phrase, threshold, suggest, candidates: [], labels: [], onfit: () => {}, onlabel: () => {} });
    this.question = el("div", { "aria-live": "polite" });
    this.figures = el("div", { role: "status" });
    this.report = el("div");
    this.start = el("button", { type: "button", onclick: () => this.load() }, "Propose examples");
    this.element = el("section", { class: "panel", "aria-label": "Labels" }, el("h2", {}, "Label examples"),
      el("p", { class: "muted" }, "Does the span say the same as the phrase? Every answer makes precision and recall more certain, and is a tick below the threshold: matches above, others below."),
      this.start, this.question, this.figures, this.report);
  }

  async load() {
    this.start.disabled = true;
    try {
      const query = new URLSearchParams({ phrase: this.phrase.text, count: "60", threshold: String(this.threshold()) });
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
      next ? el("div", {}, scoreBar(next.score), el("blockquote", {}, around(next)), el("p", { class: "meta" }, next.span?.document_id)) : el("p", {}, "All examples are labelled."),
      el("div", { class: "row actions" }, button("Match", "y", () => this.label(true), !next), button("No match", "n", () => this.label(false), !next),
        button("Undo", "u", () => this.undo(), !this.labels.length)));
    if (focused >= 0) this.question.querySelectorAll("button")[focused].focus();
    this.onlabel(this.labels);
    const at = this.threshold(), interval = (part) => (part ? shares(part) : "not known yet");
    const both = [["Precision", precision(this.labels, at)], ["Recall", recall(this.labels, at)]];
    const best = suggested(this.labels);
    this.figures.replaceChildren(...(this.labels.length ? [
      el("p", { class: "hidden" }, `At ${at.toFixed(2)}: ${both.map(([name, part]) => `${name.toLowerCase()} ${interval(part)}`).join(", ")}`),
      el("div", { class: "stats", "aria-hidden": "true" }, both.map(([name, part]) => stat(`${name} at ${at.toFixed(2)}`, part))),
      el("div", { class: "row" }, best === null ? el("p", { class: "muted" }, "No threshold reaches 90 % precision with these labels.")
        : el("button", { type: "button", class: "plain", onclick: () => this.suggest(best) }, `Use ${best.toFixed(2)}: the lowest with 90 % precision`),
      this.labels.length >= 20 ? el("button", { type: "button", class: "plain", onclick: () => this.fit() }, "Fit a calibration") : el("p", { class: "meta" }, `${20 - this.labels.length} more labels, and a calibration can be fitted.`),
      el("button", { type: "button", class: "quiet", onclick: () => this.save() }, "Save the labels"))] : []));
  }

  async fit() {
    const labels = this.labels.map(({ phrase, span, stratum, probability, match }) => ({ phrase, span, stratum, probability, match }));
    try {
      const { report } = await post(`/admin/collections/${part(state.c)}/calibrations`, { labels, note: `“${this.phrase.text}”, from the page` });
      this.report.replaceChildren(el("p", { class: "actions" }, "The calibration is stored, and listed below."),
        el("ul", { class: "meta" }, report.warnings.map((warning) => el("li", {}, warning))), table(["Target", "Threshold", "Precision", "Recall"],
        report.suggested.map((one) => one.threshold ? [one.wish, one.threshold.score.toFixed(2), shares(one.threshold.precision), shares(one.threshold.recall)] : [one.wish, "none reaches it", "", ""]), "Suggested thresholds"),
      el("p", { class: "meta" }, "These thresholds are scores of the new calibration: activate it to use them."));
      await this.onfit();
    } catch (error) { this.report.replaceChildren(problem(error)); }
  }

  // As `spanseek calibrate` reads them: a line a label.
  save() {
    const lines = this.labels.map(({ context, context_start, ...label }) => JSON.stringify(label));
    download("labels.ndjson", `${lines.join("\n")}\n`, "application/x-ndjson");
  }
}

const percent = (value) => `${Math.round(value * 100)} %`;
const shares = ({ value, low, high }) => `${percent(value)} (${percent(low)} to ${percent(high)})`;

// A share as a number and as a line, with the interval that it lies in with 95 %.
const stat = (name, part) => el("div", { class: "stat" }, el("div", { class: "meta" }, name), el("div", { class: "row" },
  part ? [el("b", {}, percent(part.value)), el("span", { class: "meta" }, `${percent(part.low)} to ${percent(part.high)}`)] : el("span", { class: "muted" }, "not known yet")),
el("div", { class: "range" }, part ? [el("i", { "--from": String(part.low), "--wide": String(part.high - part.low) }), el("b", { "--from": String(part.value) })] : null));

// The offset of a span in its context counts code points.
function around({ context, context_start: from, says }) {
  const points = Array.from(context), to = from + Array.from(says).length;
  return [points.slice(0, from).join(""), el("mark", {}, says), points.slice(to).join("")];
}
