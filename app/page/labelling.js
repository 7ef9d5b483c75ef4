import { get, part, post } from "./api.js";
import { download, el, problem, sureButton, table } from "./dom.js";
import { scoreBar } from "./hit.js";
import { LabelStore, precision, recall, suggested } from "./labels.js";
import { t } from "./words.js";

const DRAWN = 60;
// The fewest labels that a calibration is fitted to.
const FEWEST = 20;

// Proposed examples, one at a time: y, n, and u for undo. Labels stay in this browser, as places without texts; of the same
// draw, those that are left are proposed when the phrase is shown again.
export class Labelling {
  constructor(collection, phrase, threshold, suggest) {
    Object.assign(this, { collection, phrase, threshold, suggest, candidates: [], onfit: () => {}, onlabel: () => {} });
    this.store = new LabelStore(collection, phrase.text);
    this.labels = this.store.labels;
    this.question = el("div", { "aria-live": "polite" });
    this.figures = el("div", { role: "status" });
    this.report = el("div");
    this.start = el("button", { type: "button", onclick: () => this.load(this.threshold()) }, t("propose_examples"));
    this.element = el("section", { class: "panel", "aria-label": t("labels") }, el("h2", {}, t("label_examples")),
      el("p", { class: "muted" }, t("label_hint")), this.start, this.question, this.figures, this.report);
  }

  async resume() { if (this.labels.length) await this.load(this.store.drawnAt); }

  async load(threshold) {
    this.start.disabled = true;
    try {
      const query = new URLSearchParams({ phrase: this.phrase.text, count: String(DRAWN), threshold: String(threshold) });
      const { candidates } = await get(`/admin/collections/${part(this.collection)}/label-candidates?${query}`);
      this.candidates = this.store.take(candidates, threshold);
      this.start.hidden = true;
      this.draw();
    } catch (error) { this.question.replaceChildren(problem(error)); }
    this.start.disabled = false;
  }

  key(event) {
    if (!this.start.hidden || event.target.closest("input:not([type=range]), textarea, select, dialog") || event.ctrlKey || event.metaKey) return;
    const actions = { y: () => this.label(true), n: () => this.label(false), u: () => this.undo() };
    actions[event.key]?.();
  }

  label(match) {
    const candidate = this.candidates.shift();
    if (candidate) this.labels.push({ ...candidate, match });
    this.changed();
  }

  // An example that is no longer drawn has no text to ask for again.
  undo() {
    const last = this.labels.pop();
    if (last?.context !== undefined) this.candidates.unshift(last);
    this.changed();
  }

  changed() {
    this.store.keep();
    this.draw();
  }

  async forget() {
    this.labels.length = 0;
    this.store.keep();
    await this.load(this.threshold());
  }

  draw() {
    if (!this.start.hidden) return;
    const [next] = this.candidates;
    const focused = [...this.question.querySelectorAll("button")].indexOf(document.activeElement);
    const button = (name, key, action, off) => el("button", { type: "button", class: "plain", disabled: Boolean(off), onclick: action }, `${t(name)} (${key})`);
    this.question.replaceChildren(el("p", { class: "meta" }, t("labelled_of", { at: this.labels.length, count: this.labels.length + this.candidates.length })),
      next ? el("div", {}, scoreBar(next.score), el("blockquote", {}, around(next)), el("p", { class: "meta" }, next.span?.document_id)) : el("p", {}, t("all_labelled")),
      el("div", { class: "row actions" }, button("match", "y", () => this.label(true), !next), button("no_match", "n", () => this.label(false), !next),
        button("undo_label", "u", () => this.undo(), !this.labels.length)));
    if (focused >= 0) this.question.querySelectorAll("button")[focused].focus();
    this.onlabel(this.labels);
    this.figures.replaceChildren(...(this.labels.length ? this.measured() : []));
  }

  measured() {
    const at = this.threshold(), score = at.toFixed(2);
    const both = [["precision", precision(this.labels, at)], ["recall", recall(this.labels, at)]];
    const best = suggested(this.labels);
    const plain = (label, action) => el("button", { type: "button", class: "plain", onclick: action }, label);
    return [
      el("p", { class: "hidden" }, t("at_score", { score, what: both.map(([name, part]) => t(`${name}_said`, { value: part ? shares(part) : t("not_known") })).join(", ") })),
      el("div", { class: "stats", "aria-hidden": "true" }, both.map(([name, part]) => stat(t("name_at", { name: t(name), score }), part))),
      el("div", { class: "row" }, best === null ? el("p", { class: "muted" }, t("none_reaches_90")) : plain(t("use_lowest", { score: best.toFixed(2) }), () => this.suggest(best)),
        this.labels.length >= FEWEST ? plain(t("fit_calibration"), () => this.fit()) : el("p", { class: "meta" }, t("labels_left", { count: FEWEST - this.labels.length })),
        el("button", { type: "button", class: "quiet", onclick: () => this.save() }, t("save_labels")), sureButton(t("forget_labels"), t("forget_sure", { count: this.labels.length }), () => this.forget())),
    ];
  }

  async fit() {
    const labels = this.labels.map(({ phrase, span, stratum, probability, match }) => ({ phrase, span, stratum, probability, match }));
    try {
      const { report } = await post(`/admin/collections/${part(this.collection)}/calibrations`, { labels, note: t("calibration_note", { phrase: this.phrase.text }) });
      const rows = report.suggested.map((one) => (one.threshold ? [one.wish, one.threshold.score.toFixed(2), shares(one.threshold.precision), shares(one.threshold.recall)] : [one.wish, t("none_reaches_it"), "", ""]));
      this.report.replaceChildren(el("p", { class: "actions" }, t("calibration_stored")), el("ul", { class: "meta" }, report.warnings.map((warning) => el("li", {}, warning))),
        table(["target", "threshold", "precision", "recall"].map((name) => t(name)), rows, t("suggested_thresholds")), el("p", { class: "meta" }, t("calibration_scores")));
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
const interval = ({ low, high }) => t("interval", { low: percent(low), high: percent(high) });
const shares = (part) => `${percent(part.value)} (${interval(part)})`;

// A share as a number and as a line, with the interval that it lies in with 95 %.
const stat = (name, part) => el("div", { class: "stat" }, el("div", { class: "meta" }, name), el("div", { class: "row" },
  part ? [el("b", {}, percent(part.value)), el("span", { class: "meta" }, interval(part))] : el("span", { class: "muted" }, t("not_known"))),
el("div", { class: "range" }, part ? [el("i", { "--from": String(part.low), "--wide": String(part.high - part.low) }), el("b", { "--from": String(part.value) })] : null));

// The offset of a span in its context counts code points.
function around({ context, context_start: from, says }) {
  const points = Array.from(context), to = from + Array.from(says).length;
  return [points.slice(0, from).join(""), el("mark", {}, says), points.slice(to).join("")];
}
