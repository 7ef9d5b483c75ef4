import { ApiError, call, part, post, put } from "./api.js";
import { el, plural, problem, say } from "./dom.js";

// A star: the phrase is saved with the threshold that applies, what is there is matched at once, and what comes from then on.
export function star(request, threshold) {
  const place = el("p", { class: "meta", role: "status" });
  const own = `/collections/${part(request.collection)}/phrases/${part(request.text)}`;
  const button = el("button", { type: "button", class: "quiet", "aria-pressed": "false" });
  const draw = (isSaved) => { button.ariaPressed = String(isSaved); button.textContent = isSaved ? "\u2605 Saved" : "\u2606 Save phrase"; };
  const tell = (...content) => place.replaceChildren(...content);
  const link = () => el("a", { href: `./?${new URLSearchParams({ view: "data", c: request.collection })}` }, "See its matches");
  async function keep() {
    const { value, on } = await threshold();
    try {
      const saved = await post(`/collections/${part(request.collection)}/phrases`, { text: request.text, threshold: value, threshold_on: on, filter: request.filter });
      draw(true);
      const there = saved.rematched ? `${plural(saved.rematched.added, "match")}` : "";
      tell(there ? `Saved; ${there.replace("matchs", "matches")} now, new documents as they arrive. ` : "Saved; what is there is being matched. ", link());
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "phrase_exists") throw error;
      await put(`${own}/threshold`, { value, on });
      const { added, withdrawn } = await call("POST", `${own}/backfill`);
      draw(true);
      tell(`It was saved already; it has this threshold now (${added.toLocaleString()} matches more, ${withdrawn.toLocaleString()} fewer). `, link());
    }
    say("Saved");
  }
  async function drop() {
    await call("DELETE", own);
    draw(false);
    tell("No longer saved; its matches are withdrawn.");
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
