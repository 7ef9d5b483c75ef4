import { get, may, part, put, remove } from "./api.js";
import { address, chooseCollection } from "./collections.js";
import { el, field, fieldProblem, problem, say, size, sureButton, table } from "./dom.js";
import { sampleOffer } from "./empty.js";
import { Matches } from "./matches.js";
import { collectionName } from "./names.js";
import { Snapshots } from "./snapshots.js";
import { state, update } from "./state.js";
import { Tasks } from "./tasks.js";
import { uploadForm } from "./upload.js";
import { t } from "./words.js";

export async function dataView(main) {
  const { collections } = await get("/collections");
  await chooseCollection(collections);
  const [mayAdd, mayRule] = await Promise.all([may("index", state.c), may("admin", state.c)]);
  const overview = el("section", { class: "panel" }), below = el("div");
  const again = () => dataView(main);
  const changed = async () => { show(overview, (await get("/collections")).collections, mayRule, again); };
  const panels = new Panels(below, changed, mayAdd, mayRule);
  show(overview, collections, mayRule, again);
  main.replaceChildren(el("h1", {}, t(collections.length ? "your_data" : "first_documents")), overview,
    ...(mayAdd ? [uploadForm(collections, panels, changed)] : []), ...(collections.length ? [] : [sampleOffer()]), below);
  if (state.c) await panels.follow(state.c);
}

// The tasks, snapshots and matches of one collection, of which a key sees what it may.
class Panels {
  constructor(place, changed, mayAdd, mayRule) { Object.assign(this, { place, changed, mayAdd, mayRule }); }

  async follow(collection) {
    if (collection === this.collection) return;
    this.collection = collection;
    this.tasks = new Tasks(collection);
    const panels = [...(this.mayAdd ? [this.tasks] : []), ...(this.mayRule ? [new Snapshots(collection, this.tasks, this.changed)] : []), new Matches(collection)];
    this.place.replaceChildren(...panels.map((one) => one.element));
    await Promise.all(panels.map((one) => one.show()));
  }
}

function show(overview, collections, mayRule, again) {
  overview.hidden = !collections.length;
  const headings = ["name", "documents", "passages", "on_disk", "encoder", "holds", ...(mayRule ? ["actions"] : [])];
  overview.replaceChildren(el("h2", {}, t("collections")), table(headings.map((name) => t(name)), collections.map((one) => [
    el("a", { href: address(one.name, "") }, one.name), one.documents.toLocaleString(), one.units.toLocaleString(), one.bytes === undefined ? "" : size(one.bytes), one.encoder,
    el("span", { class: "short" }, holds(one)), ...(mayRule ? [actions(one.name, again)] : [])]), t("collections")));
}

// What searches can read besides units.
const holds = ({ representations, store_text: isStored }) => [t(isStored === false ? "without_texts" : "with_texts"), ...representations.filter((name) => name !== "units")].join(", ");

// Another name, and deletion. Names of collections are fixed; an alias is another one.
function actions(name, again) {
  const place = el("div", { class: "row tight" });
  const input = el("input", { id: `alias-${name}`, maxlength: "200" });
  const act = async (change, done) => {
    try { await change(); say(done()); await again(); } catch (error) { place.append(problem(error)); }
  };
  const drop = () => act(async () => {
    await remove(`/collections/${part(name)}`);
    if (state.c === name) update({ c: "" });
  }, () => t("deleted", { name }));
  const rename = async (event) => {
    event.preventDefault();
    const alias = collectionName(input.value);
    if (!alias) { fieldProblem(input, { message: t("alias_empty") }); return; }
    input.value = alias;
    try { await put(`/aliases/${part(input.value)}`, { collection: name }); } catch (error) { fieldProblem(input, error); return; }
    const done = t("alias_set", { name, alias: input.value });
    say(done);
    form.replaceChildren(el("p", {}, done));
  };
  const form = el("form", { onsubmit: rename }, el("p", { class: "meta" }, t("alias_hint")), field(t("alias_name"), input), el("p", { class: "actions" }, el("button", { type: "submit" }, t("save"))));
  input.required = true;
  place.append(el("details", {}, el("summary", {}, t("alias")), form), sureButton(t("delete"), t("delete_for_good"), drop));
  return place;
}
