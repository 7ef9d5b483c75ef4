import { get, part } from "./api.js";

const KEPT = 20;
const kept = new Map();

// How much of a long text is read first, on either side of a place.
const AROUND = 8000;

const pathOf = (collection, id, unit) => `/collections/${part(collection)}/documents/${part(id)}?offset_unit=${unit}`;

// A document of a search's collection; the last ones are kept.
export async function readDocument(collection, id, unit = "utf16") {
  const path = pathOf(collection, id, unit);
  return kept.get(path) ?? keep(path, get(path));
}

function keep(path, reading) {
  kept.set(path, reading);
  reading.catch(() => kept.delete(path));
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  return reading;
}

// What stands around a place of a document, which is there sooner than all of a long one; all of a short one.
export async function readAround(collection, id, place, unit) {
  const path = pathOf(collection, id, unit);
  if (kept.has(path)) return kept.get(path);
  const read = await get(`${path}&start=${Math.max(0, place - AROUND)}&end=${place + AROUND}`);
  if (isWhole(read)) keep(path, Promise.resolve(read));
  return read;
}

export const isWhole = ({ text, text_start: start, length }) => !start && (length === undefined || text.length === length);

export const forgetDocuments = () => kept.clear();

// The part before that of a hit, the turn to which it answers; null for the first one.
export function turnBefore({ text, parts = [], metadata }, hit) {
  const at = parts.findIndex((one) => one.start <= hit.start && hit.start < one.end);
  if (at < 1) return null;
  const { start, end, metadata: fields } = parts[at - 1];
  return { text: text.slice(start, end), part_metadata: fields, metadata };
}

// An offset in code points, as matches have it, in UTF-16.
export const inUnits = ({ text }, at) => Array.from(text).slice(0, at).join("").length;

// Offsets in UTF-16, as the page has them, in code points, as labels have them.
export function inPoints({ text }, { start, end }) {
  const from = Array.from(text.slice(0, start)).length;
  return { start: from, end: from + Array.from(text.slice(start, end)).length };
}
