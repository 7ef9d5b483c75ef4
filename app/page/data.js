import { get, part, post, put } from "./api.js";
import { el, field, problem, say, select, table } from "./dom.js";
import { batches, documentsOf } from "./files.js";
import { Matches } from "./matches.js";
import { Snapshots } from "./snapshots.js";
import { state, update } from "./state.js";
import { Tasks, finished } from "./tasks.js";

const NEW = "";
// Larger files are sent as they are, and indexed by a task.
const LARGE = 4e6;

export async function dataView(main) {
  const { collections } = await get("/collections");
  if (!collections.some((one) => one.name === state.c)) update({ c: collections[0]?.name || "" });
  const matches = new Matches(state.c), tasks = new Tasks(state.c);
  const snapshots = new Snapshots(state.c, tasks, () => refresh(main));
  main.replaceChildren(el("h1", {}, collections.length ? "Your data" : "Add your first documents"),
    collections.length ? el("section", { class: "panel" }, el("h2", {}, "Collections"), overview(collections)) : null,
    uploadForm(main, collections, tasks), collections.length ? tasks.element : "", collections.length ? snapshots.element : "", collections.length ? matches.element : "");
  if (collections.length) await Promise.all([tasks.show(), snapshots.show(), matches.show()]);
}

async function refresh(main) {
  const { collections } = await get("/collections");
  main.querySelector("table")?.closest(".scroll").replaceWith(overview(collections));
}

function overview(collections) {
  return table(["Name", "Documents", "Units", "On disk", "Encoder"], collections.map((one) => [
    el("a", { href: `/?c=${part(one.name)}` }, one.name), one.documents.toLocaleString(), one.units.toLocaleString(), megabytes(one.bytes), one.encoder]), "Collections");
}

const megabytes = (bytes) => `${(bytes / 1e6).toLocaleString(undefined, { maximumFractionDigits: 1 })} MB`;

function uploadForm(main, collections, tasks) {
  const log = el("div", { "aria-live": "polite" });
  const name = el("input", { value: state.c ? "" : "documents", maxlength: "200", placeholder: "documents" });
  const named = field("Name of the new collection", name);
  const target = select([...collections.map((one) => [one.name, one.name]), [NEW, "A new collection"]], state.c || NEW, (value) => { named.hidden = value !== NEW; });
  named.hidden = Boolean(state.c);
  const choose = el("input", { type: "file", multiple: true, accept: ".ndjson,.jsonl,.csv,.txt,.md" });
  const send = async (files) => {
    const collection = target.value || name.value.trim();
    if (!collection) { log.replaceChildren(el("p", {}, "Name the new collection first.")); return; }
    try {
      if (target.value === NEW) await put(`/collections/${part(collection)}`, {});
      tasks.collection = collection;
      for (const file of files) await (file.size > LARGE && /\.(ndjson|jsonl)$/i.test(file.name) ? queue(collection, file, tasks) : upload(collection, file, log));
      update({ c: collection });
      await refresh(main);
    } catch (error) { log.append(problem(error)); }
  };
  choose.addEventListener("change", () => send([...choose.files]));
  const drop = el("div", { class: "panel drop" }, el("h2", {}, "Add documents"),
    el("p", { class: "muted" }, "Drop NDJSON, CSV (with a column text) or text files here, or choose them."),
    el("div", { class: "options" }, field("Into", target), named, field("Files", choose)), log);
  const over = (on) => (event) => { event.preventDefault(); drop.classList.toggle("over", on); };
  drop.addEventListener("dragover", over(true));
  drop.addEventListener("dragleave", over(false));
  drop.addEventListener("drop", (event) => { over(false)(event); send([...event.dataTransfer.files]); });
  return drop;
}

async function queue(collection, file, tasks) {
  await post(`/collections/${part(collection)}/documents/import`, file, { type: "application/x-ndjson" });
  await tasks.show();
}

async function upload(collection, file, log) {
  const items = documentsOf(file.name, await file.text());
  const counts = { indexed: 0, unchanged: 0 };
  const errors = items.filter((item) => item.error);
  const good = items.filter((item) => !item.error);
  const bar = el("progress", { max: Math.max(1, good.length), value: 0, "aria-label": `Progress of ${file.name}` });
  const summary = el("p", {}, file.name);
  const place = el("div");
  log.append(summary, bar, place);
  for (const batch of batches(good)) {
    const body = batch.map((item) => item.body).join("\n");
    const answer = await post(`/collections/${part(collection)}/documents`, body, { type: "application/x-ndjson" });
    for (const result of await finished(answer)) {
      if (result.status === "failed") errors.push({ line: batch[result.place].line, error: result.error.detail });
      else counts[result.status]++;
    }
    bar.value += batch.length;
    summary.textContent = `${file.name}: ${counts.indexed} indexed, ${counts.unchanged} unchanged, ${errors.length} failed`;
  }
  summary.textContent = `${file.name}: ${counts.indexed} indexed, ${counts.unchanged} unchanged, ${errors.length} failed`;
  if (errors.length) place.replaceChildren(table(["Line", "Why"], errors.sort((a, b) => a.line - b.line).map((one) => [String(one.line), one.error]), `Errors of ${file.name}`));
  say(summary.textContent);
}
