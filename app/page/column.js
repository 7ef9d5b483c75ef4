import { FEWEST, Answers } from "./answers.js";
import { may, post } from "./api.js";
import { charts } from "./charts.js";
import { copy } from "./clipboard.js";
import { showDocument } from "./document.js";
import { el, problem } from "./dom.js";
import { exportMenu } from "./export.js";
import { ThresholdSlider, counted, fromOn, histogram } from "./histogram.js";
import { hitRow, metadata, scoreBar } from "./hit.js";
import { chosen, grouped, keyOf, levelOf } from "./levels.js";
import { VirtualList } from "./list.js";
import { citation, placeOf } from "./places.js";
import { preview } from "./preview.js";
import { star } from "./save.js";
import { state, update } from "./state.js";
import { readDocument, turnBefore } from "./texts.js";
import { Verdict } from "./verdict.js";
import { showWhy } from "./why.js";
import { t } from "./words.js";

// Where the address has the threshold of a column.
export const place = (column) => (column ? "t2" : "t");

// In their order: by what the second look says, and by score behind it.
const reaching = (hits, threshold) => (threshold ? hits.filter((hit) => hit.score >= threshold) : hits);

// The hits of one mode: the verdict, a threshold, and the list of what reaches it. `floor` is the noise, once it is known.
export class Column {
  constructor(request, name, { hits, threshold, verified, notice }, index, { isNamed, isDraft, few, narrow }) {
    const isOwn = threshold?.source === "collection" && threshold.on === "score";
    Object.assign(this, { hits, verified, notice, isDraft, index, narrow, noise: null, own: isOwn ? threshold.value : null });
    this.floor = isDraft ? null : new Promise((tell) => { this.tell = tell; });
    this.isRestored = hits.some((hit) => hit.restored);
    this.request = { ...request, threshold: 0, ...(this.isRestored && { offset_unit: "codepoint" }) };
    this.isWhole = hits.length < few && (threshold?.source !== "collection" || !threshold.value);
    this.answers = new Answers(request.collection, request.text);
    this.choice = verified?.likely > 0 ? "likely" : "near";
    this.verdict = new Verdict((choice) => { this.choice = choice; this.apply(); });
    this.words = el("p", { class: "meta" });
    this.note = el("p", { class: "meta", role: "status" });
    this.charts = el("div", { class: "charts" });
    this.slider = new ThresholdSlider(state[place(index)] || this.own || 0, (value) => this.describe(value), (value) => this.moved(value));
    this.list = new VirtualList(t("hits_of", { name }), (item, number, room) => this.row(item, number, room));
    this.star = star(this.request, () => this.threshold());
    const tools = el("div", { class: "row tools-line" }, this.words, this.star.button, exportMenu(this.request, () => this.exported()));
    this.element = el("section", { "aria-label": name }, el("h2", { class: isNamed ? null : "hidden" }, name), this.verdict.element,
      el("section", { class: "panel threshold", "aria-label": t("threshold_of", { name }) }, this.slider.element, this.note), tools, this.star.place, this.list.element, this.charts);
    this.slider.show(histogram(hits.map((hit) => hit.score)));
  }

  get isJudged() { return Boolean(this.verified); }

  get isSpans() { return (this.request.mode || "best_span") === "best_span"; }

  // Another search finds it at once, the address when it rests.
  moved(value) {
    state[place(this.index)] = String(value);
    this.apply();
    clearTimeout(this.saving);
    this.saving = setTimeout(update, 200);
  }

  // Answers are asked for where thresholds can be proposed from them.
  row({ hit, level, answer }, number, room) {
    const isOpen = this.list.opened === number;
    const on = {
      open: (one) => this.open(one), why: (one) => showWhy(one, this.request), more: () => this.list.open(number), copy: (one) => copy(citation(one), t("citation_copied")),
      answer: this.isSpans && !this.isRestored && !this.isDraft ? (one, match) => this.answer(one, match) : null,
    };
    return hitRow(hit, number, { room, level, answer, phrase: this.request.text, more: isOpen ? this.more(hit, answer, on) : null, on });
  }

  // What stands below an opened row: the turn before, whatever else is known, and what can be done.
  more(hit, answer, on) {
    const before = el("p", { class: "before" }, t("loading"));
    readDocument(this.request.collection, hit.document_id, this.request.offset_unit).then((document) => {
      const turn = hit.mode === "maxsim" ? null : turnBefore(document, hit);
      before.replaceChildren(...(turn ? [el("b", {}, placeOf(turn) || t("before"), ": "), turn.text] : [t("none_before")]));
    }, (error) => before.replaceChildren(error.message));
    const button = (label, action) => el("button", { class: "quiet", type: "button", onclick: () => action(hit) }, label);
    return el("div", { class: "more" }, before, el("p", { class: "meta" }, [hit.document_id, metadata(hit)].filter(Boolean).join(" \u00b7 ")),
      el("div", { class: "row" }, answer === undefined ? null : scoreBar(hit.score), button(t("document"), on.open), button(t("why"), on.why), button(t("copy_citation"), on.copy)));
  }

  open(hit) {
    update({ d: hit.document_id, at: String(hit.start), u: "" }, state.d ? false : "pane");
    showDocument(hit, { ...this.request, threshold: this.slider.value }, { noise: this.floor, answers: this.answers.known, narrow: this.narrow });
  }

  fill({ hits, verified }) {
    Object.assign(this, { hits, verified, isWhole: true });
    this.slider.show(histogram(hits.map((hit) => hit.score)));
    this.apply();
  }

