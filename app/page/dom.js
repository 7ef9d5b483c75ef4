import { currentLanguage, t } from "./words.js";

// Elements without markup: every string becomes a text node.
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else if (name in element && typeof value !== "string") element[name] = value;
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export const field = (label, control) => el("label", {}, label, control);

// A text in which keys stand in brackets.
export const keyed = (text) => text.split(/\[([^\]]+)\]/).map((piece, index) => (index % 2 ? el("kbd", {}, piece) : piece));

export function select(options, value, onchange) {
  const control = el("select", { onchange: () => onchange(control.value) });
  fill(control, options, value);
  return control;
}

export function fill(control, options, value) {
  control.replaceChildren(...options.map(([name, label]) => el("option", { value: name, selected: name === value }, label)));
}

export function say(text) {
  document.getElementById("status").textContent = text;
}

export function problem(error) {
  return el("section", { class: "panel problem", role: "alert" },
    el("h2", {}, error.message), error.hint ? el("p", { class: "muted" }, error.hint) : null);
}

// What is wrong with a field stands at it, until it is changed.
export function fieldProblem(control, error) {
  clearProblem(control);
  const id = `problem-${control.id || control.name}`;
  control.setAttribute("aria-invalid", "true");
  control.setAttribute("aria-describedby", id);
  control.after(el("span", { id, class: "wrong", role: "alert" }, [error.message, error.hint].filter(Boolean).join(" ")));
  control.addEventListener("input", () => clearProblem(control), { once: true });
  control.focus();
}

export function clearProblem(control) {
  control.removeAttribute("aria-invalid");
  control.removeAttribute("aria-describedby");
  if (control.nextElementSibling?.classList.contains("wrong")) control.nextElementSibling.remove();
}

// A button that asks once more before it acts. The second click of a double one is no answer.
export function sureButton(label, sure, action) {
  const button = el("button", { type: "button", class: "plain" }, label);
  const again = (event) => {
    if (event.detail > 1) return;
    if (event.type === "click" && button.textContent === sure) action();
    else button.textContent = event.type === "click" ? sure : label;
  };
  for (const name of ["click", "blur"]) button.addEventListener(name, again);
  return button;
}

// Columns of numbers stand to the right.
export function table(headings, rows, caption) {
  const isRight = headings.map((_, column) => rows.some((row) => row[column] !== "") && rows.every((row) => row[column] === "" || isNumber(row[column])));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, el("table", {},
    el("caption", { class: "hidden" }, caption),
    el("thead", {}, el("tr", {}, headings.map((heading, column) => el("th", { scope: "col", class: isRight[column] ? "number" : null }, heading)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, column) => el("td", { class: isRight[column] ? "number" : isShort(cell) ? "short" : null }, cell)))))));
}

export const size = (bytes) => (bytes < 1e5 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toLocaleString(currentLanguage(), { maximumFractionDigits: 1 })} MB`);

export const when = (time) => new Date(time).toLocaleString(currentLanguage(), { dateStyle: "short", timeStyle: "short" });

const isNumber = (cell) => typeof cell === "string" && /^[-+\u2212]?[\d,.\u202f\u00a0]+( [kM]B| m?s)?$/.test(cell);

const isShort = (cell) => typeof cell === "string" && cell.length <= 20;

export function openDialog(title, ...content) {
  const dialog = document.getElementById("dialog");
  dialog.onkeydown = null;
  // What is pressed within the dialog is one of its children; the dialog itself is what lies around it.
  dialog.onpointerdown = (event) => { if (event.target === dialog) dialog.close(); };
  dialog.replaceChildren(
    el("div", { class: "row head" }, el("h2", { id: "dialog-title", class: "grow" }, title),
      el("button", { class: "plain", type: "button", onclick: () => dialog.close() }, t("close"))),
    el("div", { class: "body", tabindex: "0", role: "group", "aria-labelledby": "dialog-title" }, content.flat()));
  if (!dialog.open) dialog.showModal();
  else dialog.querySelector("button").focus(); // what had the focus is gone
  return dialog;
}

export function download(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// A cell that a spreadsheet would run as a formula is kept as text by an apostrophe.
export function csv(rows) {
  const cell = (value) => {
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
