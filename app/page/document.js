import { post } from "./api.js";
import { el, problem } from "./dom.js";
import { facts } from "./hit.js";
import { bestOfClauses, isLikely, keyOf, levelOf } from "./levels.js";
import { DocumentText } from "./document_text.js";
import { openPane } from "./pane.js";
import { titleOf } from "./places.js";
import { isWhole, readAround, readDocument } from "./texts.js";
import { t } from "./words.js";

const MOST = 100;
const WAIT_MS = 250;
let running = new AbortController();

// A whole document beside the list: what likely says the phrase is marked, and a strip shows where it lies. `j` and `k` step
// through the marks. It can be searched for another phrase.
export async function showDocument(hit, request, { noise, answers, narrow }) {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  openPane(titleOf({ metadata: {}, ...hit }), el("p", { class: "muted" }, t("loading")));
  try {
    // A restored text has its hits elsewhere.
    const isRestored = request.offset_unit === "codepoint";
    const read = (how, ...place) => how(request.collection, hit.document_id, ...place, request.offset_unit);
    const first = await (isRestored ? read(readDocument) : read(readAround, hit.start ?? 0));
    if (signal.aborted) return;
    const view = new DocumentView(hit, request, first, (text) => marksOf(hit, { ...request, text }, { noise, answers: new Map(), signal }), narrow);
    view.show(hit.end !== undefined && hit.mode !== "maxsim" ? [{ ...hit, level: "likely" }] : []);
    await seen();
    const asked = marksOf(hit, request, { noise, answers, signal });
    asked.catch(() => {}); // said where it is awaited
    if (!isWhole(first)) view.fill(await read(readDocument));
    if (!signal.aborted) view.show(await asked);
  } catch (error) { if (error.name !== "AbortError") openPane(hit.document_id, problem(error)); }
}

// The next frame is painted.
const seen = () => new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); });

// The hits of one document, each with its level. The hit that was opened is one of them, whatever is said of it.
async function marksOf(hit, { collection, mode, text, threshold, filter, spans, ranking, offset_unit }, { noise, answers, signal }) {
  const asked = { collection, mode, text, spans, ranking, offset_unit, filter: only(filter, hit.document_id) };
  if (hit.mode === "maxsim") return answering(asked, signal);
  const { hits, verified } = await post("/search", { ...asked, threshold, top_k: MOST, verify: MOST }, { signal });
  const floor = verified ? null : await noise;
  // What was not read lies behind what was. Where nothing can be read, what is above noise is marked, or a threshold that was
  // chosen, and words that were found; of the rest nothing is known.
  const unjudged = verified ? "unlikely" : threshold > 0 || hit.mode === "lexical" ? "likely" : "unjudged";
  const level = (one) => {
    const said = levelOf(one, { noise: floor, answer: answers.get(keyOf(one)) });
    if (said === "unjudged") return unjudged;
    return said === "near" && !verified ? "likely" : said;
  };
  const best = new Set(bestOfClauses(hits).values());
  return inOrder(hits.filter((one) => !one.clause || best.has(one) || keyOf(one) === keyOf(hit)).map((one) => ({ ...one, level: level(one) })));
}

const itself = (id) => `document.id = ${JSON.stringify(id)}`;

// The filter of a search for the hits of one document.
function only(filter, id) {
  const own = itself(id);
  return { ...filter, expression: filter?.expression ? `(${filter.expression}) and ${own}` : own };
}

// Of a document that was found by its nuggets, what answers the query.
async function answering(asked, signal) {
  const { hits } = await post("/search", { ...asked, threshold: 0, top_k: 1, explain: true }, { signal });
  const pairs = hits[0]?.explanation.pairs || [];
  const places = new Map(pairs.map(({ segment_text: segment }) => [`${segment.start} ${segment.end}`, { ...segment, level: "likely" }]));
  return inOrder([...places.values()]);
}

const inOrder = (hits) => hits.sort((a, b) => a.start - b.start || a.end - b.end);

// Offsets count the text that was sent. In a restored text, hits stand where their own texts do, if they came back alike.
function found(text, hits) {
  return inOrder(hits.map((hit) => ({ ...hit, sent: hit.start, ...nearest(text, hit) })).filter((hit) => hit.start >= 0));
}

function nearest(text, hit) {
  let best = -1;
  for (let at = text.indexOf(hit.text); hit.text && at >= 0; at = text.indexOf(hit.text, at + 1)) if (best < 0 || Math.abs(at - hit.start) < Math.abs(best - hit.start)) best = at;
  return { start: best, end: best + hit.text.length };
}

// Where nothing judges the hits of another phrase, the nearest one is shown.
const nearestOf = (hits) => hits.filter((one) => one.level === "unjudged").sort((a, b) => b.score - a.score)[0] || {};

