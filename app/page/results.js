import { ApiError, post } from "./api.js";
import { Column, place } from "./column.js";
import { el } from "./dom.js";
import { filtersOf } from "./filters.js";
import { CONTEXT } from "./hit.js";
import { state, update } from "./state.js";
import { tabbed } from "./tabs.js";
import { inUnits, readDocument } from "./texts.js";
import { t } from "./words.js";

export const MODES = ["best_span", "lexical", "hybrid", "facets", "restorable", "maxsim"];
export const modeName = (mode) => t(`mode_${mode}`);
// The first request: as many as a window shows, in a fraction of the time of all.
export const FEW = 30;
const MOST = 1000;
// How many hits are read beside the phrase: at first, and where so many were likely that more may be.
const READ = 20;
const READ_MORE = 100;
// Restoring a text takes longer than reading one.
const MOST_RESTORED = 100;

// A request for each mode of the address. Without a threshold in the address the collection's applies, if it has one.
export function requestsOf() {
  return [...new Set([state.mode || "best_span", ...(state.vs ? [state.vs] : [])])].map((mode, column) => {
    const request = { collection: state.c, text: state.q, mode, offset_unit: "utf16" };
    if (state[place(column)]) request.threshold = 0;
    if (mode !== "maxsim") request.context = CONTEXT;
    if (state.rank && mode === "best_span") request.ranking = state.rank;
    if (state.b && mode !== "maxsim") request.spans = { boundaries: state.b };
    if (state.x) request.collapse = "text";
    if (state.f) request.filter = filtersOf();
    return request;
  });
}

// The answer of each request.
export async function ask(requests, top_k, signal, verify = READ) {
  const queries = requests.map((request) => ({ ...request, top_k, verify }));
  try {
    const answers = queries.length === 1 ? [await post("/search", queries[0], { signal })]
      : (await post("/search/batch", { queries }, { signal })).results;
    const failed = answers.find((answer) => answer.error);
    if (failed) throw new ApiError(0, failed.error);
    return answers;
  } catch (error) {
    // A collection without texts counts code points alone.
    if (error.code !== "text_not_stored" || queries[0].offset_unit === "codepoint") throw error;
    return ask(requests.map((request) => ({ ...request, offset_unit: "codepoint" })), top_k, signal, verify);
  }
}

// The best hits at once, then all, then the exact counts. A draft, of a phrase that is being written, is the best hits alone,
// which nothing has read yet.
export async function showHits(results, signal, { early, isDraft = false, onshown, narrow }) {
  const requests = requestsOf();
  const answers = await (early || ask(requests, FEW, signal, isDraft ? 0 : READ));
  const options = { isNamed: requests.length > 1, isDraft, narrow, few: FEW };
  const columns = requests.map((request, index) => new Column(request, modeName(request.mode), answers[index], index, options));
  results.replaceChildren(columns.length > 1 ? tabbed(columns.map((one) => [modeName(one.request.mode), one.element]))
    : el("div", { class: "columns" }, columns[0].element));
  for (const column of columns) column.apply();
  onshown(columns);
  if (isDraft) return;
  await reopen(columns, signal);
  const isRead = columns.every((one) => one.verified?.complete !== false);
  if (!isRead || !columns.every((one) => one.isWhole)) {
    const most = columns[0].isRestored ? MOST_RESTORED : MOST;
    try {
      const all = await ask(columns.map((one) => one.request), most, signal, isRead ? READ : READ_MORE);
      columns.forEach((one, index) => one.fill(all[index]));
    } catch (error) {
      if (error.name === "AbortError") throw error;
      for (const column of columns) column.failed(error);
      return;
    }
  }
  await Promise.all(columns.map((one) => one.ask(signal)));
}

// The document that the address names, at the hit that it names. A match (`u=cp`) counts code points, as restored texts do.
async function reopen(columns, signal) {
  if (!state.d) return;
  if (state.u) {
    const { d: id, at } = state;
    const place = columns[0].isRestored ? at : await readDocument(state.c, id).then((document) => inUnits(document, Number(at)), () => at);
    if (signal.aborted || state.d !== id) return;
    update({ at: String(place), u: "" });
  }
  const isMeant = (hit) => hit.document_id === state.d && String(hit.start) === state.at;
  const column = columns.find((one) => one.hits.some(isMeant)) || columns[0];
  column.open(column.hits.find(isMeant) || { document_id: state.d, start: Number(state.at), mode: column.request.mode });
}
