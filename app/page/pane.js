import { el } from "./dom.js";
import { update } from "./state.js";
import { t } from "./words.js";

// A place beside the list, in a narrow window above all: a document is read there while the list stays as it is.
let opener = null;

const layout = () => document.querySelector(".layout");
const pane = () => document.getElementById("pane");

export function openPane(title, ...content) {
  const isOpen = pane();
  if (!isOpen) opener = document.activeElement;
  const element = el("aside", { id: "pane", class: "pane", "aria-labelledby": "pane-title", tabIndex: -1 },
    el("div", { class: "row head" }, el("h2", { id: "pane-title", class: "grow" }, title), el("button", { class: "plain", type: "button", onclick: () => closePane() }, t("close"))), content.flat());
  if (isOpen) isOpen.replaceWith(element);
  else layout().append(element);
  element.addEventListener("keydown", (event) => { if (event.key === "Escape" && !event.defaultPrevented) closePane(); });
  layout().classList.add("with-pane");
  if (!isOpen) dispatchEvent(new Event("resize")); // the list has become narrower
  return element;
}

export function closePane({ isFocused = true } = {}) {
  if (!pane()) return;
  pane().remove();
  layout()?.classList.remove("with-pane");
  update({ d: "", at: "", u: "" });
  dispatchEvent(new Event("resize"));
  if (isFocused && opener?.isConnected) opener.focus({ preventScroll: true });
}
