import { get } from "./api.js";
import { showTable } from "./counts.js";
import { el, field, problem, select } from "./dom.js";
import { FEW, MODES, ask, requestsOf, showHits } from "./results.js";
import { state, update } from "./state.js";

// A phone folds what is not needed at first.
const isWide = () => matchMedia("(min-width: 40rem)").matches;
let lists = [];
let running = new AbortController();
let keys = new AbortController();

export async function searchView(main) {
  closeView();
  keys = new AbortController();
  running = new AbortController();
  // Asked for beside the collections: most addresses name one that exists.
  const early = state.c && state.q && !state.many ? { collection: state.c, answers: ask(requestsOf(), FEW, running.signal) } : null;
  early?.answers.catch(() => {}); // said where it is awaited
  const { collections } = await get("/collections");
  if (!collections.length) {
    main.replaceChildren(el("h1", {}, "Nothing to search yet"), el("p", {}, "Add documents under ", el("a", { href: "/?view=data" }, "Data"), ", then come back."));
    return;
  }
  if (!collections.some((one) => one.name === state.c)) update({ c: collections[0].name });
  const results = el("div", { "aria-live": "off" });
  const form = queryForm(main, collections, results);
  main.replaceChildren(el("h1", {}, "Find the phrase, not the page"), form, results);
  document.addEventListener("keydown", (event) => navigate(event, form), { signal: keys.signal });
  if (state.q) await search(results, early?.collection === state.c ? early.answers : null);
  else results.replaceChildren(el("p", { class: "muted" }, "Write what you are looking for in your own words, such as “cancel my subscription”. ",
    "Then ", el("kbd", {}, "j"), " and ", el("kbd", {}, "k"), " step through the hits, ", el("kbd", {}, "Enter"), " opens one, ", el("kbd", {}, "w"), " says why, ", el("kbd", {}, "/"), " returns here."));
}

export function closeView() {
  keys.abort();
  running.abort();
  for (const list of lists) list.close();
  lists = [];
}

function navigate(event, form) {
  if (event.target.closest("input, textarea, select, dialog") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "j") lists[0]?.move(1);
  else if (event.key === "k") lists[0]?.move(-1);
  else if (event.key === "/") { event.preventDefault(); form.querySelector("#query").focus(); }
}

function queryForm(main, collections, results) {
  const tag = state.many ? "textarea" : "input";
  const query = el(tag, { id: "query", ...(state.many ? { rows: "4" } : { type: "search" }), placeholder: "cancel my subscription", autocomplete: "off", maxlength: "100000" });
  query.value = state.q || "";
  const change = (name) => (value) => { update({ [name]: value }, true); if (query.value.trim()) { update({ q: query.value }); search(results); } };
  const chosen = collections.find((one) => one.name === state.c);
  const modes = Object.entries(MODES).filter(([name]) => (name !== "maxsim" || chosen.nuggets)
    && (!["lexical", "hybrid"].includes(name) || chosen.representations.includes("words"))
    && (!["facets", "restorable"].includes(name) || chosen.representations.includes(name)));
  const mode = state.mode || "best_span";
  const many = el("button", { type: "button", class: "plain", "aria-pressed": String(Boolean(state.many)), onclick: () => {
    update({ many: state.many ? "" : "1", q: query.value.split("\n")[0] }, true); searchView(main);
  } }, "Several phrases");
  return el("form", { role: "search", onsubmit: (event) => { event.preventDefault(); update({ q: query.value.trim() }, true); search(results); } },
    el("div", { class: "query" }, field(state.many ? "Phrases, one a line" : "Phrase", query), el("button", { type: "submit" }, "Search")),
    el("details", { class: "panel", open: isWide() }, el("summary", {}, "Options"), el("div", { class: "options" },
      field("Collection", select(collections.map((one) => [one.name, `${one.name} (${one.documents.toLocaleString()})`]), state.c, (value) => { update({ c: value, f: "", mode: "", vs: "" }, true); searchView(main); })),
      field("Mode", select(modes, state.mode, change("mode"))),
      field("Ranking", select([["", "Span score"], ["cosine", "Cosine"]], state.rank, change("rank"))),
      field("Words", select([["", "Equal"], ["importance", "By importance"]], state.w, change("w"))),
      field("Boundaries", select([["", "Any span"], ["clause", "Clause"], ["sentence", "Sentence"]], state.b, change("b"))),
      field("Beside it", select([["", "Nothing"], ...modes.filter(([name]) => name !== mode)], state.vs, change("vs"))), el("div", { class: "row" }, many))));
}

// The answers of an early request are taken as they are.
async function search(results, early = null) {
  if (!early) {
    running.abort();
    running = new AbortController();
  }
  const { signal } = running;
  for (const list of lists) list.close();
  lists = [];
  if (!state.q) return;
  results.replaceChildren(el("p", { class: "muted", role: "status" }, "Searching"));
  try {
    if (state.many) await showTable(results, signal);
    else await showHits(results, signal, early, (shown) => { lists = shown; }, () => search(results));
  } catch (error) {
    if (error.name === "AbortError") return;
    results.replaceChildren(problem(error));
  }
}
