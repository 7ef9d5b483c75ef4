import { el, openDialog, problem, table } from "./dom.js";
import { post } from "./api.js";

const points = (text, from, to) => Array.from(text).slice(from, to).join("");

// The hit in its context, the span marked. Offsets of a context count code points.
export function highlighted(hit) {
  const { context } = hit;
  if (!context) return [el("mark", {}, hit.text)];
  return [points(context.text, 0, context.start), el("mark", {}, points(context.text, context.start, context.end)),
    points(context.text, context.end)];
}

export const metadata = (hit) => Object.entries({ ...hit.metadata, ...hit.part_metadata });

export function scoreBar(score) {
  return el("div", { class: "score" },
    el("span", { class: "track", "aria-hidden": "true" }, el("div", { class: "fill", "--value": String(score) })),
    el("span", {}, score.toFixed(2)));
}

export function card(hit, index, { onopen, onwhy }) {
  const facts = metadata(hit).map(([name, value]) => `${name}: ${value}`);
  const notes = [hit.match === "exact" ? "exact words" : "", hit.polarity === "negated" ? "negated" : "",
    hit.restored ? `restored, confidence ${hit.confidence.toFixed(2)}` : ""].filter(Boolean);
  const actions = { o: () => onopen(hit), w: () => onwhy(hit), Enter: () => onopen(hit) };
  return el("article", {
    class: "card", "aria-label": `Hit ${index + 1}, ${hit.document_id}, score ${hit.score.toFixed(2)}`,
    onkeydown: (event) => {
      if (event.target === event.currentTarget && actions[event.key]) { event.preventDefault(); actions[event.key](); }
    },
  },
  scoreBar(hit.score), el("p", { class: "said" }, highlighted(hit)),
  el("div", { class: "row" }, el("span", { class: "meta" }, [hit.document_id, ...notes, ...facts].join(" · ")),
    el("button", { class: "quiet", type: "button", onclick: () => onwhy(hit) }, "Why"),
    el("button", { class: "quiet", type: "button", onclick: () => onopen(hit) }, "Document")));
}

export async function showWhy(hit, request) {
  openDialog("Why this hit", el("p", { class: "muted" }, "Loading"));
  try {
    const top_k = Math.min(1000, hit.rank + 10);
    const { hits } = await post("/search", { ...request, explain: true, top_k });
    const same = hits.find((other) => other.document_id === hit.document_id && other.start === hit.start && other.end === hit.end);
    openDialog("Why this hit", same ? explained(same) : el("p", {}, "The collection has changed since. Search again."));
  } catch (error) { openDialog("Why this hit", problem(error)); }
}

const TERMS = {
  cosine: "Similarity (cosine)", length: "Length", borders: "Borders of the text", exact: "The query's own words", bm25: "Words (BM25)", highest: "Highest possible BM25",
};

const TITLES = { part: "The part around it", best_span: "Its best span" };
const titled = (name) => TITLES[name] || name[0].toUpperCase() + name.slice(1).replaceAll("_", " ");

function explained(hit) {
  const terms = Object.entries(hit.explanation || {});
  const numbers = terms.filter(([, value]) => typeof value === "number");
  const content = [scoreBar(hit.score)];
  for (const [name, value] of terms) {
    if (name === "units") content.push(shaded(value));
    else if (name === "pairs") content.push(pairs(value));
    else if (Array.isArray(value) && value.length) {
      content.push(el("h2", {}, titled(name)), table(Object.keys(value[0]).map(titled), value.map((entry) => Object.values(entry).map(plain)), titled(name)));
    } else if (value && typeof value === "object") {
      content.push(el("p", {}, `${titled(name)}: ${value.text ?? Object.entries(value).map(([key, item]) => `${key} ${plain(item)}`).join(", ")}`));
    }
  }
  content.push(table(["Part of the score", "Value"], numbers.map(([name, value]) => [TERMS[name] || titled(name), plain(value)]), "Terms of the score"));
  return el("div", {}, content);
}

function shaded(units) {
  const top = Math.max(1e-9, ...units.map((unit) => Math.abs(unit.contribution)));
  return el("p", { class: "text" }, units.flatMap((unit) => [el("span", {
    class: unit.contribution < 0 ? "unit negative" : "unit", "--weight": String(Math.abs(unit.contribution) / top),
  }, unit.text, el("span", { class: "meta" }, ` ${unit.contribution.toFixed(2)}`)), " "]));
}

function pairs(rows) {
  return table(["Part of the query", "Stretch of the document", "Cosine", "Contribution"],
    rows.map((row) => [row.query ? row.query.text : "vector", row.stretch.text, row.cosine.toFixed(2), row.contribution.toFixed(2)]), "Pairs of query and document");
}

const plain = (value) => (typeof value === "number" ? String(Math.round(value * 1000) / 1000) : typeof value === "object" ? JSON.stringify(value) : String(value));
