// The probability from which on a match is shown without a doubt. Of the matches of judged calls, which chose it,
// three of four are wrong below it, and one of five above it.
const SURE = 0.85;

// How sure it is that a hit says the phrase. The answer of a person comes before the second look's verdict, and this one before
// the noise band: the scores that texts reach which have nothing to do with the phrase. "unsure" is a match that the second look
// says without certainty: it is listed among the likely ones, and marked. "unjudged": nothing is known.
export function levelOf(hit, { answer, noise } = {}) {
  if (answer !== undefined) return answer ? "likely" : "unlikely";
  if (hit.verdict === "match") return hit.probability >= SURE ? "likely" : "unsure";
  if (hit.verdict) return hit.verdict === "differs" ? "near" : "unlikely";
  if (hit.match === "exact") return "likely";
  if (typeof noise === "number") return hit.score > noise ? "near" : "unlikely";
  return "unjudged";
}

// Hits in three groups, each in the order of the search. Where some were read, what was not read follows as unlikely, and of
// spans of one sentence, which has one verdict, the best one alone stands for it.
export function grouped(hits, { answers = new Map(), noise = null, isRead = false } = {}) {
  const groups = { likely: [], near: [], unlikely: [] };
  const best = bestOfClauses(hits);
  for (const hit of hits) {
    if (hit.clause && best.get(clauseOf(hit)) !== hit && !answers.has(keyOf(hit))) { groups.unlikely.push(hit); continue; }
    const level = levelOf(hit, { answer: answers.get(keyOf(hit)), noise: isRead ? null : noise });
    const others = { unsure: "likely", unjudged: isRead ? "unlikely" : "near" };
    groups[others[level] || level].push(hit);
  }
  return groups;
}

export const isLikely = (level) => level === "likely" || level === "unsure";

const clauseOf = (hit) => `${hit.document_id} ${hit.clause.start}`;

// The best hit of each sentence that was read.
export function bestOfClauses(hits) {
  const best = new Map();
  for (const hit of hits) {
    if (hit.clause && !(best.get(clauseOf(hit))?.raw >= hit.raw)) best.set(clauseOf(hit), hit);
  }
  return best;
}

export const keyOf = (hit) => `${hit.document_id} ${hit.start} ${hit.end}`;

// What is shown first where nothing is near either.
const NEAREST = 5;

// The hits of a choice: "likely" alone, those that "may be" too, or "all".
export function chosen({ likely, near, unlikely }, choice) {
  if (choice === "likely") return likely;
  const some = [...likely, ...near];
  if (choice === "all") return [...some, ...unlikely];
  return some.length ? some : unlikely.slice(0, NEAREST);
}
