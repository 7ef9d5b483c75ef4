import { post } from "./api.js";
import { el, openDialog, problem, table } from "./dom.js";
import { metadata, scoreBar, tags } from "./hit.js";
import { levelOf } from "./levels.js";

const TITLE = "Why this hit";

// What made a hit's score: units, words or pairs, and the terms that add up to it.
export async function showWhy(hit, request) {
  openDialog(TITLE, el("p", { class: "muted" }, "Loading"));
  try {
    const top_k = Math.min(1000, hit.rank + 10);
    const { hits } = await post("/search", { ...request, explain: true, top_k });
    const same = hits.find((other) => other.document_id === hit.document_id && other.start === hit.start && other.end === hit.end);
    openDialog(TITLE, same ? explained({ ...hit, explanation: same.explanation }, request.text) : el("p", {}, "The collection has changed since. Search again."));
  } catch (error) { openDialog(TITLE, problem(error)); }
}

// The terms of a score, in the order in which they add up, with what each means.
const TERMS = {
  cosine: ["Similarity (cosine)", "How close the meaning is to the query's."],
  length: ["Length", "Less than 0 if the span is shorter than the query."],
  borders: ["Borders of the text", "Less than 0 if the span begins or ends within a clause, or a sentence ends inside it."],
  exact: ["The query's own words", "What an occurrence of the query itself adds, up to the highest score."],
};
const TITLES = {
  best_span: "Its best span", part: "The part around it", best_sentence: "Best sentence", span: "Best span",
  whole: "The whole sentence", words_of_part: "Words of the part around it (BM25)", words: "Words of the sentence (BM25)", count: "Times", span_score: "span score",
};
const titled = (name) => TITLES[name] || name[0].toUpperCase() + name.slice(1).replaceAll("_", " ");

// What a person would say of the hit; the figures behind it are folded.
function explained(hit, query) {
  const why = hit.explanation || {};
  const content = [];
  for (const [name, value] of Object.entries(why)) {
    if (Array.isArray(value)) content.push(...(value.length ? section(name, value, hit) : []));
    else if (value && typeof value === "object" && !("share" in value)) content.push(el("p", { class: "section" }, el("strong", {}, `${titled(name)}: `), described(value)));
  }
  return el("div", {}, el("p", { class: "quote" }, "\u201c", query, "\u201d"), el("p", {}, sentence(hit, why)),
    el("div", { class: "row" }, el("span", { class: "meta" }, [hit.document_id, metadata(hit)].filter(Boolean).join(" \u00b7 ")), tags(hit, { level: levelOf(hit) })), scoreBar(hit.score),
    el("details", { class: "section", open: true }, el("summary", {}, "Word by word"), content),
    el("details", { class: "section" }, el("summary", {}, "Terms of the score"), sum(why, hit)));
}

// The words that add most to the similarity, at most so many.
const TELLING = 3;

function sentence(hit, why) {
  const read = hit.clause?.text && hit.clause.text !== hit.text ? `The sentence \u201c${hit.clause.text.trim()}\u201d` : `\u201c${hit.text.trim()}\u201d`;
  const judged = { match: `${read} probably says this (${percent(hit.probability)} likely).`,
    differs: `${read} is about the same, but differs${hit.differs?.length ? ` in: ${hit.differs.join(", ")}` : ""}.`,
    unrelated: `${read} probably says something else.` }[hit.verdict];
  const words = (why.units || why.words || []).filter((one) => one.contribution > 0).sort((a, b) => b.contribution - a.contribution).slice(0, TELLING).map((one) => `\u201c${one.text ?? one.word}\u201d`);
  const near = words.length ? ` What makes it near: ${words.join(", ")}.` : "";
  return `${hit.match === "exact" ? "It has the very words of the phrase. " : ""}${judged || `${read} is ${hit.score >= 0.5 ? "close to" : "far from"} the phrase.`}${near}`;
}

const percent = (share) => `${Math.round(100 * (share ?? 0))} %`;

function section(name, rows, hit) {
  if (name === "units") return [el("h2", { class: "section" }, "What each word adds to the similarity"), shaded(rows, hit)];
  if (name === "pairs") return [el("h2", { class: "section" }, "What answers the query"), pairs(rows)];
  if (name === "terms") return [el("h2", { class: "section" }, "Parts of the similarity"), weighed(rows)];
  const heading = el("h2", { class: "section" }, rows[0].words ? `Words that stand near the ${name}` : name === "words" ? "Words of the query in the sentence" : titled(name));
  return [heading, rows[0].words ? facets(rows) : listed(rows, name)];
}

