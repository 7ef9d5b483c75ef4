import { ApiError, call, get, part, post } from "./api.js";
import { el, field, plural, problem, say, size, when } from "./dom.js";
import { hasEnded } from "./tasks.js";

// The snapshots of a collection: made and restored by tasks, downloaded and deleted.
export class Snapshots {
  constructor(collection, tasks, changed) {
    Object.assign(this, { collection, tasks, changed });
    this.root = `/admin/collections/${part(collection)}/snapshots`;
    this.list = el("div");
    this.element = el("section", { class: "panel", "aria-label": "Snapshots" }, el("h2", {}, `Snapshots of ${collection}`),
      el("p", { class: "muted" }, "One file with the collection, its thresholds and its phrases. Making one does not disturb searches."),
      el("button", { type: "button", class: "plain actions", onclick: () => this.run(post(`${this.root}?wait=0`, undefined), "made") }, "Make a snapshot"), this.list);
  }

  async show() {
    try {
      const { snapshots } = await get(this.root);
      this.list.replaceChildren(...(snapshots.length ? snapshots.map((one) => this.row(one)) : [el("p", { class: "muted" }, "None yet.")]));
    } catch (error) { this.list.replaceChildren(problem(error)); }
  }

  row(one) {
    const label = [when(one.created_at), plural(one.documents, "document"), size(one.bytes)].join(" · ");
    const name = el("input", { value: `${one.collection}-restored`, maxlength: "63" });
    const restore = () => this.run(post(`${this.root}/${one.id}/restore`, { name: name.value.trim() }), "restored");
    const remove = el("button", { type: "button", class: "plain" }, "Delete");
    remove.addEventListener("click", () => {
      if (remove.textContent === "Delete") { remove.textContent = "Delete for good"; return; }
      this.change(call("DELETE", `${this.root}/${one.id}`));
    });
    return el("article", {}, el("div", { class: "row" }, el("span", { class: "grow" }, label),
      el("button", { type: "button", class: "plain", onclick: () => this.save(one) }, "Download"), remove),
    el("details", {}, el("summary", {}, "Restore as a new collection"),
      el("div", { class: "options" }, field("Its name", name), el("button", { type: "button", onclick: restore }, "Restore"))));
  }

  // The file is fetched with the key, which a link could not send.
  async save(one) {
    try {
      const file = await call("GET", `${this.root}/${one.id}`, { reader: (response) => response.blob() });
      const url = URL.createObjectURL(file);
      el("a", { href: url, download: `${one.collection}-${one.id}.tar` }).click();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
    } catch (error) { this.list.append(problem(error)); }
  }

  async run(answer, done) {
    try {
      let task = await answer;
      this.tasks.show();
      while (!hasEnded(task)) task = await get(`/tasks/${part(task.id)}?wait=5`);
      await Promise.all([this.tasks.show(), this.show(), this.changed()]);
      if (task.status !== "done") throw new ApiError(0, { detail: task.error?.detail || `The snapshot was not ${done}.`, hint: task.error?.hint });
      say(`The snapshot was ${done}.`);
    } catch (error) { this.list.append(problem(error)); }
  }

  async change(answer) {
    try { await answer; } catch (error) { this.list.append(problem(error)); return; }
    await this.show();
  }
}
