import { get, post } from "./api.js";
import { address } from "./collections.js";
import { el, field } from "./dom.js";
import { asking } from "./facets.js";
import { t } from "./words.js";

const UNCERTAIN_BELOW = 0.9;

// What comes back of a text of which vectors alone are kept, and the collections that keep no more.
export async function restoreView(main) {
  const { collections } = await get("/collections");
  const text = el("textarea", { rows: "4", required: true });
  main.replaceChildren(el("h1", {}, t("restore_title")),
    asking(t("restored"), t("restore_hint"), field(t("your_text"), text), t("restore_it"), () => restored(text.value.trim())),
    textless(collections.filter((one) => one.store_text === false)));
}

async function restored(text) {
  const { vectors, fingerprint, dim } = await post("/vectors", { texts: [text] });
  const { texts: [one] } = await post("/restore", { vectors, fingerprint });
  return [el("p", { class: "quote" }, one.tokens.map((token) => (token.confidence < UNCERTAIN_BELOW && token.text ? el("u", { class: "uncertain" }, token.text) : token.text))),
    el("p", {}, t(one.text === text ? "same_text" : "other_text")),
    el("p", { class: "meta" }, t("confidence", { percent: Math.floor(one.confidence * 100) }), " ", t("vectors_made", { count: vectors[0].length, dim })),
    ...(one.warning ? [el("p", { class: "problem" }, one.warning)] : [])];
}

function textless(collections) {
  const links = collections.map((one) => el("li", {}, el("a", { href: address(one.name, "") }, one.name), ` · ${t("document_count", { count: one.documents })}`));
  return el("section", { class: "panel", "aria-label": t("textless") }, el("h2", {}, t("textless")), links.length ? el("ul", {}, links) : el("p", { class: "muted" }, t("no_textless")));
}
