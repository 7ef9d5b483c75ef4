import { get } from "./api.js";
import { chooseCollection } from "./collections.js";
import { showTable } from "./counts.js";
import { el, field, fill, problem, select } from "./dom.js";
import { emptyView } from "./empty.js";
import { Filters } from "./filters.js";
import { closePane } from "./pane.js";
import { FEW, MODES, ask, modeName, requestsOf, showHits } from "./results.js";
import { remember, startOf } from "./start.js";
import { state, update } from "./state.js";
import { forgetDocuments } from "./texts.js";
import { currentLanguage, t } from "./words.js";

// A narrow window folds what is not needed at first.
const isWide = () => matchMedia("(min-width: 60rem)").matches;
// A search while a phrase is written: from so many characters, so long after the last one; the verdict when the writer rests.
const LEAST_TYPED = 3;
const TYPED_MS = 120;
const RESTED_MS = 600;
let columns = [];
let typing;
let running = new AbortController();
let keys = new AbortController();

export async function searchView(main, focus = "") {
  closeView();
  keys = new AbortController();
  running = new AbortController();
  // Asked for beside the collections: most addresses name one that exists.
  const early = state.c && state.q && !state.many ? { collection: state.c, answers: ask(requestsOf(), FEW, running.signal) } : null;
  early?.answers.catch(() => {}); // said where it is awaited
  const { collections } = await get("/collections");
  if (!collections.length) {
    emptyView(main);
    return;
  }
  await chooseCollection(collections);
  forgetDocuments();
  const collection = collections.find((one) => one.name === state.c);
  const view = { main, collection, results: el("div", { class: "results" }), isTyped: false };
  view.filters = new Filters(isWide(), () => search(view));
  view.query = queryBox();
  view.query.addEventListener("input", () => typed(view));
  main.replaceChildren(el("h1", { class: state.q ? "hidden" : null }, t("find_phrase")), queryForm(view, collections),
    el("div", { class: "layout" }, el("aside", { class: "side", "aria-label": t("options_filters") }, view.filters.element, options(view)), view.results));
  if (focus) main.querySelector(focus)?.focus();
  document.addEventListener("keydown", (event) => navigate(event, view.query), { signal: keys.signal });
  if (state.q) await search(view, { early: early?.collection === state.c ? early.answers : null });
  else start(view);
}

export function closeView() {
  keys.abort();
  running.abort();
  clearTimeout(typing);
  for (const column of columns) column.close();
  columns = [];
}

// What changes with the phrase. A threshold is of one phrase; a table of phrases has one for all.
function phrased(q) {
  update(); // a threshold that was moved just now stays with its own phrase
  return q === state.q || state.many ? { q } : { q, t: "", t2: "" };
}

// The best hits follow what is written. A written phrase has one place in the browser's history.
function typed(view) {
  clearTimeout(typing);
  const q = view.query.value.trim();
  if (state.many || q.length < LEAST_TYPED || q === state.q) return;
  typing = setTimeout(() => {
    update({ ...phrased(q), d: "", at: "" }, !view.isTyped);
    view.isTyped = true;
    search(view, { isDraft: true });
    typing = setTimeout(() => search(view), RESTED_MS);
  }, TYPED_MS);
}

function start({ results, filters, collection }) {
  filters.show();
  results.replaceChildren(startOf(collection));
}

function navigate(event, query) {
  if (event.target.closest("input:not([type=range]), textarea, select, dialog") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "j") columns[0]?.list.move(1);
  else if (event.key === "k") columns[0]?.list.move(-1);
  else if (event.key === "/") { event.preventDefault(); query.focus(); }
}

function queryBox() {
  const query = el(state.many ? "textarea" : "input", {
    id: "query", ...(state.many ? { rows: "4" } : { type: "search" }), placeholder: t("phrase_example"), autocomplete: "off", maxlength: "100000",
  });
  query.value = state.q || "";
  return query;
}

