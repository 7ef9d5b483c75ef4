import { post } from "./api.js";
import { el, openDialog, problem, table } from "./dom.js";
import { kinds, metadata, scoreBar, tags } from "./hit.js";
import { levelOf } from "./levels.js";
import { t } from "./words.js";

// What made a hit's score: units, words or pairs, and the terms that add up to it.
export async function showWhy(hit, request) {
  openDialog(t("why_hit"), el("p", { class: "muted" }, t("loading")));
  try {
    const top_k = Math.min(1000, hit.rank + 10);
    const { hits } = await post("/search", { ...request, explain: true, top_k });
    const same = hits.find((other) => other.document_id === hit.document_id && other.start === hit.start && other.end === hit.end);
    openDialog(t("why_hit"), same ? explained({ ...hit, explanation: same.explanation }, request.text) : el("p", {}, t("why_changed")));
  } catch (error) { openDialog(t("why_hit"), problem(error)); }
}

// The terms of a score, in the order in which they add up.
const TERMS = { cosine: "cosine", length: "length", borders: "borders", exact: "exact_term" };
// The names of what is explained; others are said as the server names them.
const TITLES = {
  best_span: "why_best_span", part: "why_part", best_sentence: "why_best_sentence", span: "why_span", whole: "why_whole", word: "why_word", similarity: "why_similarity",
  words_of_part: "why_words_of_part", words: "why_words_title", count: "why_count", span_score: "why_span_score", contribution: "why_contribution", weight: "why_weight",
};
const titled = (name) => (Object.hasOwn(TITLES, name) ? t(TITLES[name]) : name[0].toUpperCase() + name.slice(1).replaceAll("_", " "));

// What a person would say of the hit; the figures behind it are folded.
function explained(hit, query) {
  const why = hit.explanation || {};
  const content = [];
  for (const [name, value] of Object.entries(why)) {
    if (Array.isArray(value)) content.push(...(value.length ? section(name, value, hit) : []));
    else if (value && typeof value === "object" && !("share" in value)) content.push(el("p", { class: "section" }, el("strong", {}, `${titled(name)}: `), described(value)));
  }
  return el("div", {}, el("p", { class: "quote" }, quoted(query)), el("p", {}, sentence(hit, why)),
    el("div", { class: "row" }, el("span", { class: "meta" }, [hit.document_id, metadata(hit)].filter(Boolean).join(" \u00b7 ")), tags(hit, { level: levelOf(hit) })), scoreBar(hit.score),
    el("details", { class: "section", open: true }, el("summary", {}, t("why_words")), content),
    el("details", { class: "section" }, el("summary", {}, t("why_terms")), sum(why, hit)));
}

// The words that add most to the similarity, at most so many.
const TELLING = 3;

function sentence(hit, why) {
  const isClause = hit.clause?.text && hit.clause.text !== hit.text;
  const read = isClause ? t("why_sentence", { quote: quoted(hit.clause.text.trim()) }) : quoted(hit.text.trim());
  const said = { match: "why_match", differs: hit.differs?.length ? "why_differs_in" : "why_differs", unrelated: "why_unrelated" }[hit.verdict] || (hit.score >= 0.5 ? "why_close" : "why_far");
  const words = (why.units || why.words || []).filter((one) => one.contribution > 0).sort((a, b) => b.contribution - a.contribution).slice(0, TELLING).map((one) => quoted(one.text ?? one.word));
  return [hit.match === "exact" && t("why_exact"), t(said, { read, percent: Math.round(100 * (hit.probability ?? 0)), kinds: kinds(hit.differs || []) }),
    words.length > 0 && t("why_near", { words: words.join(", ") })].filter(Boolean).join(" ");
}

const quoted = (text) => t("quote", { text });

function section(name, rows, hit) {
  if (name === "units") return [el("h2", { class: "section" }, t("why_units")), shaded(rows, hit)];
  if (name === "pairs") return [el("h2", { class: "section" }, t("why_pairs")), pairs(rows)];
  if (name === "terms") return [el("h2", { class: "section" }, t("why_parts")), weighed(rows)];
  const heading = el("h2", { class: "section" }, rows[0].words ? t("why_near_words", { name }) : name === "words" ? t("why_query_words") : titled(name));
  return [heading, rows[0].words ? facets(rows) : listed(rows, name)];
}

// Offsets say nothing to a reader.
function listed(rows, caption) {
  const names = Object.keys(rows[0]).filter((name) => name !== "start" && name !== "end");
  return table(names.map(titled), rows.map((row) => names.map((name) => plain(row[name]))), caption);
}