class DocumentView {
  constructor(hit, request, document, search, narrow) {
    const { metadata, restored } = document;
    Object.assign(this, { hit, restored, all: [], current: 0, isWeak: false });
    this.take(document);
    this.place = el("span", { class: "meta", role: "status" });
    this.strip = el("div", { class: "strip", role: "img", onclick: (event) => this.go(this.closest((event.clientX - this.strip.getBoundingClientRect().left) / this.strip.clientWidth * this.length)) });
    this.weak = el("button", { type: "button", class: "quiet", onclick: () => { this.isWeak = !this.isWeak; this.draw(); } });
    this.body = new DocumentText();
    const step = (by, label, key) => el("button", { type: "button", class: "plain", onclick: () => this.go(this.current + by) }, label, " ", el("kbd", {}, key));
    const about = [titleOf({ metadata, document_id: "" }) ? hit.document_id : "", facts(metadata || {}), restored ? t("restored_words") : ""].filter(Boolean);
    this.pane = openPane(titleOf({ metadata: metadata || {}, document_id: hit.document_id }), el("p", { class: "meta" }, about.join(" \u00b7 ")),
      el("div", { class: "tools" }, this.searching(request, search), this.strip,
        el("div", { class: "row" }, step(-1, t("previous"), "k"), step(1, t("next"), "j"), this.place, this.weak, el("button", { type: "button", class: "quiet", onclick: () => narrow(itself(hit.document_id)) }, t("search_here")))), this.body.element);
    this.pane.addEventListener("keydown", (event) => {
      const by = { j: 1, k: -1 }[event.key];
      if (by && !event.target.closest("input")) { event.preventDefault(); event.stopPropagation(); this.go(this.current + by); }
    });
  }

  // Another phrase to look for in this document. What was asked for last is shown.
  searching(request, search) {
    let timer, number = 0;
    const input = el("input", { type: "search", "aria-label": t("search_document"), placeholder: t("search_document"), oninput: () => {
      clearTimeout(timer);
      timer = setTimeout(async () => {
        const own = ++number;
        try {
          const hits = await search(input.value.trim() || request.text);
          if (own === number) { this.hit = nearestOf(hits); this.show(hits); }
        } catch (error) { if (error.name !== "AbortError") this.place.textContent = error.message; }
      }, WAIT_MS);
    } });
    return input;
  }

  // A text, or what stands from a place on.
  take({ text, text_start: start = 0, length = text.length, parts = [], restored }) {
    // A restored text has its parts elsewhere.
    const named = restored ? [] : parts.filter((one) => one.start >= start && Object.keys(one.metadata).length);
    Object.assign(this, { text, start, length, above: new Map(named.map((one) => [one.start - start, () => facts(one.metadata)])) });
  }

  fill(document) {
    this.take(document);
    this.draw();
  }

  show(hits) {
    this.all = this.restored ? found(this.text, hits) : hits;
    this.draw();
  }

  isMeant(one) { return this.hit.start !== undefined && (one.sent === this.hit.start || (one.start === this.hit.start && (this.hit.end === undefined || one.end === this.hit.end))); }

  draw() {
    const { text, start, length } = this;
    // Who reads or writes elsewhere by now is left there, and what is in view stays where it is.
    const isOurs = !this.isDrawn || this.body.element.contains(document.activeElement);
    const top = this.isDrawn && this.topOf(this.hits[this.current]);
    this.hits = this.all.filter((one) => (this.isWeak || isLikely(one.level) || this.isMeant(one)) && one.start >= start && one.end <= start + text.length);
    this.body.show(text, this.hits.map((one) => ({ ...one, start: one.start - start, end: one.end - start })), this.above);
    this.bars = this.hits.map((one) => el("i", { class: one.level, "--from": String(one.start / length), "--wide": String((one.end - one.start) / length) }));
    this.strip.replaceChildren(...this.bars);
    this.strip.ariaLabel = t("strip", { count: this.hits.length });
    const weaker = this.all.filter((one) => !isLikely(one.level) && !this.isMeant(one)).length;
    this.weak.hidden = !weaker;
    this.weak.ariaPressed = String(this.isWeak);
    this.weak.textContent = this.isWeak ? t("likely_alone") : t("weaker_count", { count: weaker });
    this.place.textContent = this.hits.length ? "" : t("no_mark");
    this.go(Math.max(0, this.hits.findIndex((one) => this.isMeant(one))), isOurs);
    const moved = top > 0 && top < innerHeight && this.topOf(this.hits[this.current]);
    if (moved) this.pane.scrollTop += moved - top;
    if (isOurs && !this.hits.length) this.pane.focus({ preventScroll: true });
    this.isDrawn = true;
  }

  go(index, isFocused = true) {
    if (!this.hits.length) return;
    for (const mark of [...(this.body.marks[this.current] || []), this.bars[this.current]]) mark?.classList.remove("current");
    this.current = Math.max(0, Math.min(this.hits.length - 1, index));
    const marks = this.body.marksOf(this.current), [first] = marks;
    for (const mark of [...marks, this.bars[this.current]]) mark.classList.add("current");
    this.scrollTo(first);
    if (isFocused) first.focus({ preventScroll: true });
    this.place.textContent = t("mark_of", { at: this.current + 1, count: this.hits.length });
  }

  // Where the opened hit stands in the window.
  topOf(hit) { return hit && this.isMeant(hit) && this.body.marks[this.current]?.[0]?.getBoundingClientRect().top; }

  // Within the pane alone: the list beside it stays where it is.
  scrollTo(mark) {
    const { pane } = this;
    pane.scrollTop += mark.getBoundingClientRect().top - pane.getBoundingClientRect().top - pane.clientHeight / 2;
  }

  closest(at) {
    return this.hits.reduce((best, hit, index) => (Math.abs(hit.start - at) < Math.abs(this.hits[best].start - at) ? index : best), 0);
  }
}
