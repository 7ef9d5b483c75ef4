import { el } from "./dom.js";

// The width of a letter in pixels, a little more than in most fonts, and what a row has beside its text.
const LETTER = 8.6;
const EDGES = 40;

// A list of rows of equal height, of which only those near the window are in the document. `render` gets an item, its
// place, and how many characters of text a row shows.
export class VirtualList {
  constructor(label, render) {
    this.render = render;
    this.items = [];
    this.count = 0;
    this.current = 0;
    this.rows = new Map();
    this.element = el("ol", { class: "hits", "aria-label": label });
    this.listening = new AbortController();
    for (const name of ["scroll", "resize"]) {
      addEventListener(name, () => this.draw(), { passive: true, signal: this.listening.signal });
    }
  }

  show(items, count = items.length) {
    this.keep(items);
    this.items = items;
    this.count = count;
    this.select(Math.max(0, Math.min(this.current, count - 1)));
    this.draw();
  }

  // Rows of equal items stay, and with them the focus.
  keep(items) {
    if (items === this.items) return;
    for (const [index, row] of this.rows) {
      if (JSON.stringify(items[index]) === JSON.stringify(this.items[index])) continue;
      row.remove();
      this.rows.delete(index);
    }
  }

  draw() {
    const height = this.measured();
    this.element.style.height = `${this.count * height}px`;
    const top = -this.element.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(top / height) - 4);
    const last = Math.min(this.count, Math.ceil((top + innerHeight) / height) + 4);
    const isShown = (index) => index < this.count && ((index >= first && index < last) || index === this.current);
    for (const [index, row] of this.rows) if (!isShown(index)) { row.remove(); this.rows.delete(index); }
    for (let index = first; index < last; index++) this.place(index, height);
    if (this.current < this.count) this.place(this.current, height);
  }

  // The height of a row. Rows are made anew if the list has become wider or narrower.
  measured() {
    const style = getComputedStyle(this.element);
    const room = Math.floor((this.element.clientWidth - EDGES) / LETTER) * parseFloat(style.getPropertyValue("--lines"));
    if (room !== this.room) {
      for (const row of this.rows.values()) row.remove();
      this.rows.clear();
      this.room = room;
    }
    return parseFloat(style.getPropertyValue("--row"));
  }

  place(index, height) {
    if (this.rows.has(index)) {
      this.rows.get(index).setAttribute("aria-setsize", this.count);
      return;
    }
    const row = el("li", { "aria-setsize": String(this.count), "aria-posinset": String(index + 1) },
      this.render(this.items[index], index, this.room));
    row.style.top = `${index * height}px`;
    reach(row, index === this.current);
    row.addEventListener("focusin", () => this.select(index));
    const after = [...this.rows].filter(([other]) => other > index).sort(([a], [b]) => a - b)[0];
    this.element.insertBefore(row, after ? after[1] : null);
    this.rows.set(index, row);
  }

  select(index) {
    reach(this.rows.get(this.current), false);
    this.current = index;
    reach(this.rows.get(index), true);
  }

  move(step) {
    if (!this.count) return;
    const inside = this.element.contains(document.activeElement);
    this.select(inside ? Math.max(0, Math.min(this.count - 1, this.current + step)) : this.current);
    this.draw();
    const card = this.rows.get(this.current).firstChild;
    card.focus({ preventScroll: true });
    card.scrollIntoView({ block: "nearest" });
  }

  close() { this.listening.abort(); }
}

// Only the current row is reached by Tab, so that a list of any length is a few steps.
function reach(row, isCurrent) {
  for (const one of row ? [row.firstChild, ...row.querySelectorAll("button")] : []) one.tabIndex = isCurrent ? 0 : -1;
}
