// What the columns of a table hold, by its first rows; each is a column's number, or -1 for none.

const MOST_ID = 64;
const LETTERS = /\p{L}/gu;

// The column of texts has the most letters: dates, numbers and ids are long, but have few. Ids are one a row, or repeat
// where rows are the turns of one document; then the turns are numbered in another column.
export function guess(names, rows) {
  const columns = names.map((_, at) => rows.map((row) => row[at] || ""));
  const letters = columns.map((cells) => cells.reduce((sum, cell) => sum + (cell.match(LETTERS)?.length || 0), 0));
  const named = names.findIndex((name) => name.toLowerCase() === "text");
  const text = named >= 0 ? named : letters.indexOf(Math.max(...letters));
  const others = names.map((_, at) => at).filter((at) => at !== text && names[at]);
  const turns = others.flatMap((id) => others.filter((part) => part !== id && areTurns(columns[id], columns[part])).map((part) => ({ id, part })))[0];
  if (turns) return { text, ...turns };
  const unique = others.filter((at) => isUnique(columns[at]));
  return { text, id: unique.find((at) => isIdName(names[at])) ?? unique.find((at) => columns[at].every(looksLikeId)) ?? -1, part: -1 };
}

const isIdName = (name) => /(^|[^a-z])(id|key|nr|no|number)$/i.test(name) || /[a-z]Id$/.test(name);

const isUnique = (cells) => cells.length > 0 && cells.every((cell) => cell && cell.length <= MOST_ID) && new Set(cells).size === cells.length;

// One word with a digit, which is no date, time, or number with a fraction.
const looksLikeId = (cell) => /^[^\s.,:/]*\d[^\s.,:/]*$/.test(cell) && !/^\d{4}-\d\d-\d\d/.test(cell);

// In every group the turns are 0, 1, 2... or 1, 2, 3..., in any order, and some group has several.
function areTurns(groups, numbers) {
  const byGroup = new Map();
  for (const [at, group] of groups.entries()) {
    if (!group || !/^\d+$/.test(numbers[at])) return false;
    byGroup.set(group, [...(byGroup.get(group) || []), Number(numbers[at])]);
  }
  const runs = [...byGroup.values()].map((turns) => turns.sort((a, b) => a - b));
  const first = runs[0]?.[0];
  return first <= 1 && runs.some((turns) => turns.length > 1) && runs.every((turns) => turns.every((turn, at) => turn === first + at));
}

// The first documents that rows become: their id, text and other cells. Without a column of ids rows are numbered.
export function documentsOf(names, rows, { text, id, part }, file, most = 5) {
  const found = new Map();
  for (const [number, row] of rows.entries()) {
    const key = id >= 0 ? row[id] : `${file}:${number + 1}`;
    if (!found.has(key) && found.size === most) { if (part < 0) break; else continue; }
    if (part < 0 || !found.has(key)) found.set(key, []);
    found.get(key).push(row);
  }
  const order = (a, b) => (Number(a[part]) - Number(b[part])) || 0;
  return [...found].map(([key, own]) => {
    const turns = part >= 0 ? own.toSorted(order) : own;
    const others = names.map((name, at) => [name, turns[0][at], at]).filter(([name, value, at]) => name && value && ![text, id, part].includes(at));
    return { id: key, text: turns.map((row) => row[text] || "").join("\n"), metadata: others.map(([name, value]) => `${name}: ${value}`).join(", ") };
  });
}
