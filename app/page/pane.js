import { el } from "./dom.js";
import { state, update } from "./state.js";
import { t } from "./words.js";

// A place beside the list, in a narrow window above all: a document is read there while the list stays as it is.
let opener = null;
// What the address says of the place that is read, and what may change beside it.
const PLACE = { d: "", at: "", u: "" };
const BESIDE = ["t", "t2", ...Object.keys(PLACE)];

const layout = () => document.querySelector(".layout");
const pane = () => document.getElementById("pane");

export function openPane(title, ...content) {
  const isOpen = pane();
  if (!isOpen) opener = document.activeElement;
  const element = el("aside", { id: "pane", class: "pane", "aria-labelledby": "pane-title", tabIndex: -1 },
    el("div", { class: "row head" }, el("h2", { id: "pane-title", class: "grow" }, title), el("button", { class: "plain", type: "button", onclick: leave }, t("close"))), content.flat());
  if (isOpen) isOpen.replaceWith(element);
  else layout().append(element);
  element.addEventListener("keydown", (event) => { if (event.key === "Escape" && !event.defaultPrevented) leave(); });
  layout().classList.add("with-pane");
  if (!isOpen) dispatchEvent(new Event("resize")); // the list has become narrower
  return element;
}

export function closePane({ isFocused = true } = {}) {
  if (!pane()) return;
  pane().remove();
  layout()?.classList.remove("with-pane");
  update(PLACE);
  dispatchEvent(new Event("resize"));
  if (isFocused && opener?.isConnected) opener.focus({ preventScroll: true });
}

// As the browser's Back does, where the document has an entry of its own in the history.
function leave() {
  if (state.d && history.state === "pane") history.back(); else closePane();
}

// True if the browser went back to the search of the open document, which closes it: nothing is searched again.
export function wentBack() {
  const place = Object.fromEntries(new URLSearchParams(location.search));
  const search = (of) => JSON.stringify(Object.entries(of).filter(([name, value]) => value && !BESIDE.includes(name)).sort());
  if (!pane() || place.d || search(place) !== search(state)) return false;
  closePane();
  return true;
}
