import { get, part, post } from "./api.js";
import { el, problem, table, when } from "./dom.js";
import { t } from "./words.js";

const AGAIN_MS = 1000;
const ENDED = ["done", "failed", "cancelled"];
export const hasEnded = (task) => ENDED.includes(task.status);
// The server was not reached, or cannot answer at present.
const isPassing = ({ status }) => status === 0 || status === 429 || status >= 500;

// A task as it is by now. Where the answer is lost, it is asked for again later.
export async function follow(task, wait) {
  try { return await get(`/tasks/${part(task.id)}?wait=${wait}`); } catch (error) {
    if (!isPassing(error)) throw error;
    await new Promise((done) => { setTimeout(done, AGAIN_MS); });
    return task;
  }
}

// The latest tasks of a collection with their progress, read again while one of them runs.
export class Tasks {
  constructor(collection) {
    this.collection = collection;
    this.list = el("div");
    this.element = el("section", { class: "panel", "aria-label": t("tasks") }, el("h2", {}, t("tasks_of", { name: collection })), this.list);
  }

  async show() {
    clearTimeout(this.timer);
    try {
      const { tasks } = await get(`/tasks?limit=10&collection=${part(this.collection)}`);
      this.list.replaceChildren(...(tasks.length ? tasks.map((task) => this.row(task))
        : [el("p", { class: "muted" }, t("no_tasks"))]));
      if (tasks.every(hasEnded)) return;
    } catch (error) {
      this.list.replaceChildren(problem(error));
      if (!isPassing(error)) return;
    }
    this.timer = setTimeout(() => { if (this.element.isConnected) this.show(); }, AGAIN_MS);
  }

  row(task) {
    const runs = !hasEnded(task);
    const counts = Object.entries(task.counts).map(([name, count]) => `${count.toLocaleString()} ${name}`);
    const label = [`${task.kind}: ${task.status}`, ...counts, when(task.created_at)].join(" · ");
    const cancel = async () => {
      try { await post(`/tasks/${part(task.id)}/cancel`, {}); } catch (error) { this.list.append(problem(error)); return; }
      this.show();
    };
    return el("article", { class: "entry" },
      el("div", { class: "row" }, el("span", { class: "grow" }, label),
        runs ? el("button", { type: "button", class: "plain", disabled: task.cancel_requested, onclick: cancel }, t("cancel")) : null),
      runs ? el("progress", { "aria-label": t("progress_of", { name: task.kind }), ...(task.progress.total && { max: task.progress.total, value: task.progress.done }) }) : null,
      task.error ? el("p", { class: "problem" }, [task.error.detail, task.error.hint].join(" ")) : null,
      task.errors.length ? el("details", {}, el("summary", {}, t("errors_by_line")),
        table([t("line"), t("why")], task.errors.map((error) => [String(error.line), error.detail]), t("errors_of", { name: task.kind }))) : null);
  }
}
