import { get, part } from "./api.js";
import { el, problem } from "./dom.js";
import { state, update } from "./state.js";

const SOME = 12;
const ALL = 1000;

export const filtersOf = () => JSON.parse(state.f || "{}");
const shown = (value) => (typeof value === "object" ? JSON.stringify(value) : String(value));
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

// The metadata of the collection with exact counts of documents; pressing a value filters the whole search by it.
export function filterPanel(again) {
  const place = el("div");
  const active = Object.values(filtersOf()).flatMap((fields) => Object.entries(fields));
  const words = active.map(([name, value]) => `${name} ${shown(value)}`).join(", ");
  const panel = el("details", { class: "panel" }, el("summary", {}, words ? `Filtered by ${words}` : "Filter by metadata"), place);
  panel.addEventListener("toggle", () => { if (panel.open && !place.firstChild) load(place, SOME, again); });
  panel.open = Boolean(state.f);
  return panel;
}

async function load(place, limit, again) {
  place.replaceChildren(el("p", { class: "muted" }, "Loading"));
  try {
    const query = new URLSearchParams({ limit: String(limit), ...(state.f && { filter: state.f }) });
    const { fields } = await get(`/collections/${part(state.c)}/metadata?${query}`);
    place.replaceChildren(...(fields.length ? [el("p", { class: "meta" }, "With the number of documents that have each value and pass the other filters."),
      ...fields.map((field) => row(field, again, () => load(place, ALL, again))), clear(again)]
      : [el("p", { class: "muted" }, "The documents of this collection have no metadata.")]));
  } catch (error) { place.replaceChildren(problem(error)); }
}

function row({ level, name, distinct, values }, again, all) {
  const chosen = filtersOf()[level]?.[name];
  const label = level === "part" ? `${name} (of parts)` : name;
  return el("div", { class: "row values", role: "group", "aria-label": label }, el("span", { class: "meta" }, label),
    values.map(({ value, documents }) => el("button", {
      class: "chip", type: "button", "aria-pressed": String(same(chosen, value)), onclick: () => press(level, name, value, again),
    }, `${shown(value)} (${documents.toLocaleString()})`)),
    distinct > values.length ? (values.length < ALL ? el("button", { class: "quiet", type: "button", onclick: all }, `All ${distinct.toLocaleString()}`)
      : el("span", { class: "meta" }, `of ${distinct.toLocaleString()} values`)) : null);
}

const clear = (again) => (state.f ? el("button", { class: "quiet", type: "button", onclick: () => { update({ f: "" }, true); again(); } }, "Clear filters") : "");

function press(level, name, value, again) {
  const next = filtersOf();
  next[level] = { ...next[level] };
  if (same(next[level][name], value)) delete next[level][name]; else next[level][name] = value;
  if (!Object.keys(next[level]).length) delete next[level];
  update({ f: Object.keys(next).length ? JSON.stringify(next) : "" }, true);
  again();
}
