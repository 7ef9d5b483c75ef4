import { el } from "./dom.js";

const BLOCK = 4000;

// Paragraphs of the text, which are drawn one by one; none ends inside a hit or, where there are spaces, a word.
// Hits are sorted by start; a block has the numbers of its own. Blocks end at cuts, which are sorted.
export function* blocksOf(text, hits, cuts = []) {
  let start = 0, row = 0, cut = 0;
  while (start < text.length) {
    while (cuts[cut] <= start) cut++;
    const last = cuts[cut] ?? text.length;
    let end = last - start <= BLOCK ? last : Math.min(breakAt(text, start + BLOCK), last);
    const inside = [];
    while (row < hits.length && hits[row].start < end) {
      if (hits[row].end > end) end = breakAt(text, hits[row].end);
      inside.push(row++);
    }
    yield { start, end, hits: inside.map((number) => ({ number, ...hits[number] })) };
    start = end;
  }
}

// The end of the line from a place on, else of the word, else the place itself; never within a character.
function breakAt(text, place) {
  if (place >= text.length) return text.length;
  const ahead = text.slice(place - 1, place + BLOCK);
  const line = ahead.indexOf("\n");
  const after = line >= 0 ? line : ahead.search(/\s/);
  if (after >= 0) return place + after;
  return /[\uDC00-\uDFFF]/.test(text[place]) ? place + 1 : place;
}

// The text of a block in pieces that begin or end where a hit does; those within hits are marked, and belong to all of these.
export function marked(text, block, marks) {
  const pieces = [];
  let group = [];
  let at = block.start;
  const close = () => {
    if (!group.length) return;
    const edges = [...new Set(group.flatMap((hit) => [hit.start, hit.end]))].sort((a, b) => a - b);
    pieces.push(text.slice(at, edges[0]));
    edges.slice(1).forEach((end, index) => {
      const own = group.filter((hit) => hit.start <= edges[index] && hit.end >= end);
      const mark = el("mark", { tabindex: "-1", class: own.some((hit) => hit.level === "likely") ? null : own[0].level }, text.slice(edges[index], end));
      for (const hit of own) marks[hit.number].push(mark);
      pieces.push(mark);
    });
    at = edges.at(-1);
    group = [];
  };
  for (const hit of block.hits) {
    if (group.every((one) => one.end <= hit.start)) close();
    group.push(hit);
  }
  close();
  return [...pieces, text.slice(at, block.end)];
}