const described = ({ text, start, end, ...others }) => [text ? quoted(text) : "", Object.entries(others).map(([name, value]) => `${titled(name).toLowerCase()} ${plain(value)}`).join(", ")].filter(Boolean).join(" \u00b7 ");

// In a restored text the units of a span may not be known: they have numbers.
function shaded(units, hit) {
  const top = Math.max(1e-9, ...units.map((unit) => Math.abs(unit.contribution)));
  const isKnown = units.length === 1 || units.some((unit) => unit.text !== hit.text);
  return el("p", { class: "text" }, units.flatMap((unit, index) => [el("span", {
    class: unit.contribution < 0 ? "unit negative" : "unit", "--weight": String(Math.abs(unit.contribution) / top),
  }, isKnown ? unit.text : t("why_unit", { number: index + 1 }), " ", el("span", { class: "meta" }, signed(unit.contribution, 2))), " "]));
}

function pairs(rows) {
  return table(["why_query_part", "why_stretch", "why_cosine", "why_contribution"].map((name) => t(name)),
    rows.map((row) => [row.query ? row.query.text : t("why_vector"), row.segment_text.text.trim(), row.cosine.toFixed(2), row.contribution.toFixed(2)]), t("why_pair_table"));
}

function weighed(rows) {
  return table(["why_part_name", "why_similarity", "why_weight", "why_adds"].map((name) => t(name)), rows.map(({ name, value, weight }) => [titled(name), signed(value), plain(weight), signed(value * weight)]), t("why_parts"));
}

// Facets that say the same stand once.
function facets(rows) {
  return el("p", { class: "row" }, [...new Set(rows.map((row) => row.words.join(", ")))].map((words) => el("span", { class: "tag" }, words)));
}

// The terms add up to the span score, with shares of a clause's best span and of the part around it; raw and score follow.
function sum(why, hit) {
  const rows = "bm25" in why ? shareOfWords(why) : [...ownTerms(why), ...shares(why)];
  const rawNote = t("bm25" in why ? "why_share_of_highest" : "why_raw_means");
  rows.push(row(t("why_raw"), hit.raw.toFixed(3), rawNote),
    row(t("score"), hit.score.toFixed(3), t(Math.abs(hit.score - hit.raw) < 5e-4 ? "why_same" : "why_scale"), "total"));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("why_terms") }, el("table", {}, el("tbody", {}, rows)));
}

const row = (name, value, note = "", kind = null) =>
  el("tr", { class: kind }, el("td", {}, name, note ? el("div", { class: "meta" }, note) : null), el("td", { class: "number" }, value));
const termsOf = (why) => Object.keys(TERMS).filter((name) => typeof why[name] === "number");
const totalOf = (why) => termsOf(why).reduce((total, name) => total + why[name], 0);

const shareOfWords = (why) => [row(t("why_bm25"), plain(why.bm25), t("why_bm25_means")), row(t("why_highest"), plain(why.highest), t("why_highest_means"))];

function ownTerms(why) {
  const rows = termsOf(why).map((name) => row(t(`why_${TERMS[name]}`), signed(why[name]), t(`why_${name}_means`), Math.abs(why[name]) < 5e-4 ? "zero" : null));
  return rows.length > 1 ? [...rows, row(t(why.best_span || why.part ? "why_own_terms" : "why_sum"), signed(totalOf(why)), "", "total")] : rows;
}

function shares({ best_span: best, part, ...why }) {
  const mixed = [best && [t("why_of_best", { quote: quoted(best.text) }), best.span_score, best.share], part && [t("why_of_part"), part.cosine, part.share]].filter(Boolean);
  if (!mixed.length) return [];
  const parts = [[t("why_of_own"), totalOf(why), 1 - mixed.reduce((all, [, , share]) => all + share, 0)], ...mixed];
  return [...parts.map(([of, value, share]) => row(t("why_share", { percent: Math.round(share * 100), of }), signed(value * share))),
    row(t("why_sum"), signed(parts.reduce((total, [, value, share]) => total + value * share, 0)), "", "total")];
}

const signed = (value, digits = 3) => (Math.abs(value) < 0.5 * 10 ** -digits ? "0" : `${value < 0 ? "\u2212" : ""}${Math.abs(value).toFixed(digits)}`);
const plain = (value) => (typeof value === "number" ? String(Math.round(value * 1000) / 1000) : typeof value === "object" ? JSON.stringify(value) : String(value));
