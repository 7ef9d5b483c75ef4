import { call, get, part } from "./api.js";
import { el, problem, say, when } from "./dom.js";
import { t } from "./words.js";

// The calibrations of a collection. Another one changes all scores, so the view begins again.
export class Calibrations {
  constructor(collection, again) {
    Object.assign(this, { again, root: `/admin/collections/${part(collection)}/calibrations` });
    this.list = el("div");
    this.element = el("section", { class: "panel", "aria-label": t("calibrations") }, el("h2", {}, t("calibrations")),
      el("p", { class: "muted" }, t("calibrations_hint")), this.list);
  }

  async show() {
    try {
      const { calibrations } = await get(this.root);
      const own = calibrations.filter((one) => one.mode === "best_span");
      this.list.replaceChildren(...(own.length ? own.map((one) => this.row(one))
        : [el("p", { class: "muted" }, t("no_calibrations"))]));
    } catch (error) { this.list.replaceChildren(problem(error)); }
  }

  row(one) {
    const action = one.active ? "deactivate" : "activate";
    const words = [one.note || one.method, t("label_count", { count: one.labels }), when(one.created_at), t(one.active ? "active" : "not_active")];
    return el("article", { class: "row actions" }, el("span", { class: "grow" }, words.join(" · ")),
      el("button", { type: "button", class: "plain", onclick: () => this.change(one, action) }, t(action)));
  }

  async change(one, action) {
    try {
      await call("POST", `${this.root}/${part(one.id)}/${action}`);
      await this.again();
      say(t(`${action}d`));
    } catch (error) { this.list.append(problem(error)); }
  }
}
