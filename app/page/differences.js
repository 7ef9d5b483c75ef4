// Where a text that is near a phrase differs from it, as far as words show it.
const WORD = /[\p{L}\p{N}][\p{L}\p{N}'\u2019.,:%-]*/gu;
const NUMBER = /^\p{N}|^(one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|hundred|thousand|million|once|twice|half)$/u;
const NEGATION = /^(no|not|never|none|nothing|nobody|neither|nor|without|cannot)$|n['\u2019]t$/;
export const FUNCTION_WORDS = new Set(("a an the this that these those i you he she it we they me him her us them my your his its our their and or but if so as at by " +
  "for from in into of on to with up is am are was were be been being do does did have has had will would can could shall should may might must not no").split(" "));
// Kinds of difference that are seen in the words that the two do not share.
const OBJECTS = new Set(["antonym", "object", "action", "modality"]);

export function wordsOf(text) {
  return [...text.matchAll(WORD)].map((found) => {
    const word = found[0].replace(/[.,:'\u2019-]+$/, "");
    return { word: word.toLowerCase(), start: found.index, end: found.index + word.length };
  });
}

// The places of the words that differ. Of kinds beyond numbers and negations, only where other content words are shared.
export function differing(phrase, text, kinds = []) {
  const asked = new Set(wordsOf(phrase).map((one) => one.word)), said = wordsOf(text);
  const isOwn = ({ word }) => !asked.has(word);
  const places = [];
  if (kinds.includes("number")) places.push(...said.filter((one) => NUMBER.test(one.word) && isOwn(one)));
  if (kinds.includes("negation")) places.push(...said.filter((one) => NEGATION.test(one.word) && isOwn(one)));
  if (kinds.some((kind) => OBJECTS.has(kind))) {
    const content = said.filter((one) => !FUNCTION_WORDS.has(one.word) && !NEGATION.test(one.word));
    const own = content.filter((one) => ![...asked].some((word) => isAlike(word, one.word)));
    if (own.length < content.length) places.push(...own);
  }
  return [...new Set(places)].sort((a, b) => a.start - b.start);
}

// Forms of one word: they begin alike, but for an ending.
function isAlike(one, other) {
  const least = Math.min(one.length, other.length);
  return one === other || (least >= 4 && one.slice(0, least - 1) === other.slice(0, least - 1));
}
