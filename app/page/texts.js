import { get, part } from "./api.js";

const KEPT = 20;
const kept = new Map();

// A document of a search's collection; the last ones are kept.
export async function readDocument(collection, id, unit = "utf16") {
  const path = `/collections/${part(collection)}/documents/${part(id)}?offset_unit=${unit}`;
  if (!kept.has(path)) {
    const reading = get(path);
    kept.set(path, reading);
    reading.catch(() => kept.delete(path));
    if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  }
  return kept.get(path);
}

export const forgetDocuments = () => kept.clear();

// The part before that of a hit, the turn to which it answers; null for the first one.
export function turnBefore({ text, parts = [], metadata }, hit) {
  const at = parts.findIndex((one) => one.start <= hit.start && hit.start < one.end);
  if (at < 1) return null;
  const { start, end, metadata: fields } = parts[at - 1];
  return { text: text.slice(start, end), part_metadata: fields, metadata };
}

// Offsets in UTF-16, as the page has them, in code points, as labels have them.
export function inPoints({ text }, { start, end }) {
  const from = Array.from(text.slice(0, start)).length;
  return { start: from, end: from + Array.from(text.slice(start, end)).length };
}
