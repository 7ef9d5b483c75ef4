import { el, problem } from "./dom.js";
import { SAMPLE, loadSample } from "./sample.js";
import { uploadForm } from "./upload.js";
import { t } from "./words.js";

// A button that loads the sample and leads to it.
export function sampleOffer() {
  const place = el("div");
  const load = async () => {
    button.disabled = true;
    place.replaceChildren();
    try { await loadSample(); link.click(); } catch (error) { place.append(problem(error)); }
    button.disabled = false;
  };
  const button = el("button", { type: "button", class: "plain", onclick: load }, t("load_sample"));
  const link = el("a", { href: `./?c=${SAMPLE}`, hidden: true }, SAMPLE);
  return el("div", { class: "actions" }, el("p", { class: "muted" }, t("sample_hint")), button, link, place);
}

// What a view shows before there is a collection: a way to the place for files, which takes dropped ones at once.
export function emptyView(main) {
  main.replaceChildren(el("h1", {}, t("nothing_yet")), uploadForm([]), sampleOffer());
}
