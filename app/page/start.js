import { get, part } from "./api.js";
import { el, keyed } from "./dom.js";
import { state } from "./state.js";
import { currentLanguage, t } from "./words.js";

// What the sample corpus answers well.
const EXAMPLES = ["I never received my package", "cancel my subscription", "the rent may increase but never decrease", "the app crashes when I save"];
// Searches of this tab, which are forgotten with it.
const RECENT = "spanseek-recent";
const MOST = 8;
const kept = () => JSON.parse(sessionStorage.getItem(RECENT) || "[]");

export function remember(c, q) {
  const others = kept().filter((one) => one.c !== c || one.q !== q);
  sessionStorage.setItem(RECENT, JSON.stringify([{ c, q }, ...others].slice(0, MOST)));
}

// What is there to search, and phrases to begin with: examples, those searched last, and those that are saved.
export function startOf({ name, documents, units }) {
  const count = (value) => value.toLocaleString(currentLanguage());
  const saved = el("div");
  get(`/collections/${part(name)}/phrases?limit=${MOST}`).then(({ phrases }) => saved.replaceChildren(...chips("saved_phrases", phrases.map((one) => one.text))), () => {}); // a key may not see them
  return el("div", { class: "start" }, el("p", { class: "quote" }, t("corpus_size", { name, documents: count(documents), passages: count(units) })),
    el("p", { class: "prose" }, t("search_start")), name === "sample" ? chips("for_example", EXAMPLES) : null,
    chips("searched_last", kept().filter((one) => one.c === name).map((one) => one.q)), saved, el("p", { class: "muted keys" }, keyed(t("keys_hint"))));
}

const chips = (title, texts) => (texts.length ? [el("h2", { class: "section" }, t(title)),
  el("p", { class: "row" }, texts.map((text) => el("a", { class: "chip", href: `./?${new URLSearchParams({ c: state.c, q: text })}` }, text)))] : []);
