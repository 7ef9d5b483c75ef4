import { el } from "./dom.js";

const LEAST = 12;
// Characters on either side of a hit.
export const CONTEXT = 120;

// The hit in its context, the span marked. Offsets of a context count code points. `room` is the number of characters
// that are seen: what stands before the span is cut, so that the span is.
export function highlighted(hit, room = Infinity) {
  const { context } = hit;
  if (!context) return hit.mode === "maxsim" ? [hit.text.slice(0, Math.min(2 * room, 1000))] : said(hit);
  const points = Array.from(context.text);
  const before = points.slice(0, context.start), span = context.end - context.start;
  const most = Math.max(LEAST, Math.floor((room - span) / 2));
  const isCut = before.length >= CONTEXT;
  const kept = before.length + span <= 0.9 * room && !isCut ? before.join("") : tail(before, Math.min(most, before.length - isCut));
  const after = points.slice(context.end);
  return [kept, ...said(hit, points.slice(context.start, context.end).join("")), after.join(""), after.length >= CONTEXT ? "\u2026" : ""];
}

function tail(points, most) {
  if (points.length <= most) return points.join("");
  const cut = points.slice(-most).join("");
  return `\u2026 ${/\s/.test(cut) ? cut.replace(/^\S*\s+/, "") : cut}`;
}

// A sentence that was found by its words has these marked; other hits are marked whole.
function said(hit, text = hit.text) {
  if (!hit.highlights?.length) return [el("mark", {}, text)];
  const pieces = [];
  let at = 0;
  for (const { start, end } of hit.highlights) {
    pieces.push(text.slice(at, start - hit.start), el("mark", {}, text.slice(start - hit.start, end - hit.start)));
    at = end - hit.start;
  }
  return [el("span", { class: "sentence" }, pieces, text.slice(at))];
}

export const metadata = (hit) => facts({ ...hit.metadata, ...hit.part_metadata });

export const facts = (fields) => Object.entries(fields).map(([name, value]) => `${name}: ${typeof value === "object" ? JSON.stringify(value) : value}`).join(" \u00b7 ");

export function scoreBar(score) {
  return el("div", { class: "score" },
    el("span", { class: "track", "aria-hidden": "true" }, el("div", { class: "fill", "--value": String(score) })),
    el("span", {}, score.toFixed(2)));
}

// What the second look says, in words.
function verdict({ verdict: said, differs }) {
  if (said === "match") return "says it";
  if (said === "differs") return differs ? `differs: ${differs.join(", ")}` : "near";
  return said ? "something else" : "";
}

export function tags(hit) {
  const words = [verdict(hit), hit.match === "exact" ? "exact words" : "", hit.polarity === "negated" ? "negated" : "",
    hit.cut ? "a part of it" : "", hit.restored ? `restored, confidence ${hit.confidence.toFixed(2)}` : ""];
  return words.filter(Boolean).map((word) => el("span", { class: "tag" }, word));
}

export function card(hit, index, { room, onopen, onwhy }) {
  const actions = { o: () => onopen(hit), w: () => onwhy(hit), Enter: () => onopen(hit) };
  const button = (label, action) => el("button", { class: "quiet", type: "button", onclick: () => action(hit) }, label);
  return el("article", {
    class: "card", "aria-label": `Hit ${index + 1}, ${hit.document_id}, score ${hit.score.toFixed(2)}`,
    onkeydown: (event) => {
      if (event.target === event.currentTarget && actions[event.key]) { event.preventDefault(); actions[event.key](); }
    },
  },
  el("div", { class: "row" }, el("span", { class: "id" }, hit.document_id), tags(hit), scoreBar(hit.score)),
  el("p", { class: "said" }, highlighted(hit, room)),
  el("div", { class: "row" }, el("span", { class: "meta", title: metadata(hit) }, metadata(hit)), button("Why", onwhy), button("Document", onopen)));
}
