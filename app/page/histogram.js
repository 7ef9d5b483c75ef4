import { el } from "./dom.js";
import { t } from "./words.js";

const NS = "http://www.w3.org/2000/svg";
const shape = (tag, attributes) => {
  const element = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};
const plot = (name, height, ...paths) => {
  const svg = shape("svg", { class: name, viewBox: `0 0 100 ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  svg.append(...paths);
  return svg;
};
let number = 0;

// A threshold slider below a histogram of 100 scores. `describe` says in words what a threshold finds.
export class ThresholdSlider {
  constructor(value, describe, oninput) {
    this.describe = describe;
    this.band = shape("path", { class: "noise" });
    this.low = shape("path", { class: "low" });
    this.high = shape("path", { class: "high" });
    this.yes = shape("path", { class: "yes" });
    this.no = shape("path", { class: "no" });
    this.ticks = plot("ticks", 10, this.yes, this.no);
    this.ticks.toggleAttribute("hidden", true); // SVG has no property of this name
    const id = `threshold-${++number}`;
    this.input = el("input", { type: "range", id, min: "0", max: "1", step: "0.01", value: String(value) });
    this.input.addEventListener("input", () => { this.refresh(); oninput(this.value); });
    this.count = el("p", { class: "count" });
    this.element = el("div", { class: "slider" }, el("div", { class: "row ends" }, el("label", { for: id }, t("threshold")), this.count),
      plot("histogram", 30, this.band, this.low, this.high), this.input, this.ticks);
    this.bars = [];
    this.refresh();
  }

  get value() { return Number(this.input.value); }

  set(value) { this.input.value = String(value); this.refresh(); }

  // `noise` is the score that a phrase reaches in unrelated text: the band up to it is grey.
  show(bars, noise = null) {
    this.bars = bars;
    if (noise !== null) this.band.setAttribute("d", `M0 0h${noise * 100}v30h${-noise * 100}z`);
    this.refresh();
  }

  // Labels as ticks below their scores: matches above, others below.
  mark(labels) {
    const path = (match, top) => labels.filter((label) => label.match === match).map((label) => `M${label.score * 100 - 0.2} ${top}h.4v4h-.4z`).join("");
    this.yes.setAttribute("d", path(true, 0));
    this.no.setAttribute("d", path(false, 6));
    this.ticks.toggleAttribute("hidden", !labels.length);
  }

  refresh() {
    const top = highest(this.bars);
    const path = (from, to) => this.bars.slice(from, to).map((count, index) => {
      const height = count ? Math.min(30, Math.max(0.7, 30 * Math.sqrt(count / top))) : 0;
      return `M${from + index + 0.1} 30v${-height}h.8v${height}z`;
    }).join("");
    const cut = Math.round(this.value * 100);
    this.low.setAttribute("d", path(0, cut));
    this.high.setAttribute("d", path(cut, 100));
    const words = this.describe(this.value);
    this.count.textContent = words;
    this.input.setAttribute("aria-valuetext", words);
  }
}

// The height of a full bar. One that is far above all others, as all that a calibration calls 0, does not flatten them: it is cut.
function highest(bars) {
  const [first = 1, second = 1] = bars.filter(Boolean).sort((a, b) => b - a);
  return Math.max(1, Math.min(first, 4 * second));
}

// Counts of scores in 100 bars; the last one includes 1.
export function histogram(scores) {
  const bars = new Array(100).fill(0);
  for (const score of scores) bars[Math.min(99, Math.max(0, Math.floor(score * 100 + 1e-9)))]++;
  return bars;
}

// What a preview counts from a threshold on; spans where it counts them.
export function counted(counts, threshold) {
  const index = Math.round(threshold * 100), spans = counts.spans_above?.[index], count = counts.documents_above[index];
  return fromOn(typeof spans === "number" ? `${t("place_count", { count: spans })} ${t("in_documents", { count })}` : t("document_count", { count }), threshold);
}

export const fromOn = (what, threshold) => t(threshold ? "from_on" : "at_any", { what, score: threshold.toFixed(2) });
