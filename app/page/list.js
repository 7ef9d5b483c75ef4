import { el } from "./dom.js";

// A list of rows of equal height, of which only those near the window are in the document.
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
    if (items !== this.items) this.clear();
    this.items = items;
    this.count = count;
    this.current = Math.max(0, Math.min(this.current, count - 1));
    this.draw();
  }

  clear() {
    for (const row of this.rows.values()) row.remove();
    this.rows.clear();
    this.current = 0;
  }

  draw() {
    const height = parseFloat(getComputedStyle(this.element).getPropertyValue("--row"));
    this.element.style.height = `${this.count * height}px`;
    const top = -this.element.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(top / height) - 4);
    const last = Math.min(this.count, Math.ceil((top + innerHeight) / height) + 4);
    const isShown = (index) => index < this.count && ((index >= first && index < last) || index === this.current);
    for (const [index, row] of this.rows) if (!isShown(index)) { row.remove(); this.rows.delete(index); }
    for (let index = first; index < last; index++) this.place(index, height);
    if (this.current < this.count) this.place(this.current, height);
  }

  place(index, height) {
    if (this.rows.has(index)) {
      this.rows.get(index).setAttribute("aria-setsize", this.count);
      return;
    }
    const row = el("li", { "aria-setsize": String(this.count), "aria-posinset": String(index + 1) },
      this.render(this.items[index], index));
    row.style.top = `${index * height}px`;
    row.firstChild.tabIndex = index === this.current ? 0 : -1;
    row.firstChild.addEventListener("focus", () => this.select(index));
    const after = [...this.rows].filter(([other]) => other > index).sort(([a], [b]) => a - b)[0];
    this.element.insertBefore(row, after ? after[1] : null);
    this.rows.set(index, row);
  }

  select(index) {
    this.rows.get(this.current)?.firstChild.setAttribute("tabindex", "-1");
    this.current = index;
    this.rows.get(index)?.firstChild.setAttribute("tabindex", "0");
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
