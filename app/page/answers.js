import { part, post } from "./api.js";
import { inPoints, readDocument } from "./texts.js";
import { keyOf } from "./levels.js";

// The fewest answers that a threshold is proposed from.
export const FEWEST = 5;

// The yes and no of a person to hits of one phrase. They stay in this browser, places without texts, until they are taken back.
export class Answers {
  constructor(collection, phrase) {
    Object.assign(this, { collection, phrase, place: `answers ${collection} ${phrase}` });
    this.read();
  }

  // Another tab may have answered meanwhile.
  read() { this.all = new Map(JSON.parse(localStorage.getItem(this.place) || "[]")); }

  // What is known of each hit, by its key: true or false.
  get known() { return new Map([...this.all].map(([key, one]) => [key, one.match])); }

  get size() { return this.all.size; }

  // The same answer again takes it back.
  give(hit, match) {
    const key = keyOf(hit), before = this.all.get(key)?.match;
    this.read();
    this.all.delete(key);
    if (before !== match) this.all.set(key, { match, span: { document_id: hit.document_id, start: hit.start, end: hit.end } });
    this.keep();
  }

  undo() {
    const last = [...this.all.keys()].at(-1);
    this.read();
    this.all.delete(last);
    this.keep();
  }

  keep() {
    if (this.all.size) localStorage.setItem(this.place, JSON.stringify([...this.all]));
    else localStorage.removeItem(this.place);
  }

  // The threshold that the server proposes from the answers; what it cannot be sure of is null.
  async propose(signal) {
    const labels = await Promise.all([...this.all.values()].map(async ({ match, span }) => {
      const text = await readDocument(this.collection, span.document_id);
      return { phrase: this.phrase, match, span: { document_id: span.document_id, ...inPoints(text, span) } };
    }));
    const { thresholds: [proposed] } = await post(`/admin/collections/${part(this.collection)}/thresholds/propose`, { labels }, { signal });
    return proposed;
  }
}
