import { el } from "./dom.js";
import { blocksOf, marked } from "./marks.js";

// Characters of a stretch, and how many stretches are drawn at once.
const STRETCH = 16_000;
const AT_ONCE = 4;
// How high a stretch is taken to be before it is drawn: characters of a line, and pixels of a line and of what stands above a part.
const LINE = 66, LINE_PX = 25, ABOVE_PX = 37;
const whenIdle = window.requestIdleCallback ?? ((work) => setTimeout(work, 50));

// The text of a document in stretches: those in view are drawn, then the others while the browser is idle, so that its own
// search finds them.
export class DocumentText {
  constructor() { this.element = el("div", { class: "document" }); }

  // Shows a text with its hits marked. `above` says what stands above a part, by the part's start.
  show(text, hits, above) {
    this.observer?.disconnect();
    this.observer = new IntersectionObserver((seen) => { for (const one of seen) if (one.isIntersecting) this.fill(Number(one.target.dataset.number)); },
      { root: this.element.closest(".pane"), rootMargin: "100%" });
    Object.assign(this, { text, above, marks: hits.map(() => []), places: [] });
    this.stretches = [...stretchesOf(blocksOf(text, hits, [...above.keys()]))].map((blocks, number) => {
      for (const { hits: own } of blocks) for (const hit of own) this.places[hit.number] = number;
      return { blocks, element: el("div", { class: "stretch", "data-number": String(number), "--high": `${Math.round(height(blocks, above))}px` }) };
    });
    this.stretches.slice(0, AT_ONCE).forEach((_, number) => this.fill(number));
    this.element.replaceChildren(...this.stretches.map((one) => one.element));
    for (const { element } of this.stretches.slice(AT_ONCE)) this.observer.observe(element);
    this.fillRest(this.stretches, AT_ONCE);
  }

  // The marks of a hit, which are drawn with what stands around them, and laid out at once: else they move when they are seen.
  marksOf(hit) {
    for (const number of [-1, 0, 1].map((by) => this.places[hit] + by)) {
      this.fill(number);
      this.stretches[number]?.element.classList.add("near-mark");
    }
    return this.marks[hit];
  }

  fill(number) {
    const { blocks, element } = this.stretches[number] ?? {};
    if (!blocks || element.firstChild) return;
    element.append(...blocks.flatMap((block) => [this.above.has(block.start) ? el("p", { class: "meta turn" }, this.above.get(block.start)()) : "",
      el("p", { class: "text block", dir: "auto" }, marked(this.text, block, this.marks))]).filter(Boolean));
  }

  fillRest(stretches, number) {
    if (number < stretches.length) whenIdle(() => {
      if (stretches !== this.stretches || !this.element.isConnected) return;
      this.fill(number);
      this.fillRest(stretches, number + 1);
    });
  }
}

function* stretchesOf(blocks) {
  let some = [], length = 0;
  for (const block of blocks) {
    some.push(block);
    length += block.end - block.start;
    if (length >= STRETCH) { yield some; some = []; length = 0; }
  }
  if (some.length) yield some;
}

const height = (blocks, above) => blocks.reduce((sum, { start, end }) => sum + Math.ceil((end - start) / LINE) * LINE_PX + (above.has(start) ? ABOVE_PX : 0), 0);
