import { get, part } from "./api.js";
import { el, problem, say, table, when } from "./dom.js";

const AGAIN_MS = 2000;
const MOST = 50;

// The latest matches of saved phrases. The cursor of one answer asks for the events after it, so new ones appear as they arrive.
export class Matches {
  constructor(collection) {
    Object.assign(this, { collection, cursor: "", events: [], first: true });
    this.list = el("div");
    this.element = el("section", { class: "panel matches", "aria-label": "Matches of saved phrases" }, el("h2", {}, `Matches of saved phrases in ${collection}`), this.list);
  }

  async show() {
    clearTimeout(this.timer);
    try {
      const count = await this.read();
      if (count || this.first) this.draw();
      if (count && !this.first) say(`${count.toLocaleString()} new match event${count === 1 ? "" : "s"}`);
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

  draw() {
    this.list.replaceChildren(this.events.length ? table(["When", "Phrase", "Document", "Text", "Score"], this.events.toReversed().map((one) => [
      when(one.at), one.phrase, one.document_id, one.text ?? `withdrawn: ${one.reason ?? ""}`, one.score.toFixed(2)]), `The latest ${MOST} matches`)
      : el("p", { class: "muted" }, "None yet. Save a phrase with a threshold; new documents are matched against it as they arrive, and shown here."));
  }
}
