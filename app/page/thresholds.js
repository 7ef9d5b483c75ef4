import { call, get, part, post, put } from "./api.js";
import { Calibrations } from "./calibrations.js";
import { chooseCollection } from "./collections.js";
import { el, field, problem, say, select, sureButton, table, when } from "./dom.js";
import { emptyView } from "./empty.js";
import { ThresholdSlider, counted } from "./histogram.js";
import { Labelling } from "./labelling.js";
import { preview, start } from "./preview.js";
import { state, update } from "./state.js";
import { t } from "./words.js";

let keys = new AbortController();
export const closeThresholds = () => keys.abort();

export async function thresholdsView(main) {
  const { collections } = await get("/collections");
  if (!collections.length) {
    emptyView(main);
    return;
  }
  await chooseCollection(collections);
  const { phrases } = await get(`/collections/${part(state.c)}/phrases?limit=1000`);
  const saved = phrases.find((one) => one.name === state.p) || phrases[0];
  const work = el("div");
  const again = () => thresholdsView(main);
  const choice = (label, names, value, changes) => field(label, select(names.map((name) => [name, name]), value, (name) => { update(changes(name), true); again(); }));
  main.replaceChildren(el("h1", {}, t("good_enough")),
    el("div", { class: "panel tuner" },
      choice(t("collection"), collections.map((one) => one.name), state.c, (name) => ({ c: name, p: "" })),
      saved ? choice(t("saved_phrase"), phrases.map((one) => one.name), saved.name, (name) => ({ p: name })) : null, newPhrase(again)), work);
  if (saved) await tune(saved, work, again);
  else work.replaceChildren(el("p", { class: "muted" }, t("save_a_phrase")));
}

function newPhrase(again) {
  const input = el("input", { required: true, maxlength: "200", placeholder: t("phrase_example") });
  const result = el("div");
  return el("form", { onsubmit: async (event) => {
    event.preventDefault();
    try {
      const phrase = await post(`/collections/${part(state.c)}/phrases`, { text: input.value.trim() });
      update({ p: phrase.name }, true);
      await again();
    } catch (error) { result.replaceChildren(problem(error)); }
  } }, el("div", { class: "row inline" }, field(t("new_phrase"), input), el("button", { class: "plain" }, t("save_phrase"))), result);
}

async function tune(phrase, work, again) {
  keys.abort();
  keys = new AbortController();
  work.replaceChildren(el("p", { class: "muted" }, t("counting")));
  let counts;
  try { [counts] = (await preview(state.c, [phrase.text], "best_span", { signal: keys.signal })).phrases; } catch (error) {
    if (error.name !== "AbortError") work.replaceChildren(problem(error));
    return;
  }
  const labelling = new Labelling(state.c, phrase, () => slider.value, (value) => { slider.set(value); labelling.draw(); });
  const slider = new ThresholdSlider(phrase.applies.value ?? start([counts]), (value) => counted(counts, value), () => labelling.draw());
  labelling.onlabel = (all) => slider.mark(all);
  slider.show(counts.histogram);
  const calibrations = new Calibrations(state.c, again);
  labelling.onfit = () => calibrations.show();
  const levels = new Levels(state.c, phrase, () => slider.value);
  const own = `/collections/${part(state.c)}/phrases/${part(phrase.name)}`;
  const remove = sureButton(t("delete_phrase"), t("delete_for_good"), async () => {
    try { await call("DELETE", own); update({ p: "" }); await again(); } catch (error) { levels.refusal.replaceChildren(problem(error)); }
  });
  const hits = `./?${new URLSearchParams({ c: state.c, q: phrase.text })}`;
  work.replaceChildren(el("section", { class: "panel" }, el("div", { class: "row head" }, el("h2", { class: "grow" }, phrase.text), el("a", { href: hits }, t("see_hits")), remove),
    slider.element, levels.element), labelling.element, calibrations.element);
  document.addEventListener("keydown", (event) => labelling.key(event), { signal: keys.signal });
  await Promise.all([levels.show(), calibrations.show(), labelling.resume()]);
}

// The thresholds of a phrase and of its collection: saved, undone where there is something to undo, and their latest changes.
class Levels {
  constructor(collection, phrase, threshold) {
    this.own = `/collections/${part(collection)}/phrases/${part(phrase.name)}/threshold`;
    this.common = `/admin/collections/${part(collection)}/thresholds`;
    this.refusal = el("div");
    this.history = el("div");
    const button = (name, kind, action) => el("button", { type: "button", class: kind, onclick: () => this.change(action) }, t(name));
    this.undos = [this.own, this.common].map((base, at) => button(["undo_phrase", "undo_collection"][at], "quiet", () => call("POST", `${base}/undo`)));
    for (const undo of this.undos) undo.hidden = true;
    this.element = el("div", {}, el("div", { class: "row actions" },
      button("save_for_phrase", "", () => put(this.own, { value: threshold() })), button("save_for_collection", "plain", () => put(this.common, { value: threshold() })), this.undos), this.refusal, this.history);
  }

  async change(action) {
    this.refusal.replaceChildren();
    try { await action(); say(t("saved")); await this.show(); } catch (error) { this.refusal.replaceChildren(problem(error)); }
  }

  async show() {
    const both = await Promise.all([this.own, this.common].map(async (base) => (await get(`${base}/history`)).changes));
    // Every undoing takes back one change.
    both.forEach((changes, at) => { this.undos[at].hidden = changes.reduce((left, one) => left + (one.undo ? -1 : 1), 0) <= 0; });
    const value = (threshold) => (threshold ? t("threshold_on", { value: String(threshold.value), on: threshold.on }) : t("threshold_none"));
    const rows = both.flatMap((changes, at) => changes.map((change) => [t(["this_phrase", "the_collection"][at]), change]))
      .sort(([, one], [, other]) => Date.parse(other.at) - Date.parse(one.at)).slice(0, 10);
    const headings = [t("when"), t("threshold_whose"), t("from"), t("to"), ""];
    this.history.replaceChildren(rows.length ? table(headings, rows.map(([of, change]) => [
      when(change.at), of, value(change.from), value(change.to), change.undo ? t("undo_note") : change.note || ""]), t("latest_changes"))
      : el("p", { class: "meta" }, t("no_threshold")));
  }
}