  // Exact counts and the noise band, an estimate of what is not in the list, and charts; each where it can be had. From then
  // on the list stays as it is, which its element says.
  async ask(signal) {
    await Promise.all([this.count(signal), this.estimateAll(signal), this.star.show(signal)]);
    this.apply();
    this.element.dataset.settled = "";
    const floor = this.slider.value || (this.isJudged && this.isSpans ? "auto" : this.noise);
    if (floor) charts(this.request, floor, signal).then((made) => this.charts.replaceChildren(...made), () => {}); // else left out
  }

  async count(signal) {
    const { collection, text, mode, filter, spans, ranking } = this.request;
    try {
      const answer = await preview(collection, [text], mode, { signal, body: { filter, spans, ranking } });
      [this.counts] = answer.phrases;
      this.noise = answer.no_match?.high ?? null;
      this.slider.show(this.counts.histogram, this.noise);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      if (error.status !== 403) this.note.textContent = t("not_counted", { why: error.message }); // who may only search is told nothing of rights
      this.slider.refresh();
    }
    this.tell(this.noise);
  }

  async estimateAll(signal) {
    if (!this.isJudged || this.verified.complete || !this.isSpans) return;
    try { this.estimate = (await post("/search", { ...this.request, context: undefined, top_k: 100, verify: 100, estimate: true }, { signal })).likely; } catch (error) {
      if (error.name === "AbortError") throw error; // else it is left out
    }
  }

  describe(threshold) {
    if (this.counts) return counted(this.counts, threshold);
    if (!this.isWhole) return this.isDraft ? "" : t("counting");
    return fromOn(t("hit_count", { count: reaching(this.hits, threshold).length }), threshold);
  }

  apply() {
    const known = this.answers.known;
    const groups = grouped(reaching(this.hits, this.slider.value), { answers: known, noise: this.noise, isRead: this.isJudged });
    const { likely, near, unlikely } = groups;
    if (this.choice === "likely" && !likely.length) this.choice = "near";
    const options = { noise: this.isJudged ? null : this.noise };
    this.shown = chosen(groups, this.choice).map((hit) => {
      const answer = known.get(keyOf(hit));
      return { hit, answer, level: levelOf(hit, { answer, ...options }) };
    });
    const unsure = likely.filter((hit) => levelOf(hit, { answer: known.get(keyOf(hit)) }) === "unsure").length;
    const below = this.slider.value ? grouped(this.hits, { answers: known, isRead: this.isJudged }).likely.length - likely.length : 0;
    this.verdict.show({ likely: likely.length, unsure, near: near.length, unlikely: unlikely.length, below }, this.choice, {
      notice: this.notice, isJudged: this.isJudged, isComplete: this.verified?.complete, isDraft: this.isDraft, estimate: this.estimate, noise: this.noise });
    this.words.textContent = this.said(this.shown.length);
    this.list.show(this.shown);
  }

  said(shown) {
    if (!this.isWhole) return this.isDraft ? "" : t("best_first");
    if (!this.hits.length) return t(state.f ? "no_hits_filtered" : "no_hits");
    if (!shown) return t("none_reaches");
    return t(this.own && this.slider.value === this.own ? "shown_at_own" : "shown_count", { count: shown });
  }

  // An answer marks its hit, and from a few on the threshold moves to where the server proposes it.
  async answer(hit, match) {
    this.answers.give(hit, match);
    await this.learn();
  }

  async learn() {
    this.apply();
    const isProposed = await may("admin", this.request.collection);
    this.proposing?.abort();
    const left = FEWEST - this.answers.size;
    const undo = el("button", { type: "button", class: "quiet", onclick: () => { this.answers.undo(); this.learn(); } }, t("undo_answer"));
    const answers = t("answer_count", { count: this.answers.size });
    const tell = (name, values) => { this.note.replaceChildren(...(this.answers.size ? [`${t(name, { answers, ...values })} `, undo] : [])); };
    if (!isProposed) { tell("answers_kept"); return; }
    if (left > 0) { tell("answers_left", { left }); return; }
    this.proposing = new AbortController();
    try {
      const { score, precision } = await this.answers.propose(this.proposing.signal);
      if (score === null) { tell("none_proposed"); return; }
      this.slider.set(score);
      this.moved(score);
      const [percent, low, high] = [precision.value, precision.low, precision.high].map((share) => Math.round(100 * share));
      tell("proposed", { score: score.toFixed(2), percent, low, high });
    } catch (error) {
      if (error.name !== "AbortError") tell("not_proposed", { why: error.message });
    }
  }

  // The threshold of what is shown: the slider's, else the point from which on a match is more probable than not. A saved phrase
  // is matched by meaning: the scale of another mode says nothing of it, and without the second look it has none of its own.
  async threshold() {
    if (this.isSpans && (this.slider.value || !this.isJudged)) return { value: this.slider.value || this.noise || 0, on: "score" };
    if (!this.isJudged) return {};
    const { threshold } = await post("/search", { ...this.request, mode: "best_span", threshold: "auto", top_k: 1, verify: 0 });
    return { value: threshold.value, on: threshold.on };
  }

  // `isOwn`: what is listed is neither all that reaches the threshold nor all of it that the second look calls likely.
  exported() {
    const hits = this.shown.map((one) => one.hit), threshold = this.slider.value;
    const likely = this.isJudged && this.choice === "likely";
    const meant = new Set(reaching(this.hits, threshold).filter((hit) => !likely || hit.verdict === "match"));
    return { hits, threshold, likely, isOwn: hits.length !== meant.size || !hits.every((hit) => meant.has(hit)) };
  }

  failed(error) {
    this.tell(null);
    this.note.replaceChildren(problem(error));
  }

  close() { this.list.close(); this.proposing?.abort(); }
}
