import { el, say } from "./dom.js";

// Copies a text. Pages without HTTPS have no clipboard: there a selection is copied.
export async function copy(text, said) {
  if (navigator.clipboard) await navigator.clipboard.writeText(text);
  else {
    const area = el("textarea", { class: "hidden" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(said);
}
