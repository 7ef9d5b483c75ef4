import { hasKey, may, setKey } from "./api.js";
import { clusterView, hasCluster } from "./cluster.js";
import { MissingCollection, missing } from "./collections.js";
import { dataView } from "./data.js";
import { el, field, openDialog, problem, say, select } from "./dom.js";
import { wentBack } from "./pane.js";
import { hostOf, leave, provider, returned } from "./provider.js";
import { referenceView } from "./reference.js";
import { restoreView } from "./restore.js";
import { closeView, searchView } from "./search.js";
import { reload, state } from "./state.js";
import { textsView } from "./facets.js";
import { closeThresholds, thresholdsView } from "./thresholds.js";
import { LANGUAGES, currentLanguage, setLanguage, t } from "./words.js";

const VIEWS = { search: searchView, thresholds: thresholdsView, data: dataView, texts: textsView, restore: restoreView, cluster: clusterView, docs: referenceView };
const ADDRESSES = { search: "./", docs: "docs" };
const NEEDS = { thresholds: "admin" };
const root = document.documentElement;
const at = (id) => document.getElementById(id);

// A view writes into a place of its own: one that is late has none any more.
async function show() {
  const name = location.pathname.endsWith("/docs") ? "docs" : Object.hasOwn(VIEWS, state.view ?? "") ? state.view : "search";
  document.title = `${t(name)} · Spanseek`;
  closeView();
  closeThresholds();
  frame(name);
  const place = el("div", {}, el("p", { class: "muted" }, t("loading")));
  at("main").replaceChildren(place);
  try { await VIEWS[name](place); } catch (error) {
    if (error.name === "AbortError") return;
    place.replaceChildren(error instanceof MissingCollection ? missing(error) : error.status === 401 ? signedOut() : problem(error));
  }
}

// What stands around the view: its links, the language and the buttons.
function frame(name) {
  root.lang = currentLanguage();
  const links = Object.keys(VIEWS).map((id) => el("a", { href: ADDRESSES[id] || `./?view=${id}`, "aria-current": id === name ? "page" : null }, t(id)));
  at("nav").replaceChildren(...links);
  at("nav").ariaLabel = t("views");
  at("nav").scrollLeft = links.find((one) => one.hasAttribute("aria-current")).offsetLeft - at("nav").clientWidth / 2;
  document.querySelector(".skip").textContent = t("skip");
  at("language").ariaLabel = t("language");
  sayTheme();
  if (hasKey()) at("sign-in").hidden = false;
  at("sign-in").textContent = t(hasKey() ? "sign_out" : "sign_in");
  const cluster = links[Object.keys(VIEWS).indexOf("cluster")];
  if (name !== "cluster") {
    cluster.hidden = true;
    hasCluster().then((isThere) => isThere && may("cluster", "all")).then((isThere) => { cluster.hidden = !isThere; });
  }
  for (const [id, right] of Object.entries(NEEDS)) {
    if (id !== name) may(right, state.c).then((allowed) => { links[Object.keys(VIEWS).indexOf(id)].hidden = !allowed; });
  }
}

const signedOut = () => el("section", { class: "panel" }, el("h1", {}, t("sign_in_first")), el("p", { class: "muted" }, t("sign_in_hint")),
  el("button", { type: "button", onclick: signIn }, t("sign_in")));

// A server without keys asks for none, and the button stays away.
function signIn({ detail }) {
  if (at("dialog").open && at("key") && !detail?.refused && !detail?.failed) return; // several requests were refused at once
  at("sign-in").hidden = false;
  at("sign-in").textContent = t("sign_in");
  const input = el("input", { id: "key", type: "password", autocomplete: "off", required: true });
  openDialog(t("sign_in_title"), el("form", { onsubmit: (event) => {
    event.preventDefault();
    setKey(input.value.trim());
    at("dialog").close();
    show();
  } }, detail?.refused ? el("p", { class: "problem", role: "alert" }, t("key_refused", { why: detail.refused })) : null,
  field(t("key"), input), el("p", { class: "meta" }, t("key_kept")), el("p", { class: "actions" }, el("button", { type: "submit" }, t("sign_in")))));
  input.focus();
  offerProvider(input, detail?.failed);
}

// Above the field for a key, where there is an identity provider; and what went wrong there.
async function offerProvider(input, error) {
  const own = await provider();
  if (!own || !input.isConnected) return;
  const place = el("div", {}, error ? problem(error) : null);
  const go = async () => { try { await leave(own); } catch (failure) { place.replaceChildren(problem(failure)); } };
  const button = el("button", { type: "button", onclick: go }, t("sign_in_at", { host: hostOf(own) }));
  at("dialog-title").textContent = t("sign_in");
  input.form.before(el("p", { class: "actions" }, button), place, el("p", { class: "meta" }, t("or_key")));
  if (!input.value) button.focus();
}

function signOut() {
  setKey("");
  sessionStorage.clear();
  say(t("signed_out"));
  show();
}

// The search that was left for another view, to which the link leads back.
let searched = "";

// Links between the views keep the page: its modules, what it has read, and the key's answers.
function follow(event) {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || link.target || link.download) return;
  const home = new URL("./", location.href);
  const to = new URL(link.href);
  if (to.hash || to.origin !== home.origin || ![home.pathname, `${home.pathname}docs`].includes(to.pathname)) return;
  event.preventDefault();
  const isSearch = (url) => url.pathname === home.pathname && !url.searchParams.has("view");
  if (isSearch(new URL(location.href))) searched = isSearch(to) ? "" : location.search;
  if (link.closest("#nav") && state.c) to.searchParams.set("c", state.c);
  if (link.closest("#nav") && isSearch(to) && new URLSearchParams(searched).get("c") === state.c) to.search = searched;
  history.pushState(null, "", to.href);
  go();
  scrollTo(0, 0);
  at("main").focus();
  say(t("shown", { view: document.title.split(" · ")[0] }));
}

function go() {
  at("dialog").close();
  reload();
  show();
}

const isDark = () => (root.style.colorScheme ? root.style.colorScheme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
const sayTheme = () => { at("theme").textContent = t("theme", { state: t(isDark() ? "dark" : "light") }); };
root.style.colorScheme = localStorage.getItem("theme") || "";
at("theme").addEventListener("click", () => {
  root.style.colorScheme = isDark() ? "light" : "dark";
  localStorage.setItem("theme", root.style.colorScheme);
  sayTheme();
});
const languages = select(Object.entries(LANGUAGES), currentLanguage(), (value) => { setLanguage(value); show(); });
languages.id = "language";
at("language").replaceWith(languages);
at("sign-in").addEventListener("click", (event) => { if (hasKey()) signOut(); else signIn(event); });
document.addEventListener("sign-in", signIn);
document.addEventListener("click", follow);
// A file that is dropped beside the place for it would take the page's place.
for (const name of ["dragover", "drop"]) {
  document.addEventListener(name, (event) => {
    if (event.defaultPrevented || !event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    document.querySelector(".drop")?.dispatchEvent(new DragEvent(name, { dataTransfer: event.dataTransfer, cancelable: true }));
  });
}
addEventListener("popstate", () => { if (!wentBack()) go(); });
try { await returned(); reload(); show(); } catch (error) { reload(); await show(); signIn({ detail: { failed: error } }); }