// Offsets say nothing to a reader.
function listed(rows, caption) {
  const names = Object.keys(rows[0]).filter((name) => name !== "start" && name !== "end");
  return table(names.map(titled), rows.map((row) => names.map((name) => plain(row[name]))), caption);
}

const described = ({ text, start, end, ...others }) => [text ? `\u201c${text}\u201d` : "", Object.entries(others).map(([name, value]) => `${titled(name).toLowerCase()} ${plain(value)}`).join(", ")].filter(Boolean).join(" \u00b7 ");

// In a restored text the units of a span may not be known: they have numbers.
function shaded(units, hit) {
  const top = Math.max(1e-9, ...units.map((unit) => Math.abs(unit.contribution)));
  const isKnown = units.length === 1 || units.some((unit) => unit.text !== hit.text);
  return el("p", { class: "text" }, units.flatMap((unit, index) => [el("span", {
    class: unit.contribution < 0 ? "unit negative" : "unit", "--weight": String(Math.abs(unit.contribution) / top),
  }, isKnown ? unit.text : `unit ${index + 1}`, " ", el("span", { class: "meta" }, signed(unit.contribution, 2))), " "]));
}

function pairs(rows) {
  return table(["Part of the query", "Stretch of the document", "Cosine", "Contribution"],
    rows.map((row) => [row.query ? row.query.text : "vector", row.segment_text.text.trim(), row.cosine.toFixed(2), row.contribution.toFixed(2)]), "Pairs of query and document");
}

function weighed(rows) {
  return table(["Part", "Similarity", "Weight", "Adds"], rows.map(({ name, value, weight }) => [titled(name), signed(value), plain(weight), signed(value * weight)]), "Parts of the similarity");
}

// Facets that say the same stand once.
function facets(rows) {
  return el("p", { class: "row" }, [...new Set(rows.map((row) => row.words.join(", ")))].map((words) => el("span", { class: "tag" }, words)));
}

// The terms add up to the span score, with shares of a clause's best span and of the part around it; raw and score follow.
function sum(why, hit) {
  const rows = "bm25" in why ? shareOfWords(why) : [...ownTerms(why), ...shares(why)];
  const rawNote = "bm25" in why ? "Its share of the highest possible." : "(1 + the sum above) / 2, from 0 to 1.";
  rows.push(row("Raw score", hit.raw.toFixed(3), rawNote),
    row("Score", hit.score.toFixed(3), Math.abs(hit.score - hit.raw) < 5e-4 ? "The same: scores are as measured." : "The share above on the scale of this collection, where .8 is mostly equivalent.", "total"));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Terms of the score" }, el("table", {}, el("tbody", {}, rows)));
}

const row = (name, value, note = "", kind = null) =>
  el("tr", { class: kind }, el("td", {}, name, note ? el("div", { class: "meta" }, note) : null), el("td", { class: "number" }, value));
const termsOf = (why) => Object.keys(TERMS).filter((name) => typeof why[name] === "number");
const totalOf = (why) => termsOf(why).reduce((total, name) => total + why[name], 0);

const shareOfWords = (why) => [row("BM25 of the sentence", plain(why.bm25), "The contributions of the words above."), row("Highest possible", plain(why.highest), "What a sentence gets that is the query.")];

function ownTerms(why) {
  const rows = termsOf(why).map((name) => row(TERMS[name][0], signed(why[name]), TERMS[name][1], Math.abs(why[name]) < 5e-4 ? "zero" : null));
  return rows.length > 1 ? [...rows, row(why.best_span || why.part ? "Its own terms" : "Sum", signed(totalOf(why)), "", "total")] : rows;
}

function shares({ best_span: best, part, ...why }) {
  const mixed = [best && [`the score of its best span, \u201c${best.text}\u201d`, best.span_score, best.share], part && ["the similarity of the part around it", part.cosine, part.share]].filter(Boolean);
  if (!mixed.length) return [];
  const parts = [["its own terms", totalOf(why), 1 - mixed.reduce((all, [, , share]) => all + share, 0)], ...mixed];
  return [...parts.map(([of, value, share]) => row(`${Math.round(share * 100)} % of ${of}`, signed(value * share))),
    row("Sum", signed(parts.reduce((total, [, value, share]) => total + value * share, 0)), "", "total")];
}

const signed = (value, digits = 3) => (Math.abs(value) < 0.5 * 10 ** -digits ? "0" : `${value < 0 ? "\u2212" : ""}${Math.abs(value).toFixed(digits)}`);
const plain = (value) => (typeof value === "number" ? String(Math.round(value * 1000) / 1000) : typeof value === "object" ? JSON.stringify(value) : String(value));
