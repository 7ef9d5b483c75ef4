// What a file is to the page: text, NDJSON or a table; null for others. A trailing `.gz` says that it is packed.
export function kindOf(name) {
  const plain = name.replace(/\.gz$/i, "");
  const packed = plain !== name;
  if (/\.(ndjson|jsonl)$/i.test(plain)) return { kind: "ndjson", packed, name: plain };
  if (/\.(csv|tsv)$/i.test(plain)) return { kind: "table", packed, name: plain };
  return /\.(txt|md)$/i.test(plain) && !packed ? { kind: "text", packed, name: plain } : null;
}

// The names of a table's columns, and the number of that with the longest cells; of its beginning, in UTF-8, in UTF-16
// with its mark, or in what spreadsheets write.
export async function columnsOf(file, packed) {
  const stream = packed ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.slice(0, 65536).stream();
  const reader = stream.getReader();
  const { value } = await reader.read();
  reader.cancel().catch(() => {});
  const [header = [], ...rows] = rowsOf(decoded(value || new Uint8Array()), 10);
  const lengths = header.map((_, column) => rows.reduce((sum, row) => sum + (row[column] || "").length, 0));
  const longest = header[lengths.indexOf(Math.max(...lengths))] || "";
  return { names: header.filter(Boolean), longest };
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
