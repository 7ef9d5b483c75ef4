import { ApiError, get, part, post, put, send } from "./api.js";
import { el, field, problem, say, select, table } from "./dom.js";
import { columnsOf, kindOf } from "./files.js";
import { state, update } from "./state.js";
import { finished, hasEnded } from "./tasks.js";

const NEW = "";

// The form that adds files to a collection, which the panels then follow; `changed` is called when one has been added.
export function uploadForm(collections, panels, changed) {
  const log = el("div", { "aria-live": "polite" });
  const name = el("input", { value: state.c ? "" : "documents", maxlength: "63", placeholder: "documents" });
  const named = field("Name of the new collection", name);
  const target = select([...collections.map((one) => [one.name, one.name]), [NEW, "A new collection"]], state.c || NEW, (value) => {
    named.hidden = value !== NEW;
    if (value === NEW) return;
    update({ c: value });
    panels.follow(value);
  });
  named.hidden = Boolean(state.c);
  const choose = el("input", { type: "file", multiple: true, accept: ".ndjson,.jsonl,.csv,.tsv,.gz,.txt,.md" });
  const add = async (files) => {
    const collection = target.value || name.value.trim();
    if (!collection) { log.replaceChildren(el("p", { role: "alert" }, "Name the new collection first.")); name.focus(); return; }
    try {
      if (target.value === NEW) {
        await put(`/collections/${part(collection)}`, {});
        target.add(new Option(collection, collection), target.options.length - 1);
        target.value = collection;
        named.hidden = true;
      }
      update({ c: collection });
      await panels.follow(collection);
      for (const file of files) await addFile(collection, file, log, panels.tasks, changed);
      await changed();
    } catch (error) { log.append(problem(error)); }
  };
  choose.addEventListener("change", async () => { await add([...choose.files]); choose.value = ""; });
  const drop = el("div", { class: "panel drop" }, el("h2", {}, "Add documents"),
    el("p", { class: "muted" }, "Drop text files, tables (CSV, TSV) or NDJSON here, or choose them. Tables and NDJSON may be gzipped."),
    el("div", { class: "options" }, field("Into", target), named, field("Files", choose)), log);
  const over = (on) => (event) => { event.preventDefault(); drop.classList.toggle("over", on); };
  drop.addEventListener("dragover", over(true));
  drop.addEventListener("dragleave", over(false));
  drop.addEventListener("drop", (event) => { over(false)(event); add([...event.dataTransfer.files]); });
  return drop;
}

// A file has a place of its own in the log; what goes wrong with it does not stop the others.
async function addFile(collection, file, log, tasks, changed) {
  const place = el("article", { class: "file" });
  log.append(place);
  const kind = kindOf(file.name);
  try {
    if (!kind) throw new ApiError(0, { detail: `${file.name} was not sent.`, hint: "The page takes .txt, .md, .csv, .tsv, .ndjson and .jsonl; `spanseek index` also reads PDF, Word, HTML, subtitles and Parquet." });
    if (kind.kind === "text") await addText(collection, file, place);
    else if (kind.kind === "ndjson") await stream(collection, file, kind, {}, place, tasks);
    else place.append(await columnForm(file, kind, async (columns) => {
      place.replaceChildren();
      try { await stream(collection, file, kind, columns, place, tasks); await changed(); } catch (error) { place.append(problem(error)); }
    }));
  } catch (error) { place.append(problem(error)); }
}

async function addText(collection, file, place) {
  const document = { id: file.name, text: await file.text(), metadata: { file: file.name } };
  const [result] = await finished(await post(`/collections/${part(collection)}/documents`, document));
  const counts = { indexed: 0, unchanged: 0, failed: 0, [result.status]: 1 };
  report(place, file.name, counts, result.error ? [{ line: 1, detail: result.error.detail }] : [], "Line");
}

// Which columns of a table are which, before it is sent. The collection does not forget a wrong choice by itself.
async function columnForm(file, kind, onchosen) {
  const { names, longest } = await columnsOf(file, kind.packed);
  const like = (wanted) => names.find((name) => name.toLowerCase() === wanted);
  const options = names.map((name) => [name, name]);
  const text = select(options, like("text") || longest, () => {});
  const id = select([[NEW, "None: number the rows"], ...options], like("id") || NEW, () => {});
  const rows = select([[NEW, "A document"], ...options.map(([name]) => [name, `A part of one, ordered by ${name}`])], NEW, () => {});
  const submit = el("button", { type: "submit" }, "Add this table");
  const form = el("form", { "aria-label": file.name, onsubmit: (event) => {
    event.preventDefault();
    submit.disabled = true;
    onchosen({ text_column: text.value, ...(id.value ? { id_column: id.value } : { row_ids: kind.name }), ...(rows.value && { part_column: rows.value }) });
  } }, el("h3", {}, file.name), el("p", { class: "meta" }, `Its columns are ${names.join(", ") || "not named"}. Those that are not chosen become metadata.`),
  el("div", { class: "options" }, field("Texts are in", text), field("Ids are in", id), field("A row is", rows), el("div", {}, submit)));
  setTimeout(() => text.focus());
  return form;
}

// Sends a file as it is and follows the task that indexes it.
async function stream(collection, file, kind, columns, place, tasks) {
  const bar = el("progress", { max: 1, value: 0, "aria-label": `Progress of ${file.name}` });
  const words = el("p", {}, `${file.name}: sending`);
  place.replaceChildren(words, bar);
  const headers = { "Content-Type": kind.kind === "table" ? "text/csv" : "application/x-ndjson", ...(kind.packed && { "Content-Encoding": "gzip" }) };
  let task = await send(`/collections/${part(collection)}/documents/import?${new URLSearchParams(columns)}`, file, headers, (share) => { bar.value = share; });
  tasks.show();
  while (!hasEnded(task)) {
    const { done, total } = task.progress;
    if (total) bar.value = done / total;
    words.textContent = `${file.name}: ${task.status === "queued" ? "waiting for its turn" : `indexing, ${summary(task.counts)}`}`;
    task = await get(`/tasks/${part(task.id)}?wait=0.5`);
  }
  tasks.show();
  if (task.status !== "done") throw new ApiError(0, { detail: `${file.name}: ${task.error?.detail || task.status}`, hint: task.error?.hint });
  report(place, file.name, task.counts, task.errors, kind.kind === "table" ? "Row" : "Line");
}

const summary = ({ indexed = 0, unchanged = 0, failed = 0 }) =>
  `${indexed.toLocaleString()} indexed, ${unchanged.toLocaleString()} unchanged, ${failed.toLocaleString()} failed`;

function report(place, name, counts, errors, unit) {
  const rows = errors.map((error) => [String(error.line), error.detail]);
  place.replaceChildren(el("p", {}, `${name}: ${summary(counts)}`),
    ...(rows.length ? [table([unit, "Why"], rows, `Errors of ${name}`)] : []),
    ...(counts.failed > rows.length ? [el("p", { class: "meta" }, `The first ${rows.length} errors; the task's results have all.`)] : []));
  say(`${name}: ${summary(counts)}`);
}
