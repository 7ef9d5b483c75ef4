import { ApiError, part, put, send } from "./api.js";
import { address } from "./collections.js";
import { clearProblem, el, field, fieldProblem, problem, say, select, table } from "./dom.js";
import { ENDINGS, kindOf } from "./files.js";
import { collectionName, freeName, stem } from "./names.js";
import { update } from "./state.js";
import { tableForm } from "./table_form.js";
import { follow, hasEnded } from "./tasks.js";
import { undoButton, writtenBy } from "./undo.js";
import { roughly, t } from "./words.js";

const NEW = "";
const LEFT_FROM_MS = 2000;
// How each kind of file is sent, and what its errors count.
const SENT = {
  ndjson: { path: "documents/import", type: "application/x-ndjson", unit: "line" },
  table: { path: "documents/import", type: "text/csv", unit: "row" },
  file: { path: "files", type: "application/octet-stream", unit: "record" },
};
const NO_PANELS = { follow: async () => {}, tasks: { show() {} } };

// The form that adds files to a collection, which the panels then follow; `changed` is called when one has been added.
export function uploadForm(collections, panels = NO_PANELS, changed = async () => {}) {
  const log = el("div", { "aria-live": "polite" });
  const name = el("input", { id: "new-name", maxlength: "200", placeholder: t("named_after") });
  name.addEventListener("change", () => { name.value = collectionName(name.value); });
  const named = field(t("new_name"), name);
  const target = select([[NEW, t("new_collection")], ...collections.map((one) => [one.name, one.name])], NEW, (value) => {
    named.hidden = value !== NEW;
    if (value === NEW) return;
    update({ c: value });
    panels.follow(value);
  });
  const choose = el("input", { type: "file", multiple: true, accept: ENDINGS.join() });
  // The collection that files go into, made if it is new. What is wrong with its name is said at the field.
  const made = async (first) => {
    if (target.value !== NEW) return target.value;
    const taken = [...target.options].map((one) => one.value);
    name.value = collectionName(name.value) || freeName(collectionName(stem(first.name)) || "documents", taken);
    try { await put(`/collections/${part(name.value)}`, {}); } catch (error) {
      if (![409, 422].includes(error.status)) throw error;
      fieldProblem(name, error);
      return null;
    }
    if (!taken.includes(name.value)) target.add(new Option(name.value, name.value));
    target.value = name.value;
    named.hidden = true;
    return name.value;
  };
  const add = async (files) => {
    if (!files.length) return;
    for (const old of log.querySelectorAll(":scope > .problem, .file:has(.problem)")) old.remove();
    clearProblem(name);
    try {
      const refused = files.filter(refusal);
      for (const file of refused) log.append(el("article", { class: "file" }, problem(refusal(file))));
      const rest = files.filter((file) => !refused.includes(file));
      if (!rest.length) return;
      const collection = await made(rest[0]);
      if (!collection) return;
      update({ c: collection });
      await panels.follow(collection);
      for (const file of rest) await new Addition(collection, file, panels, changed).run(log);
      await changed();
    } catch (error) { log.append(problem(error)); }
  };
  choose.addEventListener("change", async () => { await add([...choose.files]); choose.value = ""; });
  const drop = el("div", { class: "panel drop" }, el("h2", {}, t("add_documents")), el("p", { class: "muted" }, t("add_hint")),
    el("div", { class: "options" }, field(t("files"), choose), field(t("into"), target), named), log);
  const over = (on) => (event) => { event.preventDefault(); drop.classList.toggle("over", on); };
  drop.addEventListener("dragover", over(true));
  drop.addEventListener("dragleave", over(false));
  drop.addEventListener("drop", (event) => { over(false)(event); add([...event.dataTransfer.files]); });
  return drop;
}

// Why a file is not sent at all, before a collection is made for it; a folder that is dropped looks like an empty file.
function refusal({ name, size }) {
  if (kindOf(name) && size) return null;
  return new ApiError(0, { detail: t("not_sent", { file: name }), hint: t(kindOf(name) ? "empty_hint" : "not_sent_hint") });
}

