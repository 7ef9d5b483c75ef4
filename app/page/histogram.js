import { el, field } from "./dom.js";

const NS = "http://www.w3.org/2000/svg";
const shape = (tag, attributes) => {
  const element = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};

// A threshold slider over a histogram of 100 scores. `describe` says in words what a threshold finds.
export class ThresholdSlider {
  constructor(value, describe, oninput) {
    this.describe = describe;
    this.low = shape("path", { class: "low" });
    this.high = shape("path", { class: "high" });
    this.svg = shape("svg", { class: "histogram", viewBox: "0 0 100 30", preserveAspectRatio: "none", "aria-hidden": "true" });
    this.svg.append(this.low, this.high);
    this.input = el("input", { type: "range", min: "0", max: "1", step: "0.01", value: String(value) });
    this.input.addEventListener("input", () => { this.refresh(); oninput(this.value); });
    this.count = el("p", { class: "count" });
    this.element = el("div", {}, field("Threshold", [this.svg, this.input]), this.count);
    this.bars = [];
    this.refresh();
  }

  get value() { return Number(this.input.value); }

  set(value) { this.input.value = String(value); this.refresh(); }

  show(bars) { this.bars = bars; this.refresh(); }

  refresh() {
    const top = Math.max(1, ...this.bars);
    const path = (from, to) => this.bars.slice(from, to).map((count, index) => {
      const height = count ? Math.max(0.7, 30 * Math.sqrt(count / top)) : 0;
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

// Counts of scores in 100 bars; the last one includes 1.
export function histogram(scores) {
  const bars = new Array(100).fill(0);
  for (const score of scores) bars[Math.min(99, Math.max(0, Math.floor(score * 100 + 1e-9)))]++;
  return bars;
}
