import { ApiError, call, part, post, put } from "./api.js";
import { el, problem, say } from "./dom.js";
import { t } from "./words.js";

// A star: the phrase is saved with the threshold that applies, what is there is matched at once, and what comes from then on.
export function star(request, threshold) {
  const place = el("p", { class: "meta", role: "status" });
  const own = `/collections/${part(request.collection)}/phrases/${part(request.text)}`;
  const button = el("button", { type: "button", class: "quiet", "aria-pressed": "false" });
  const draw = (isSaved) => { button.ariaPressed = String(isSaved); button.textContent = isSaved ? `\u2605 ${t("saved")}` : `\u2606 ${t("save_phrase")}`; };
  const tell = (...content) => place.replaceChildren(...content);
  const link = () => el("a", { href: `./?${new URLSearchParams({ view: "data", c: request.collection })}` }, t("see_matches"));
  async function keep() {
    const { value, on } = await threshold();
    try {
      const saved = await post(`/collections/${part(request.collection)}/phrases`, { text: request.text, threshold: value, threshold_on: on, filter: request.filter });
      draw(true);
      tell(saved.rematched ? t("saved_now", { count: saved.rematched.added }) : t("saved_later"), " ", link());
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "phrase_exists") throw error;
      await put(`${own}/threshold`, { value, on });
      const { added, withdrawn } = await call("POST", `${own}/backfill`);
      draw(true);
      tell(t("saved_already", { added, withdrawn }), " ", link());
    }
    say(t("saved"));
  }
  async function drop() {
    await call("DELETE", own);
    draw(false);
    tell(t("dropped"));
  }
  button.addEventListener("click", async () => {
    button.disabled = true;
    try { await (button.ariaPressed === "true" ? drop() : keep()); } catch (error) { tell(problem(error)); }
    button.disabled = false;
    button.focus();
  });
  draw(false);
  return { button, place };
}
