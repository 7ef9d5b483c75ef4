import { get, part } from "./api.js";
import { el, field, problem } from "./dom.js";
import { state, update } from "./state.js";
import { currentLanguage, t } from "./words.js";

const SOME = 5;
const ALL = 1000;

// A link may hold anything; what is wrong with it is said where the server has read it.
export function filtersOf() {
  try { return { ...JSON.parse(state.f || "{}") }; } catch { return {}; }
}
const shown = (value) => (typeof value === "object" ? JSON.stringify(value) : String(value));
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

// Tab reaches one value of a key; arrows go to the others.
const reach = (buttons, current) => buttons.forEach((one) => { one.tabIndex = one === current ? 0 : -1; });

function step(event) {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by) return;
  event.preventDefault();
  const buttons = [...event.currentTarget.querySelectorAll("button")];
  const next = buttons[buttons.indexOf(document.activeElement) + by];
  if (!next) return;
  reach(buttons, next);
  next.focus();
}

// The metadata of the collection with exact counts of documents; pressing a value filters the whole search by it.
export class Filters {
  constructor(isOpen, again) {
    this.again = again;
    this.whole = new Set();
    this.summary = el("summary");
    this.place = el("div");
    this.wrong = el("p", { class: "problem", id: "filter-wrong", role: "alert", hidden: true });
    this.input = el("input", { id: "filter-expression", "aria-describedby": "filter-wrong", autocomplete: "off", spellcheck: "false",
      value: filtersOf().expression || "", placeholder: 'duration >= 600 and not team = "B"', onchange: () => this.write() });
    this.element = el("details", { class: "panel" }, this.summary, field(t("condition"), this.input), this.wrong, this.place);
    this.element.open = isOpen || Boolean(state.f);
    this.element.addEventListener("toggle", () => { if (this.element.open && !this.fields) this.show(); });
    this.name();
  }

  name() {
    const { expression, ...levels } = filtersOf();
    const active = Object.values(levels).flatMap((fields) => Object.entries(fields ?? {})).map(([name, value]) => `${name} ${shown(value)}`);
    if (expression) active.push(expression);
    this.summary.textContent = active.length ? t("filtered_by", { what: active.join(", ") }) : t("filter_by");
  }

  // Counts follow the filters; what was asked for last is shown.
  async show() {
    this.name();
    if (!this.element.open) { this.fields = null; return; }
    this.asked?.abort();
    this.asked = new AbortController();
    try {
      const query = new URLSearchParams({ limit: String(this.whole.size ? ALL : SOME), ...(state.f && { filter: state.f }) });
      ({ fields: this.fields } = await get(`/collections/${part(state.c)}/metadata?${query}`, { signal: this.asked.signal }));
      this.refuse("");
      this.draw();
    } catch (error) {
      if (error.code === "invalid_filter") this.refuse(`${error.message} ${error.hint}`);
      else if (error.name !== "AbortError") this.place.replaceChildren(problem(error));
    }
  }

  // What is wrong with the condition stands below it.
  refuse(why) {
    this.wrong.textContent = why;
    this.wrong.hidden = !why;
    this.input.setAttribute("aria-invalid", String(Boolean(why)));
  }

  write() {
    const { expression, ...levels } = filtersOf();
    const text = this.input.value.trim();
    if (text !== (expression || "")) this.set(text ? { ...levels, expression: text } : levels);
  }

  // One more condition, which holds beside the others.
  add(condition) {
    const { expression } = filtersOf();
    this.input.value = expression ? `(${expression}) and ${condition}` : condition;
    this.element.open = true;
    this.write();
  }

  // Redrawing keeps the focus on what was pressed.
  draw() {
    const focused = this.place.contains(document.activeElement) ? document.activeElement.dataset.name : null;
    this.place.replaceChildren(...(this.fields.length ? [
      state.f ? el("button", { class: "quiet", type: "button", onclick: () => this.clear() }, t("clear_filters")) : "",
      ...this.fields.map((field) => this.row(field)), el("p", { class: "meta" }, t("filter_counts")),
    ] : [el("p", { class: "muted" }, t("no_metadata"))]));
    if (focused) [...this.place.querySelectorAll("button")].find((one) => one.dataset.name === focused)?.focus();
  }

  row({ level, name, distinct, values }) {
    const chosen = filtersOf()[level]?.[name];
    const label = level === "part" ? t("of_parts", { name }) : name;
    const id = `${level} ${name}`;
    const isTelling = distinct <= SOME || values[0].documents > 2;
    const some = this.whole.has(id) ? values : values.slice(0, isTelling ? SOME : 0);
    const rest = chosen !== undefined && !some.some((one) => same(one.value, chosen)) ? [values.find((one) => same(one.value, chosen)) || { value: chosen }] : [];
    const group = el("div", { class: "values", role: "group", "aria-label": label, onkeydown: step }, el("div", { class: "meta" }, label),
      [...some, ...rest].map(({ value, documents }) => el("button", {
        class: "value", type: "button", "aria-pressed": String(same(chosen, value)), "data-name": `${id} ${JSON.stringify(value)}`, onclick: () => this.press(level, name, value),
      }, el("span", {}, shown(value)), documents === undefined ? null : el("span", { class: "meta" }, documents.toLocaleString(currentLanguage())))),
      distinct > some.length ? this.more(id, some.length, distinct) : null);
    const buttons = [...group.querySelectorAll("button")];
    reach(buttons, buttons.find((one) => one.ariaPressed === "true") || buttons[0]);
    return group;
  }

  more(id, count, distinct) {
    if (this.whole.has(id)) return el("p", { class: "meta" }, t("values_of", { count, all: distinct }));
    return el("button", { class: "quiet", type: "button", onclick: () => { this.whole.add(id); this.show(); } }, t("choice_all", { count: distinct }));
  }

  press(level, name, value) {
    const next = filtersOf();
    next[level] = { ...next[level] };
    if (same(next[level][name], value)) delete next[level][name]; else next[level][name] = value;
    if (!Object.keys(next[level]).length) delete next[level];
    this.set(next);
  }

  clear() {
    this.input.value = "";
    this.set({});
  }

  set(next) {
    update({ f: Object.keys(next).length ? JSON.stringify(next) : "" }, true);
    this.show();
    this.again();
  }
}
