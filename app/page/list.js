import { el } from "./dom.js";

// The width of a letter in pixels, a little more than in most fonts.
const LETTER = 8.6;

// A list of rows of equal height, of which only those near the window are in the document. One of them may be opened: it is
// higher. `render` gets an item, its place, and how many characters of text a row shows. The style says the heights of a row
// (`--row`) and of what an opened one has more (`--more`), its lines of text, and what it has beside them (`--edges`).
export class VirtualList {
  constructor(label, render) {
    this.render = render;
    this.items = [];
    this.count = 0;
    this.current = 0;
    this.opened = -1;
    this.rows = new Map();
    this.element = el("ol", { class: "hits", "aria-label": label });
    this.listening = new AbortController();
    for (const name of ["scroll", "resize"]) {
      addEventListener(name, () => this.draw(), { passive: true, signal: this.listening.signal });
    }
  }

  show(items, count = items.length) {
    const focus = this.focus();
    if (!isSame(items[this.opened], this.items[this.opened])) this.opened = -1;
    this.keep(items);
    this.items = items;
    this.count = count;
    this.select(Math.max(0, Math.min(this.current, count - 1)));
    this.draw();
    this.refocus(focus);
  }

  // What has the focus within the current row, by its number; -1 if nothing has it.
  focus() { return controls(this.rows.get(this.current)).indexOf(document.activeElement); }

  // Gives the focus back to the current row if it was lost with the row before.
  refocus(number) {
    const made = controls(this.rows.get(this.current));
    if (number >= 0 && !made.includes(document.activeElement)) (made[number] || made[0])?.focus({ preventScroll: true });
  }

  // Rows of equal items stay, and with them the focus.
  keep(items) {
    if (items === this.items) return;
    for (const [index, row] of this.rows) {
      if (isSame(items[index], this.items[index])) continue;
      row.remove();
      this.rows.delete(index);
    }
  }

  // Opens a row, or closes it; `render` is asked again for those that change.
  open(index) {
    const before = this.opened;
    this.opened = index === before ? -1 : index;
    for (const one of [before, index]) if (one >= 0) this.renew(one);
  }

  // Makes a row anew.
  renew(index) {
    const focus = this.focus();
    this.rows.get(index)?.remove();
    this.rows.delete(index);
    this.draw();
    this.refocus(focus);
  }

  draw() {
    const [height, more] = this.measured();
    const isOpen = this.opened >= 0 && this.opened < this.count;
    this.top = (index) => index * height + (isOpen && index > this.opened ? more : 0);
    this.element.style.height = `${this.count * height + (isOpen ? more : 0)}px`;
    for (const [index, row] of this.rows) row.style.top = `${this.top(index)}px`;
    const top = -this.element.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor((top - (isOpen ? more : 0)) / height) - 4);
    const last = Math.min(this.count, Math.ceil((top + innerHeight) / height) + 4);
    const isShown = (index) => index < this.count && ((index >= first && index < last) || index === this.current);
    for (const [index, row] of this.rows) if (!isShown(index)) { row.remove(); this.rows.delete(index); }
    for (let index = first; index < last; index++) this.place(index);
    if (this.current < this.count) this.place(this.current);
  }

  // The heights of a row and of what an opened one has more. Rows are made anew if the list has become wider or narrower.
  measured() {
    const style = getComputedStyle(this.element);
    const room = Math.floor((this.element.clientWidth - parseFloat(style.getPropertyValue("--edges"))) / LETTER) * parseFloat(style.getPropertyValue("--lines"));
    if (room !== this.room) {
      for (const row of this.rows.values()) row.remove();
      this.rows.clear();
      this.room = room;
    }
    return ["--row", "--more"].map((name) => parseFloat(style.getPropertyValue(name)));
  }

  place(index) {
    if (this.rows.has(index)) {
      this.rows.get(index).setAttribute("aria-setsize", this.count);
      return;
    }
    const row = el("li", { "aria-setsize": String(this.count), "aria-posinset": String(index + 1) },
      this.render(this.items[index], index, this.room));
    row.style.top = `${this.top(index)}px`;
    row.classList.toggle("opened", index === this.opened);
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

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

const controls = (row) => (row ? [row.firstChild, ...row.querySelectorAll("button")] : []);

// Only the current row is reached by Tab, so that a list of any length is a few steps.
function reach(row, isCurrent) {
  for (const one of controls(row)) one.tabIndex = isCurrent ? 0 : -1;
}
