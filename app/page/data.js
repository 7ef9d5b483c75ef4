import { get, part } from "./api.js";
import { el, size, table } from "./dom.js";
import { Matches } from "./matches.js";
import { Snapshots } from "./snapshots.js";
import { state, update } from "./state.js";
import { Tasks } from "./tasks.js";
import { uploadForm } from "./upload.js";

export async function dataView(main) {
  const { collections } = await get("/collections");
  if (!collections.some((one) => one.name === state.c)) update({ c: collections[0]?.name || "" });
  const overview = el("section", { class: "panel" }), below = el("div");
  const changed = async () => { show(overview, (await get("/collections")).collections); };
  const panels = new Panels(below, changed);
  show(overview, collections);
  main.replaceChildren(el("h1", {}, collections.length ? "Your data" : "Add your first documents"), overview,
    uploadForm(collections, panels, changed), below);
  if (state.c) await panels.follow(state.c);
}

// The tasks, snapshots and matches of one collection.
class Panels {
  constructor(place, changed) { Object.assign(this, { place, changed }); }

  async follow(collection) {
    if (collection === this.collection) return;
    this.collection = collection;
    this.tasks = new Tasks(collection);
    const panels = [this.tasks, new Snapshots(collection, this.tasks, this.changed), new Matches(collection)];
    this.place.replaceChildren(...panels.map((one) => one.element));
    await Promise.all(panels.map((one) => one.show()));
  }
}

function show(overview, collections) {
  overview.hidden = !collections.length;
  overview.replaceChildren(el("h2", {}, "Collections"), table(["Name", "Documents", "Units", "On disk", "Encoder", "Holds"], collections.map((one) => [
    el("a", { href: `./?c=${part(one.name)}` }, one.name), one.documents.toLocaleString(), one.units.toLocaleString(), one.bytes === undefined ? "" : size(one.bytes), one.encoder, el("span", { class: "short" }, holds(one))]), "Collections"));
}

// What searches can read besides units.
const holds = ({ representations, store_text: isStored }) => [isStored === false ? "no texts" : "texts", ...representations.filter((name) => name !== "units")].join(", ");
