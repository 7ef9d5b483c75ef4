import { call, get, part } from "./api.js";
import { el, problem, say, when } from "./dom.js";

// The calibrations of a collection. Another one changes all scores, so the view begins again.
export class Calibrations {
  constructor(collection, again) {
    Object.assign(this, { again, root: `/admin/collections/${part(collection)}/calibrations` });
    this.list = el("div");
    this.element = el("section", { class: "panel", "aria-label": "Calibrations" }, el("h2", {}, "Calibrations"),
      el("p", { class: "muted" }, "A calibration says which score a similarity has. It changes scores, never their order; thresholds still find the same hits."), this.list);
  }

  async show() {
    try {
      const { calibrations } = await get(this.root);
      const own = calibrations.filter((one) => one.mode === "best_span");
      this.list.replaceChildren(...(own.length ? own.map((one) => this.row(one))
        : [el("p", { class: "muted" }, "None yet. Label at least 20 examples and fit one; until then, a score is the similarity.")]));
    } catch (error) { this.list.replaceChildren(problem(error)); }
  }

  row(one) {
    const action = one.active ? "deactivate" : "activate";
    const words = [one.note || one.method, `${one.labels.toLocaleString()} labels`, when(one.created_at), one.active ? "active" : "not active"];
    return el("article", { class: "row actions" }, el("span", { class: "grow" }, words.join(" · ")),
      el("button", { type: "button", class: "plain", onclick: () => this.change(one, action) }, one.active ? "Deactivate" : "Activate"));
  }

  async change(one, action) {
    try {
      await call("POST", `${this.root}/${part(one.id)}/${action}`);
      await this.again();
      say(`The calibration was ${action}d.`);
    } catch (error) { this.list.append(problem(error)); }
  }
}
