import { documentsOf, guess } from "./columns.js";
import { el, field, select, table } from "./dom.js";
import { beginningOf } from "./files.js";
import { t } from "./words.js";

const NONE = "";
const SHOWN = 200;

// Which columns of a table are which, before it is sent, with the first rows as the documents that they become.
export async function tableForm(file, kind, onchosen) {
  const { names, rows } = await beginningOf(file, kind.packed);
  const guessed = guess(names, rows);
  const options = names.filter(Boolean).map((name) => [name, name]);
  const name = (at) => names[at] || NONE;
  const preview = el("div");
  const text = select(options, name(guessed.text), show);
  const id = select([[NONE, t("number_rows")], ...options], name(guessed.id), show);
  const part = select([[NONE, t("row_document")], ...options.map(([column]) => [column, t("row_part", { column })])], name(guessed.part), show);
  function show() {
    const chosen = { text: names.indexOf(text.value), id: id.value ? names.indexOf(id.value) : -1, part: part.value ? names.indexOf(part.value) : -1 };
    preview.replaceChildren(table([t("id"), t("text"), t("metadata")],
      documentsOf(names, rows, chosen, kind.name).map((one) => [one.id, cut(one.text), cut(one.metadata)]), t("as_documents")));
  }
  const submit = el("button", { type: "submit" }, t("add_table"));
  const form = el("form", { "aria-label": file.name, onsubmit: (event) => {
    event.preventDefault();
    submit.disabled = true;
    onchosen({ text_column: text.value, ...(id.value ? { id_column: id.value } : { row_ids: kind.name }), ...(part.value && { part_column: part.value }) });
  } }, el("h3", {}, file.name), el("p", { class: "meta" }, t("columns", { names: names.filter(Boolean).join(", ") || t("not_named") })),
  el("div", { class: "options" }, field(t("text_column"), text), field(t("id_column"), id), field(t("row_is"), part), el("div", {}, submit)),
  el("p", { class: "meta actions" }, t("as_documents")), preview);
  show();
  setTimeout(() => text.focus());
  return form;
}

const cut = (text) => (text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text);
