import { el } from "./dom.js";
import { t } from "./words.js";

// The answer before the evidence: how many hits say the phrase, and which of them are shown.
export class Verdict {
  constructor(onchoose) {
    this.onchoose = onchoose;
    this.sentence = el("p", { class: "grow" });
    this.choices = el("div", { class: "segments", role: "group", "aria-label": t("hits_shown") });
    this.element = el("div", { class: "verdict row" }, el("div", { role: "status", class: "grow" }, this.sentence), this.choices);
  }

  show(counts, choice, { notice, isJudged, isComplete, isDraft, estimate, noise }) {
    const { likely, near, unlikely } = counts;
    this.sentence.replaceChildren(...(notice ? [`${notice} `] : []), ...(isJudged ? judged(counts, isComplete, estimate) : unjudged(counts, isDraft, noise)));
    const all = likely + near + unlikely;
    const labels = [["likely", likely, likely], ["near", likely + near, near], ["all", all, unlikely]];
    const focused = [...this.choices.children].indexOf(document.activeElement);
    this.choices.replaceChildren(...labels.map(([name, count, more]) => el("button", {
      type: "button", class: "plain", "aria-pressed": String(name === choice), disabled: !more && name !== choice, onclick: () => this.onchoose(name),
    }, t(`choice_${name}`, { count }))));
    if (focused >= 0) this.choices.children[focused].focus();
    this.choices.hidden = !all || (!isJudged && !unlikely && !likely);
  }
}

// `below`: so many likely hits do not reach the threshold.
function judged({ likely, unsure, near, unlikely, below }, isComplete, estimate) {
  const rest = (unlikely ? ` ${t("rest")}` : "") + (below ? ` ${t("likely_below", { count: below })}` : "");
  const may = near ? t("near_count", { count: near }) : "";
  if (!likely && below) return [el("strong", {}, t("likely_below", { count: below })), may ? ` ${t("near_only", { near: may })}` : ""];
  if (!likely) return [el("strong", {}, t("no_likely")), ` ${near ? t("near_only", { near: may }) + rest : t("nearest_only")}`];
  const doubt = unsure ? ` (${unsure === likely ? t("level_unsure") : t("unsure_count", { count: unsure })})` : "";
  return [el("strong", {}, t(isComplete ? "likely_count" : "likely_or_more", { count: likely })), doubt, may ? `, ${may}.` : ".", rest, estimate ? ` ${estimated(estimate, likely)}` : ""];
}

// Said where the list is not all there is.
function estimated({ estimated: count, interval: [low, high] }, likely) {
  if (high <= likely) return "";
  return t(low === high ? "in_all" : "about_in_all", { count, low, high });
}

function unjudged({ likely, near, unlikely }, isDraft, noise) {
  if (isDraft) return [t("draft")];
  const count = likely + near;
  if (!count && !unlikely) return [];
  if (typeof noise !== "number") return [t("unjudged", { hits: t("hit_count", { count }) })];
  if (!count) return [el("strong", {}, t("no_likely")), ` ${t("none_above")}`];
  return [el("strong", {}, t("hits_may", { count })), t("hits_may_why")];
}
