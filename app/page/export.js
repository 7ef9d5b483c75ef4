import { post } from "./api.js";
import { copy } from "./clipboard.js";
import { download, el, problem, say } from "./dom.js";
import { citation } from "./places.js";
import { t } from "./words.js";

// What is exported at most: what the second look judges in one export.
const MOST = 10_000;
const FORMATS = { csv: "text/csv", xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ndjson: "application/x-ndjson", parquet: "application/vnd.apache.parquet" };

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

async function save(request, { threshold, likely }, name, type) {
  const { context, mode, collection, text, filter, spans, ranking } = request;
  const body = { collection, text, mode, filter, spans, ranking, context, threshold, limit: MOST, ...(likely && { likely }) };
  const blob = await post("/search/export", body, { accept: type, reader: (response) => response.blob() });
  download(`${collection}-${text.slice(0, 40).replace(/[^\p{L}\p{N}]+/gu, "-")}.${name}`, blob, type);
  say(t("exported"));
}
