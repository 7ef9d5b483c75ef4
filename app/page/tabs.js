import { el } from "./dom.js";
import { t } from "./words.js";

// Two lists side by side; in a narrow window one of them, chosen by tabs.
export function tabbed(sections) {
  const tabs = sections.map(([name], index) => el("button", { type: "button", role: "tab", class: "plain", "aria-selected": String(!index), tabIndex: index ? -1 : 0, onclick: () => choose(index) }, name));
  const bar = el("div", { class: "tabs", role: "tablist", "aria-label": t("compared_modes"), onkeydown: (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const next = (tabs.findIndex((one) => one.ariaSelected === "true") + by + tabs.length) % tabs.length;
    choose(next);
    tabs[next].focus();
  } }, tabs);
  function choose(chosen) {
    sections.forEach(([, section], index) => {
      tabs[index].ariaSelected = String(index === chosen);
      tabs[index].tabIndex = index === chosen ? 0 : -1;
      section.classList.toggle("other", index !== chosen);
    });
    dispatchEvent(new Event("resize")); // a list that was not shown has no width yet
  }
  const columns = el("div", { class: "columns two" }, sections.map(([, section]) => section));
  choose(0);
  return el("div", {}, bar, el("p", { class: "meta" }, t("two_scales")), columns);
}
