import { csv, download, el, table } from "./dom.js";
import { filtersOf } from "./filters.js";
import { ThresholdSlider, fromOn } from "./histogram.js";
import { preview, start } from "./preview.js";
import { state, update } from "./state.js";
import { currentLanguage, t } from "./words.js";

const HEADINGS = ["phrase", "spans", "documents"];
// The most phrases of one request.
const BATCH = 100;

// The exact counts of several phrases at one threshold, as a table and as CSV. A phrase leads to its own hits.
export async function showTable(results, signal) {
  const phrases = [...new Set(state.q.split("\n").map((line) => line.trim()).filter(Boolean))];
  const counted = await counts(phrases, signal, results);
  const total = counted.reduce((bars, one) => bars.map((bar, index) => bar + one.histogram[index]), new Array(100).fill(0));
  const rows = (threshold) => counted.map((one) => {
    const index = Math.round(threshold * 100);
    return [one.phrase, one.spans_above?.[index] ?? "", one.documents_above[index]];
  });
  const linked = (phrase) => el("a", { href: `./?${new URLSearchParams(Object.entries({ ...state, q: phrase, many: "" }).filter(([, value]) => value))}` }, phrase);
  const headings = HEADINGS.map((name) => t(name)), place = el("div", { class: "panel" });
  const slider = new ThresholdSlider(state.t || start(counted), (value) => fromOn(t("phrase_count", { count: phrases.length }), value), show);
  function show(value) {
    update({ t: String(value) });
    place.replaceChildren(table(headings, rows(value).map(([phrase, ...cells]) => [linked(phrase), ...cells.map((cell) => cell.toLocaleString(currentLanguage()))]), t("phrase_counts")));
  }
  const save = () => download("phrases.csv", csv([headings, ...rows(slider.value)]), "text/csv");
  slider.show(total);
  show(slider.value);
  results.replaceChildren(el("div", { class: "columns many" }, el("section", { class: "panel threshold" }, slider.element), place),
    el("p", { class: "actions" }, el("button", { type: "button", class: "plain", onclick: save }, t("export_csv"))));
}

async function counts(phrases, signal, results) {
  const counted = [];
  const body = { ...(state.f && { filter: filtersOf() }), ...(state.b && { spans: { boundaries: state.b } }), ...(state.rank && { ranking: state.rank }) };
  for (let start = 0; start < phrases.length; start += BATCH) {
    if (start) results.replaceChildren(el("progress", { max: phrases.length, value: start, "aria-label": t("phrases_counted") }));
    counted.push(...(await preview(state.c, phrases.slice(start, start + BATCH), state.mode || "best_span", { signal, body })).phrases);
  }
  return counted;
}
