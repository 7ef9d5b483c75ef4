import { get, part } from "./api.js";
import { copy } from "./clipboard.js";
import { csv, download, el, fill, problem, say, select, table, when } from "./dom.js";
import { citation } from "./places.js";
import { inUnits, readDocument } from "./texts.js";
import { t } from "./words.js";

const AGAIN_MS = 2000;
const MOST = 200;
const CONTEXT = 80;
const COLUMNS = ["at", "phrase", "document_id", "start", "end", "text", "score", "event", "reason"];

// The latest matches of saved phrases, each with a link to its document. The cursor of one answer asks for the events after
// it, so new ones appear as they arrive.
export class Matches {
  constructor(collection) {
    Object.assign(this, { collection, cursor: "", events: [], first: true, phrase: "" });
    this.list = el("div");
    this.choice = select([["", t("all_phrases")]], "", (value) => { this.phrase = value; this.draw(); });
    this.choice.ariaLabel = t("matches_phrase");
    const save = () => download(`matches-${collection}.csv`, csv([COLUMNS, ...this.shown().map((one) => COLUMNS.map((name) => one[name]))]), "text/csv");
    this.tools = el("div", { class: "row head", hidden: true }, el("div", {}, this.choice), el("button", { type: "button", class: "quiet", onclick: save }, t("export_csv")));
    this.element = el("section", { class: "panel matches", "aria-label": t("matches") }, el("h2", {}, t("matches_of", { name: collection })), this.tools, this.list);
  }

  async show() {
    clearTimeout(this.timer);
    try {
      this.texts ??= get(`/collections/${part(this.collection)}/phrases?limit=1000`).then(({ phrases }) => new Map(phrases.map((one) => [one.name, one.text])), () => new Map());
      this.phrases = await this.texts;
      const count = await this.read();
      if (count || this.first) this.draw();
      if (count && !this.first) say(t("new_matches", { count }));
      this.first = false;
    } catch (error) {
      this.list.replaceChildren(problem(error));
      this.first = true; // drawn again with the next answer
      if (error.status && error.status < 500 && error.status !== 429) return; // asking again would not help
    }
    this.timer = setTimeout(() => { if (this.element.isConnected) this.show(); }, AGAIN_MS);
  }

  async read() {
    let count = 0, more = true;
    while (more) {
      const answer = await get(`/collections/${part(this.collection)}/matches?limit=1000${this.cursor ? `&cursor=${part(this.cursor)}` : ""}`);
      this.events = [...this.events, ...answer.events].slice(-MOST);
      count += answer.events.length;
      ({ cursor: this.cursor, more } = answer);
    }
    return count;
  }

  shown() { return this.events.filter((one) => !this.phrase || one.phrase === this.phrase).toReversed(); }

  draw() {
    const phrases = [...new Set(this.events.map((one) => one.phrase))].sort();
    if (this.phrase && !phrases.includes(this.phrase)) phrases.push(this.phrase);
    fill(this.choice, [["", t("all_phrases")], ...phrases.map((name) => [name, name])], this.phrase);
    this.tools.hidden = !this.events.length;
    this.list.replaceChildren(this.events.length ? table(["when", "phrase", "document", "text", "score"].map((name) => t(name)), this.shown().map((one) => [
      when(one.at), one.phrase, this.linked(one), one.text === null || one.text === undefined ? t("withdrawn", { why: one.reason ?? "" }) : this.said(one), one.score.toFixed(2)]), t("latest_matches", { count: MOST }))
      : el("p", { class: "muted" }, t("no_matches")));
  }

  // The search for its phrase, with its document open at the match.
  linked(one) {
    const query = new URLSearchParams({ c: this.collection, q: this.phrases.get(one.phrase) ?? one.text ?? one.phrase, d: one.document_id, at: String(one.start), u: "cp" });
    return el("a", { href: `./?${query}` }, one.document_id);
  }

  // A citation counts as those of hits do; without its document, as the match does.
  async cite(one) {
    const place = await readDocument(this.collection, one.document_id).then((document) => ({ start: inUnits(document, one.start), end: inUnits(document, one.end) }), () => ({}));
    copy(citation({ ...one, ...place, metadata: {} }), t("citation_copied"));
  }

  // A match as text; what stands around it, and its citation, on demand.
  said(one) {
    const place = el("span", {}, one.text, " ");
    const around = el("button", { type: "button", class: "quiet", "aria-label": t("show_around", { text: one.text }), onclick: async () => {
      try {
        const { before, text, after } = await get(`/collections/${part(this.collection)}/matches/${one.match}?context=${CONTEXT}`);
        place.replaceChildren(before, el("mark", {}, text), after, " ", el("button", { type: "button", class: "quiet", onclick: () => this.cite(one) }, t("copy_citation")));
      } catch (error) { place.append(` ${error.message}`); }
    } }, "\u2026");
    place.append(around);
    return place;
  }
}
