import { FUNCTION_WORDS, differing } from "./differences.js";
import { el } from "./dom.js";
import { placeOf, short, titleOf } from "./places.js";
import { t } from "./words.js";

const LEAST = 12;
// Characters on either side of a hit.
export const CONTEXT = 120;
// Keys that the row or the server's other fields say already.
const HIDDEN = new Set(["cues"]);

// The hit in its context, the span marked as its level is. Offsets of a context count code points. `room` is the number of
// characters that are seen: what stands before the span is cut, so that the span is.
export function highlighted(hit, room = Infinity, { level, phrase } = {}) {
  const { context } = hit;
  if (!context) return said({ ...hit, text: (hit.clause?.text ?? hit.text).slice(0, Math.max(LEAST, Math.min(2 * room, 1000))) }, level, phrase);
  const points = Array.from(context.text);
  const before = points.slice(0, context.start), span = context.end - context.start;
  const most = Math.max(LEAST, Math.floor((room - span) / 2));
  const isCut = before.length >= CONTEXT;
  const kept = before.length + span <= 0.9 * room && !isCut ? before.join("") : tail(before, Math.min(most, before.length - isCut));
  const after = points.slice(context.end);
  return [kept, ...said({ ...hit, text: points.slice(context.start, context.end).join("") }, level, phrase), after.join(""), after.length >= CONTEXT ? "\u2026" : ""];
}

function tail(points, most) {
  if (points.length <= most) return points.join("");
  const cut = points.slice(-most).join("");
  return `\u2026 ${/\s/.test(cut) ? cut.replace(/^\S*\s+/, "") : cut}`;
}

// A sentence that was found by its words has these marked, its function words only if it has no others; other hits are marked
// whole, but for signs in front. Of a hit that differs the words are struck that make the difference.
function said(hit, level, phrase) {
  const { text } = hit;
  if (hit.highlights?.length) {
    const content = hit.highlights.filter((one) => !FUNCTION_WORDS.has(one.text.toLowerCase()));
    return [el("span", { class: "sentence" }, pieces(text, (content.length ? content : hit.highlights).map(({ start, end }) => ({ start: start - hit.start, end: end - hit.start })), "mark"))];
  }
  const [lead] = /^[\s)\]},.;:!?]*/.exec(text), body = text.slice(lead.length);
  const struck = level === "near" && phrase ? differing(phrase, body, hit.differs) : [];
  return [lead, el("mark", { class: level && level !== "likely" ? level : null }, pieces(body, struck, "s"))];
}

function pieces(text, places, tag) {
  const made = [];
  let at = 0;
  for (const { start, end } of places) {
    if (start < at) continue;
    made.push(text.slice(at, start), el(tag, {}, text.slice(start, end)));
    at = end;
  }
  return [...made, text.slice(at)];
}

// The document's facts come after those of the part, which tell hits apart.
export const metadata = (hit) => facts({ ...hit.part_metadata, ...hit.metadata });

export const facts = (fields) => Object.entries(fields).filter(([name]) => !HIDDEN.has(name)).map(([name, value]) => `${name}: ${typeof value === "object" ? JSON.stringify(value) : value}`).join(" \u00b7 ");

export function scoreBar(score) {
  return el("div", { class: "score" },
    el("span", { class: "track", "aria-hidden": "true" }, el("div", { class: "fill", "--value": String(score) })),
    el("span", {}, score.toFixed(2)));
}

// Levels that are said; the others are seen.
const SAID = ["unsure", "near", "unlikely"];

export const kinds = (names) => names.map((name) => t(`kind_${name}`)).join(", ");

// What is to be known of a hit before it is believed. Who said yes or no comes first.
export function tags(hit, { level, answer } = {}) {
  const judged = answer !== undefined ? t(answer ? "said_yes" : "said_no")
    : hit.verdict === "differs" && hit.differs?.length ? t("differs", { kinds: kinds(hit.differs) }) : SAID.includes(level) ? t(`level_${level}`) : "";
  const words = [judged, hit.match === "exact" ? t("exact_words") : "", hit.polarity === "negated" && hit.verdict !== "match" && !hit.differs?.includes("negation") ? t("negated") : "",
    hit.copies > 1 ? t("copy_count", { count: hit.copies }) : "", hit.cut ? t("a_part") : "", hit.restored ? t("restored_tag", { value: hit.confidence.toFixed(2) }) : ""];
  return words.filter(Boolean).map((word) => el("span", { class: "tag" }, word));
}

// One hit in one line: who and when, the words, what is to be known, yes and no. `more` is what stands below it if it is opened.
export function hitRow(hit, index, { room, level, answer, phrase, more, on }) {
  const actions = { o: on.open, Enter: on.open, w: on.why, b: on.more, c: on.copy, y: on.answer && (() => on.answer(hit, true)), n: on.answer && (() => on.answer(hit, false)) };
  const judge = (label, sign, value) => el("button", { class: "quiet sign", type: "button", title: label, "aria-label": label, "aria-pressed": String(answer === value), onclick: () => on.answer(hit, value) }, sign);
  const place = placeOf(hit), title = titleOf(hit);
  return el("article", {
    class: `card ${level}`, "aria-label": t("hit_at", { number: index + 1, place: [place, title].filter(Boolean).join(", ") }),
    "data-document": hit.document_id, "data-start": String(hit.start),
    onclick: (event) => { if (!event.target.closest("button, .more") && !String(getSelection())) on.open(hit); },
    onkeydown: (event) => {
      const action = event.target === event.currentTarget && !event.ctrlKey && !event.metaKey && actions[event.key];
      if (action) { event.preventDefault(); action(hit); }
    },
  },
  el("button", { class: "quiet sign turn-more", type: "button", title: t("said_before"), "aria-label": t("said_before"), "aria-expanded": String(Boolean(more)), onclick: () => on.more(hit) }, more ? "\u25be" : "\u25b8"),
  el("span", { class: "who meta", title: [place, title, metadata(hit)].filter(Boolean).join(" \u00b7 ") }, place ? el("b", {}, place, " ") : null, short(title)),
  el("p", { class: "said", dir: "auto" }, highlighted(hit, room, { level, phrase })),
  el("span", { class: "notes" }, tags(hit, { level, answer })),
  on.answer ? el("span", { class: "judge" }, judge(t("yes"), "\u2713", true), judge(t("no"), "\u2717", false)) : null,
  more);
}
