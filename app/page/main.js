import { setKey } from "./api.js";
import { el, field, openDialog, problem } from "./dom.js";
import { dataView } from "./data.js";
import { referenceView } from "./reference.js";
import { closeView, searchView } from "./search.js";
import { reload, state, update } from "./state.js";
import { closeThresholds, thresholdsView } from "./thresholds.js";

const VIEWS = {
  search: ["Search", searchView], thresholds: ["Thresholds", thresholdsView], data: ["Data", dataView], docs: ["API", referenceView],
};
const ADDRESSES = { search: "./", docs: "docs" };
const main = document.getElementById("main");

async function show() {
  const name = location.pathname.endsWith("/docs") ? "docs" : Object.hasOwn(VIEWS, state.view ?? "") ? state.view : "search";
  const [label, view] = VIEWS[name];
  document.title = `${label} · Spanseek`;
  document.getElementById("nav").replaceChildren(...Object.entries(VIEWS).map(([id, [text]]) => el("a", {
    href: ADDRESSES[id] || `./?view=${id}`, "aria-current": id === name ? "page" : null,
  }, text)));
  closeView();
  closeThresholds();
  try { await view(main); } catch (error) { if (error.name !== "AbortError") main.replaceChildren(problem(error)); }
}

// A server without keys asks for none, and the button stays away.
function signIn({ detail }) {
  document.getElementById("sign-in").hidden = false;
  const input = el("input", { type: "password", autocomplete: "off", required: true });
  openDialog("Sign in with a key", el("form", { onsubmit: (event) => {
    event.preventDefault();
    setKey(input.value.trim());
    document.getElementById("dialog").close();
    show();
  } }, detail?.refused ? el("p", { class: "problem", role: "alert" }, `This key was refused. ${detail.refused}`) : null,
  el("p", { class: "muted" }, "The key stays in this page's memory until you reload it. `spanseek keys create` makes one."),
  field("API key", input), el("p", {}, el("button", { type: "submit" }, "Sign in"))));
}

document.getElementById("sign-in").addEventListener("click", signIn);
document.addEventListener("sign-in", signIn);
const root = document.documentElement;
root.style.colorScheme = localStorage.getItem("theme") || "";
document.getElementById("theme").addEventListener("click", () => {
  const dark = root.style.colorScheme ? root.style.colorScheme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.style.colorScheme = dark ? "light" : "dark";
  localStorage.setItem("theme", root.style.colorScheme);
});
document.getElementById("dialog").addEventListener("close", () => { if (state.d) update({ d: "", at: "" }); });
// A file that is dropped beside the place for it would take the page's place.
for (const name of ["dragover", "drop"]) {
  document.addEventListener(name, (event) => {
    if (event.defaultPrevented || !event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    document.querySelector(".drop")?.dispatchEvent(new DragEvent(name, { dataTransfer: event.dataTransfer, cancelable: true }));
  });
}
addEventListener("popstate", () => { document.getElementById("dialog").close(); reload(); show(); });
show();
