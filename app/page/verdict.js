import { el, plural } from "./dom.js";

// The answer before the evidence: how many hits say the phrase, and which of them are shown.
export class Verdict {
  constructor(onchoose) {
    this.onchoose = onchoose;
    this.sentence = el("p", { class: "grow" });
    this.choices = el("div", { class: "segments", role: "group", "aria-label": "Hits that are shown" });
    this.element = el("div", { class: "verdict row" }, el("div", { role: "status", class: "grow" }, this.sentence), this.choices);
  }

  show(counts, choice, { notice, isJudged, isComplete, isDraft, estimate, noise }) {
    const { likely, near, unlikely } = counts;
    this.sentence.replaceChildren(...(notice ? [`${notice} `] : []), ...(isJudged ? judged(counts, isComplete, estimate) : unjudged(counts, isDraft, noise)));
    const all = likely + near + unlikely;
    const labels = [["likely", `Likely ${likely.toLocaleString()}`, likely], ["near", `May be ${(likely + near).toLocaleString()}`, near], ["all", `All ${all.toLocaleString()}`, unlikely]];
    const focused = [...this.choices.children].indexOf(document.activeElement);
    this.choices.replaceChildren(...labels.map(([name, label, more]) => el("button", {
      type: "button", class: "plain", "aria-pressed": String(name === choice), disabled: !more && name !== choice, onclick: () => this.onchoose(name),
    }, label)));
    if (focused >= 0) this.choices.children[focused].focus();
    this.choices.hidden = !all || (!isJudged && !unlikely && !likely);
  }
}

function judged({ likely, unsure, near, unlikely }, isComplete, estimate) {
  const rest = unlikely ? " The rest is unrelated text." : "";
  const may = near ? `${near.toLocaleString()} may be near` : "";
  if (!likely) return [el("strong", {}, "No likely match."), near ? ` ${may}, and differ in what is marked.${rest}` : " What is nearest does not say it."];
  const first = `${likely.toLocaleString()}${isComplete ? "" : " or more"} likely ${likely === 1 && isComplete ? "match" : "matches"}`;
  const doubt = unsure ? ` (${unsure === likely ? "not sure" : `${unsure.toLocaleString()} not sure`})` : "";
  return [el("strong", {}, first), doubt, may ? `, ${may}.` : ".", rest, estimate ? ` ${estimated(estimate, likely)}` : ""];
}

// Said where the list is not all there is.
function estimated({ estimated: number, interval: [low, high] }, likely) {
  if (high <= likely) return "";
  return low === high ? `${number.toLocaleString()} in the whole collection.` : `About ${number.toLocaleString()} in the whole collection (${low.toLocaleString()} to ${high.toLocaleString()}).`;
}

function unjudged({ likely, near, unlikely }, isDraft, noise) {
  if (isDraft) return ["Nearest so far; the verdict follows."];
  if (!likely && !near && !unlikely) return [];
  if (typeof noise !== "number") return [`${plural(likely + near, "hit")}, nearest first. Nobody has judged which of them say it.`];
  if (!likely && !near) return [el("strong", {}, "No likely match."), " Nothing scores higher than unrelated text does. These are nearest."];
  return [el("strong", {}, `${plural(likely + near, "hit")} may say it`), ": they score higher than unrelated text does. The rest is folded."];
}
