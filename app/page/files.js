// The files that the server reads by their names, besides lines and tables.
const READ = ["docm", "docx", "dotm", "dotx", "eml", "epub", "htm", "html", "json", "log", "mbox", "md", "msg", "odp", "ods", "odt", "parquet", "pdf", "ppsm", "ppsx", "pptm", "pptx", "rtf", "srt", "txt", "vtt", "xhtml", "xlsm", "xlsx"];
const LINES = ["ndjson", "jsonl"];
const TABLES = ["csv", "tsv"];
export const ENDINGS = [...LINES, ...TABLES, ...READ, "gz"].map((ending) => `.${ending}`);

// What a file is to the page: NDJSON, a table, or a file that the server reads; null for others. A trailing `.gz` says that it is packed.
export function kindOf(name) {
  const plain = name.replace(/\.gz$/i, "");
  const ending = plain.split(".").at(-1).toLowerCase();
  const kind = [["ndjson", LINES], ["table", TABLES], ["file", READ]].find(([, endings]) => plain.includes(".") && endings.includes(ending))?.[0];
  return kind ? { kind, packed: plain !== name, name: plain } : null;
}

const READ_BYTES = 1 << 18;
const READ_ROWS = 500;

// The names of a table's columns and its first rows, of its beginning, in UTF-8, in UTF-16 with its mark, or in what
// spreadsheets write. The last row may be cut and is left out, unless the table ends there.
export async function beginningOf(file, packed) {
  const bytes = await firstBytes(packed ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.slice(0, READ_BYTES).stream());
  const [names = [], ...rows] = rowsOf(decoded(bytes), READ_ROWS);
  const isWhole = bytes.length < READ_BYTES && rows.length < READ_ROWS - 1;
  return { names, rows: (isWhole ? rows : rows.slice(0, -1)).filter((row) => row.some(Boolean)) };
}

async function firstBytes(stream) {
  const reader = stream.getReader();
  const pieces = [];
  let length = 0;
  while (length < READ_BYTES) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value);
    length += value.length;
  }
  reader.cancel().catch(() => {});
  const bytes = new Uint8Array(length);
  pieces.reduce((at, piece) => { bytes.set(piece, at); return at + piece.length; }, 0);
  return bytes.subarray(0, READ_BYTES);
}

function decoded(bytes) {
  const mark = { 65279: "utf-16le", 65534: "utf-16be" }[bytes.length > 1 ? bytes[1] * 256 + bytes[0] : 0];
  if (mark) return new TextDecoder(mark).decode(bytes);
  try { return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true }); } catch { return new TextDecoder("windows-1252").decode(bytes); }
}

// The first rows, trimmed. Quoted cells may hold separators, doubled quotes and line ends.
export function rowsOf(text, most) {
  const line = text.split(/[\r\n]/, 1)[0];
  const delimiter = [",", ";", "\t", "|"].sort((a, b) => line.split(b).length - line.split(a).length)[0];
  const rows = [[]];
  let cell = "", quoted = false;
  const end = () => { rows.at(-1).push(cell.replace(/^\uFEFF/, "").trim()); cell = ""; };
  for (let at = 0; at < text.length && rows.length <= most; at++) {
    const letter = text[at];
    if (quoted && letter === '"' && text[at + 1] === '"') { cell += letter; at++; }
    else if (letter === '"' && (quoted || !cell)) quoted = !quoted;
    else if (!quoted && letter === delimiter) end();
    else if (!quoted && letter === "\n") { end(); rows.push([]); }
    else cell += letter;
  }
  if (rows.length <= most) end();
  return rows.slice(0, most);
}
