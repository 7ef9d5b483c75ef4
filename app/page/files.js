// Files as documents: {line, document}, or {line, error} where a line cannot be read.
export function documentsOf(name, text) {
  if (/\.(ndjson|jsonl)$/i.test(name)) return lines(text);
  if (/\.csv$/i.test(name)) return csvDocuments(name, text);
  return [{ line: 1, document: { id: name, text, metadata: { file: name } } }];
}

function lines(text) {
  return text.split("\n").flatMap((row, index) => {
    if (!row.trim()) return [];
    try { return [{ line: index + 1, document: JSON.parse(row) }]; } catch { return [{ line: index + 1, error: "This line is not JSON." }]; }
  });
}

// A column `text` is needed; `id` names documents, without it the file and the line do. Other columns are metadata.
function csvDocuments(name, text) {
  const [head, ...rows] = records(text);
  const names = head ? head.cells.map((cell) => cell.trim()) : [];
  if (!names.includes("text")) return [{ line: 1, error: "The first line must name a column `text`." }];
  return rows.map(({ line, cells }) => {
    if (cells.length !== names.length) return { line, error: `There are ${cells.length} cells, and ${names.length} columns.` };
    const { id, text: body, ...metadata } = Object.fromEntries(names.map((column, index) => [column, cells[index]]));
    return { line, document: { id: id || `${name}-${line}`, text: body, metadata } };
  });
}

// RFC 4180: quoted cells may hold commas, doubled quotes and line ends.
export function records(text) {
  const rows = [];
  let cells = [], cell = "", quoted = false, line = 1, start = 1;
  const end = () => { cells.push(cell); cell = ""; if (cells.length > 1 || cells[0]) rows.push({ line: start, cells }); cells = []; start = line; };
  const source = text.replace(/^\uFEFF/, "");
  for (let at = 0; at < source.length; at++) {
    const letter = source[at];
    if (letter === "\n") line++;
    if (quoted) {
      if (letter !== '"') cell += letter;
      else if (source[at + 1] === '"') { cell += '"'; at++; } else quoted = false;
    } else if (letter === '"' && !cell) quoted = true;
    else if (letter === ",") { cells.push(cell); cell = ""; }
    else if (letter === "\n") end();
    else if (letter !== "\r") cell += letter;
  }
  if (cell || cells.length) end();
  return rows;
}

// Requests of at most 200 documents and about a megabyte, in order.
export function* batches(items) {
  let batch = [], size = 0;
  for (const item of items) {
    const body = JSON.stringify(item.document);
    if (batch.length && (batch.length === 200 || size + body.length > 1_000_000)) { yield batch; batch = []; size = 0; }
    batch.push({ ...item, body });
    size += body.length;
  }
  if (batch.length) yield batch;
}
