import { call, part, remove } from "./api.js";
import { el, problem, say, sureButton } from "./dom.js";
import { t } from "./words.js";

const AT_ONCE = 1_000;

// The ids that the results of a task name as written.
export async function writtenBy(task) {
  const lines = await call("GET", `/tasks/${part(task.id)}/results`, { reader: (response) => response.text() });
  const results = lines.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  return [...new Set(results.filter((one) => one.status === "indexed").map((one) => one.id))];
}

// Takes an upload back: a button that removes the documents which it wrote; `ids` reads which.
export function undoButton(collection, file, count, ids, ondone) {
  const place = el("span");
  const undo = async () => {
    place.querySelector("button").disabled = true;
    try {
      const own = await ids();
      for (let at = 0; at < own.length; at += AT_ONCE) await remove(`/collections/${part(collection)}/documents`, { ids: own.slice(at, at + AT_ONCE) });
      const done = t("undone", { file, count: own.length });
      place.replaceChildren(done);
      say(done);
      await ondone();
    } catch (error) { place.replaceChildren(problem(error)); }
  };
  place.append(sureButton(t("undo"), t("undo_sure", { count }), undo), el("span", { class: "meta" }, ` ${t("undo_hint")}`));
  return place;
}
