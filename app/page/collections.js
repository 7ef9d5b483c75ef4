import { get, part } from "./api.js";
import { el } from "./dom.js";
import { state, update } from "./state.js";
import { t } from "./words.js";

// The address names no collection that is there; `known` are those that are.
export class MissingCollection extends Error {
  constructor(name, known) { super(t("missing", { name })); Object.assign(this, { known }); }
}

// Puts a collection into an address that names none; another name becomes the collection's own. One that is not there is
// said to be missing: the hits of another one would be taken for its own.
export async function chooseCollection(collections) {
  const isThere = (name) => collections.some((one) => one.name === name);
  if (!state.c) update({ c: (collections.find((one) => one.documents) || collections[0])?.name || "" });
  if (!state.c || isThere(state.c)) return;
  const { aliases } = await get("/aliases");
  const named = aliases.find((one) => one.name === state.c)?.collection;
  if (!isThere(named)) throw new MissingCollection(state.c, collections);
  update({ c: named });
}

export function missing(error) {
  return el("section", { class: "panel problem", role: "alert" }, el("h2", {}, error.message), el("p", { class: "muted" }, t("missing_hint")),
    el("ul", {}, error.known.map((one) => el("li", {}, el("a", { href: address(one.name) }, one.name)))));
}

// The view that is shown, of another collection.
export const address = (name, view = state.view) => `./?${view ? `view=${view}&` : ""}c=${part(name)}`;