function queryForm(view, collections) {
  const submit = (event) => {
    event.preventDefault();
    clearTimeout(typing);
    update({ ...phrased(view.query.value.trim()), d: "", at: "" }, !view.isTyped);
    view.isTyped = false;
    if (state.q) search(view); else searchView(view.main);
  };
  const collection = select(collections.map((one) => [one.name, `${one.name} (${one.documents.toLocaleString(currentLanguage())})`]), state.c, (value) => {
    update({ q: view.query.value.trim(), c: value, f: "", mode: "", vs: "", t: "", t2: "" }, true);
    searchView(view.main, "#collection");
  });
  collection.id = "collection";
  return el("form", { class: "query", role: "search", onsubmit: submit }, field(t(state.many ? "phrases_by_line" : "phrase"), view.query),
    el("div", { class: "in" }, field(t("collection"), collection)), el("button", { type: "submit" }, t("search_now")));
}

// Modes that the collection holds what they read for, and the one of the address.
function modesOf({ nuggets, representations }) {
  return MODES.filter((name) => name === state.mode || ((name !== "maxsim" || nuggets)
    && (!["lexical", "hybrid"].includes(name) || representations.includes("words"))
    && (!["facets", "restorable"].includes(name) || representations.includes(name)))).map((name) => [name, modeName(name)]);
}

function options(view) {
  const { query, main } = view;
  const modes = modesOf(view.collection);
  const whole = (changes, focus) => { update({ ...phrased(query.value.trim()), ...changes }, true); searchView(main, focus); };
  const choose = (changes) => { update({ ...phrased(query.value.trim()), ...changes }, true); if (state.q) search(view); };
  const choice = (label, name, values, kind) => el("div", { class: kind }, field(label, select(values, state[name], (value) => choose({ [name]: value }))));
  const others = () => [["", t("compare_nothing")], ...modes.filter(([name]) => name !== (state.mode || "best_span"))];
  const compare = select(others(), state.vs, (value) => choose({ vs: value, t2: "" }));
  const mode = select(modes, state.mode || "best_span", (value) => {
    choose({ mode: value === "best_span" ? "" : value, t: "", ...(state.vs === value && { vs: "", t2: "" }) });
    fill(compare, others(), state.vs);
  });
  const many = el("button", { type: "button", class: "plain wide", "aria-pressed": String(Boolean(state.many)), onclick: () => whole({ many: state.many ? "" : "1", q: query.value.split("\n")[0].trim(), t: "", t2: "" }, "#query") }, t("several_phrases"));
  const chosen = ["mode", "vs", "b", "x"].filter((name) => state[name]).length;
  return el("details", { class: "panel", open: chosen > 0 && isWide() }, el("summary", {}, t("more_options"), chosen ? el("span", { class: "meta" }, ` ${t("chosen_count", { count: chosen })}`) : null), el("div", { class: "options" },
    el("div", { class: "wide" }, field(t("how_to_search"), mode)), state.many ? null : el("div", { class: "wide" }, field(t("compare_with"), compare)),
    choice(t("marked_what"), "b", [["", t("mark_phrase")], ["clause", t("mark_clause")], ["sentence", t("mark_sentence")]]),
    choice(t("copies"), "x", [["", t("copies_each")], ["1", t("copies_once")]]), many));
}

// The answers of an early request are taken as they are. What was shown stays until there is something new.
async function search(view, { early = null, isDraft = false } = {}) {
  const { main, results, filters } = view;
  if (!state.q) { start(view); return; }
  if (!isDraft && !state.many) remember(state.c, state.q);
  if (!early) {
    running.abort();
    running = new AbortController();
  }
  const { signal } = running;
  if (!early) closePane({ isFocused: false });
  main.querySelector("h1").className = "hidden";
  if (results.querySelector(".columns")) { if (!isDraft) results.setAttribute("aria-busy", "true"); } else results.replaceChildren(el("p", { class: "muted", role: "status" }, t("searching")));
  try {
    if (state.many) { filters.show(); await showTable(results, signal); }
    else await showHits(results, signal, { early, isDraft, narrow: (condition) => { closePane(); filters.add(condition); }, onshown: (shown) => showed(view, shown, isDraft) });
  } catch (error) {
    if (error.name === "AbortError") return;
    results.replaceChildren(problem(error));
  }
  if (!signal.aborted) results.removeAttribute("aria-busy");
}

function showed({ results, filters }, shown, isDraft) {
  for (const column of columns) column.close();
  columns = shown;
  results.removeAttribute("aria-busy");
  if (!isDraft) filters.show();
}
