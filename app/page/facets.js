import { post } from "./api.js";
import { el, field, problem, table } from "./dom.js";
import { currentLanguage, t } from "./words.js";

const MOST_COMPARED = 10_000;
const MOST_CHOSEN = 100;

// Two texts beside each other, and a text in few of its sentences.
export async function textsView(main) {
  main.replaceChildren(el("h1", {}, t("texts_title")), comparison(), summary());
}

const area = (rows, most) => el("textarea", { rows, required: true, ...(most && { maxlength: String(most) }) });

// A panel with a form, whose answer stands below it.
export function asking(title, hint, fields, label, ask) {
  const place = el("div", { role: "status" });
  const button = el("button", { type: "submit" }, label);
  const submit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    place.setAttribute("aria-busy", "true");
    try { place.replaceChildren(...await ask()); } catch (error) { place.replaceChildren(problem(error)); }
    place.removeAttribute("aria-busy");
    button.disabled = false;
  };
  return el("section", { class: "panel", "aria-label": title }, el("h2", {}, title), el("p", { class: "muted prose" }, hint),
    el("form", { onsubmit: submit }, fields, el("p", { class: "actions" }, button)), place);
}

function comparison() {
  const first = area("3", MOST_COMPARED), second = area("3", MOST_COMPARED);
  return asking(t("compare"), t("compare_hint"), el("div", { class: "pair" }, field(t("first_text"), first), field(t("second_text"), second)), t("compare"),
    async () => compared(await post("/compare", { first: first.value, second: second.value })));
}

function compared({ similarities, facets, direction }) {
  const rows = similarities.map(({ mode, score, error }) => [t(`mode_${mode}`), error ? error.detail : number(score)]);
  const words = (own) => el("ul", {}, own.map((facet) => el("li", {}, facet.words.join(", "))));
  return [table([t("mode"), t("score")], rows, t("compare")),
    ...(direction ? [el("p", { class: "actions" }, t(`more_general_${direction.more_general || "none"}`))] : []),
    ...(facets ? [el("h3", { class: "section" }, t("facets")), el("p", { class: "meta" }, t("facets_hint")), el("div", { class: "pair" }, side("first_text", words(facets.first)), side("second_text", words(facets.second)))]
      : [el("p", { class: "muted" }, t("no_facets"))])];
}

const side = (name, words) => el("div", {}, el("p", { class: "meta" }, t(name)), words);
const number = (score) => (score === undefined || score === null ? "" : score.toLocaleString(currentLanguage(), { minimumFractionDigits: 2, maximumFractionDigits: 2 }));

function summary() {
  const text = area("8");
  const count = el("input", { type: "number", min: "1", max: String(MOST_CHOSEN), value: "3", required: true });
  return asking(t("summarize"), t("summarize_hint"), [field(t("long_text"), text), el("div", { class: "options" }, field(t("how_many"), count))], t("summarize"), async () => {
    const answer = await post("/summarize", { texts: [text.value], sentences: Number(count.value) });
    return [el("p", { class: "meta" }, t("chosen_of", { chosen: answer.sentences.length, count: answer.of })), ...answer.sentences.map((one) => el("p", { class: "prose" }, one.text))];
  });
}
