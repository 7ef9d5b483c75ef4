import { ApiError, call, get, may, part, post, put } from "./api.js";
import { el, problem, say } from "./dom.js";
import { t } from "./words.js";

// A name has no slash and at most 200 characters; a longer text is told from others that begin alike by a number.
const MOST = 180;
const numberOf = (points) => points.reduce((sum, point) => (31 * sum + point.codePointAt(0)) >>> 0, 7).toString(36);
function nameOf(text) {
  const points = Array.from(text.replaceAll("/", "\u2215"));
  return points.length <= MOST ? points.join("") : `${points.slice(0, MOST).join("")}\u2026 ${numberOf(points)}`;
}

// A star: the phrase is saved with the threshold that applies, what is there is matched at once, and what comes from then on.
export function star(request, threshold) {
  const place = el("p", { class: "meta", role: "status" });
  const name = nameOf(request.text);
  const own = `/collections/${part(request.collection)}/phrases/${part(name)}`;
  const button = el("button", { type: "button", class: "quiet", "aria-pressed": "false" });
  const draw = (isSaved) => { button.ariaPressed = String(isSaved); button.textContent = isSaved ? `\u2605 ${t("saved")}` : `\u2606 ${t("save_phrase")}`; };
  const tell = (...content) => place.replaceChildren(...content);
  const link = () => el("a", { href: `./?${new URLSearchParams({ view: "data", c: request.collection })}` }, t("see_matches"));
  async function keep() {
    const { value, on } = await threshold();
    try {
      const saved = await post(`/collections/${part(request.collection)}/phrases`, { name, text: request.text, threshold: value, threshold_on: on, filter: request.filter });
      draw(true);
      if (saved.applies?.source === "none") tell(t("saved_without"));
      else tell(saved.rematched ? t("saved_now", { count: saved.rematched.added }) : t("saved_later"), " ", link());
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "phrase_exists" || (await get(own)).text !== request.text) throw error;
      if (value !== undefined) await put(`${own}/threshold`, { value, on });
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
  // What was saved before is shown as that; a key may not see it.
  async function show(signal) {
    try { if ((await get(own, { signal })).text === request.text) draw(true); } catch (error) {
      if (error.name === "AbortError") throw error;
    }
  }
  draw(false);
  may("index", request.collection).then((isAllowed) => { button.hidden = !isAllowed; });
  return { button, place, show };
}
