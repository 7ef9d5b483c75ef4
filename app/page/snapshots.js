import { ApiError, call, get, part, post } from "./api.js";
import { el, field, problem, say, size, sureButton, when } from "./dom.js";
import { follow, hasEnded } from "./tasks.js";
import { t } from "./words.js";

// The snapshots of a collection: made and restored by tasks, downloaded and deleted.
export class Snapshots {
  constructor(collection, tasks, changed) {
    Object.assign(this, { collection, tasks, changed });
    this.root = `/admin/collections/${part(collection)}/snapshots`;
    this.list = el("div");
    this.element = el("section", { class: "panel", "aria-label": t("snapshots") }, el("h2", {}, t("snapshots_of", { name: collection })),
      el("p", { class: "muted" }, t("snapshots_hint")),
      el("button", { type: "button", class: "plain actions", onclick: () => this.run(post(`${this.root}?wait=0`, undefined), "snapshot_made") }, t("make_snapshot")), this.list);
  }

  async show() {
    try {
      const { snapshots } = await get(this.root);
      this.list.replaceChildren(...(snapshots.length ? snapshots.map((one) => this.row(one)) : [el("p", { class: "muted" }, t("none_yet"))]));
    } catch (error) { this.list.replaceChildren(problem(error)); }
  }

  row(one) {
    const label = [when(one.created_at), t("document_count", { count: one.documents }), size(one.bytes)].join(" · ");
    const name = el("input", { value: `${one.collection}-restored`, maxlength: "63" });
    const restore = () => this.run(post(`${this.root}/${one.id}/restore`, { name: name.value.trim() }), "snapshot_restored");
    const remove = sureButton(t("delete"), t("delete_for_good"), () => this.change(call("DELETE", `${this.root}/${one.id}`)));
    return el("article", { class: "entry" }, el("div", { class: "row" }, el("span", { class: "grow" }, label),
      el("button", { type: "button", class: "plain", onclick: () => this.save(one) }, t("download")), remove),
    el("details", {}, el("summary", {}, t("restore_as")),
      el("div", { class: "options" }, field(t("its_name"), name), el("button", { type: "button", onclick: restore }, t("restore")))));
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
      while (!hasEnded(task)) task = await follow(task, 5);
      await Promise.all([this.tasks.show(), this.show(), this.changed()]);
      if (task.status !== "done") throw new ApiError(0, { detail: task.error?.detail || t("snapshot_failed"), hint: task.error?.hint });
      say(t(done));
    } catch (error) { this.list.append(problem(error)); }
  }

  async change(answer) {
    try { await answer; } catch (error) { this.list.append(problem(error)); return; }
    await this.show();
  }
}
