import { post } from "./api.js";
import { copy } from "./clipboard.js";
import { csv, download, el, problem, say } from "./dom.js";
import { citation } from "./places.js";
import { inPoints, readDocument } from "./texts.js";
import { t } from "./words.js";

// What is exported at most: what the second look judges in one export.
const MOST = 10_000;
const FORMATS = { csv: "text/csv", xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ndjson: "application/x-ndjson", parquet: "application/vnd.apache.parquet" };
// The columns of a table of hits, as the server has them. Mappings are JSON.
const COLUMNS = ["rank", "score", "raw", "document_id", "start", "end", "text", "match", "polarity", "copies", "probability", "verdict", "metadata", "part_metadata"];
const cell = (value) => (value && typeof value === "object" ? JSON.stringify(value) : value);
// What the page can write itself.
const WRITTEN = {
  csv: (hits) => `\ufeff${csv([COLUMNS, ...hits.map((hit) => COLUMNS.map((name) => cell(hit[name])))])}`,
  ndjson: (hits) => hits.map((hit) => `${JSON.stringify(hit)}\n`).join(""),
};

// A menu beside the count: the hits that are shown as a file, or as citations. `chosen` says what is shown.
export function exportMenu(request, chosen) {
  const note = el("p", { class: "meta", role: "status" });
  const menu = el("details", { class: "menu" }, el("summary", { class: "button quiet" }, t("export")));
  const choice = (label, action) => el("button", { type: "button", class: "quiet", onclick: async () => {
    note.textContent = t("exporting");
    try { await action(); note.textContent = ""; menu.open = false; } catch (error) { note.replaceChildren(problem(error)); }
  } }, label);
  menu.append(el("div", { class: "menu-list" },
    Object.entries(FORMATS).map(([name, type]) => choice(t(`format_${name}`), () => save(request, chosen(), name, type))),
    choice(t("copy_citations"), () => { const { hits } = chosen(); return copy(hits.map(citation).join("\n"), t("citations_copied", { count: hits.length })); }), note));
  menu.addEventListener("keydown", (event) => { if (event.key === "Escape") { menu.open = false; menu.firstChild.focus(); } });
  return menu;
}

// The server writes what it can choose: all that reaches the threshold, or what is likely. Anything else is known here alone.
async function save(request, { hits, threshold, likely, isOwn }, name, type) {
  const { context, mode, collection, text, filter, spans, ranking, collapse } = request;
  if (isOwn && !WRITTEN[name]) throw Object.assign(new Error(t("not_written")), { hint: t("not_written_hint") });
  const body = { collection, text, mode, filter, spans, ranking, collapse, context, threshold, limit: MOST, ...(likely && { likely }) };
  const content = isOwn ? WRITTEN[name](await Promise.all(hits.map((hit) => counted(hit, request))))
    : await post("/search/export", body, { accept: type, reader: (response) => response.blob() });
  download(`${collection}-${text.slice(0, 40).replace(/[^\p{L}\p{N}]+/gu, "-")}.${name}`, content, type);
  say(t("exported"));
}

// A hit with its offsets in code points, as the server's files have them, and without the places within it.
async function counted({ clause, highlights, ...hit }, { collection, offset_unit: unit }) {
  return unit === "codepoint" ? hit : { ...hit, ...inPoints(await readDocument(collection, hit.document_id), hit) };
}