// A file on its way into a collection. It has a place of its own in the log; what goes wrong with it does not stop others.
class Addition {
  constructor(collection, file, panels, changed) {
    Object.assign(this, { collection, file, panels, changed, kind: kindOf(file.name), place: el("article", { class: "file" }) });
  }

  async run(log) {
    log.append(this.place);
    const { kind, file } = this;
    try {
      if (kind.kind === "table") this.place.replaceChildren(await tableForm(file, kind, (columns) => this.table(columns)));
      else await this.stream({});
    } catch (error) { this.place.replaceChildren(problem(error)); }
  }

  async table(columns) {
    this.place.replaceChildren();
    try { await this.stream(columns); await this.changed(); } catch (error) { this.place.replaceChildren(problem(error)); }
  }

  // Sends the file as it is and follows the task that indexes it.
  async stream(columns) {
    const { file, kind, panels: { tasks } } = this;
    const bar = el("progress", { max: 1, value: 0, "aria-label": t("progress_of", { name: file.name }) });
    const words = el("p", {}, t("sending", { file: file.name }));
    this.place.replaceChildren(words, bar);
    const { path, type, unit } = SENT[kind.kind];
    const headers = { "Content-Type": type, ...(kind.packed && path !== "files" && { "Content-Encoding": "gzip" }) };
    const query = new URLSearchParams(path === "files" ? { name: file.name } : columns);
    // What is being sent would be lost with the page; the task goes on without it.
    const warn = (event) => event.preventDefault();
    addEventListener("beforeunload", warn);
    let task;
    try { task = await send(`/collections/${part(this.collection)}/${path}?${query}`, file, headers, (share) => { bar.value = share; }); } finally { removeEventListener("beforeunload", warn); }
    tasks.show();
    const started = performance.now();
    while (!hasEnded(task)) {
      const { done, total } = task.progress;
      if (total) bar.value = done / total;
      words.textContent = task.status === "queued" ? t("waiting", { file: file.name })
        : [t("indexing", { file: file.name, counts: summary(task.counts) }), ...left(performance.now() - started, task.progress)].join(", ");
      task = await follow(task, 0.5);
    }
    tasks.show();
    if (task.status !== "done") throw new ApiError(0, { detail: `${file.name}: ${task.error?.detail || task.status}`, hint: task.error?.hint });
    this.report(task, t(unit));
  }

  // What became of the file, and what of it was left out or is doubtful.
  report(task, unit) {
    const { name } = this.file, { counts, errors } = task, { lost = [], notice = "", unreadable = false } = task.result || {};
    const rows = errors.map((error) => [String(error.line), error.detail]);
    const done = `${name}: ${summary(counts)}`;
    this.place.replaceChildren(el("p", {}, done),
      ...(lost.length ? [el("p", { class: "problem" }, t("lost_of", { name, what: lost.join(", ") }))] : []),
      ...(unreadable ? [el("p", { class: "problem" }, t("unreadable", { name }))] : []),
      ...(notice ? [el("p", { class: "meta" }, `${name}: ${notice}.`)] : []),
      ...(rows.length ? [table([unit, t("why")], rows, t("errors_of", { name }))] : []),
      ...(counts.failed > rows.length ? [el("p", { class: "meta" }, t("first_errors", { count: rows.length }))] : []),
      ...(counts.indexed ? [el("p", { class: "row actions" }, el("a", { class: "chip", href: address(this.collection, "") }, t("search_it")),
        undoButton(this.collection, name, counts.indexed, () => writtenBy(task), this.changed))] : []));
    say(done);
  }
}

const summary = ({ indexed = 0, unchanged = 0, failed = 0 }) => t("counts", { indexed, unchanged, failed });

// The time that is left, by what was done so far; nothing while that says little.
function left(elapsed, { done, total }) {
  if (!total || !done || elapsed < LEFT_FROM_MS) return [];
  return [t("left", { time: roughly((elapsed / 1000) * (total - done) / done) })];
}
