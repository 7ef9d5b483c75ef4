import { call } from "./api.js";
import { copy } from "./clipboard.js";
import { el, field, problem } from "./dom.js";
import { t } from "./words.js";

const SHOWN = 20_000;
const SAFE = ["/search", "/compare", "/summarize", "/spans", "/vectors", "/restore"];

// A form that sends a request of the reference, with the same as a command to copy.
export function tryIt({ path, method, route }, schemas) {
  const place = el("div", { role: "status" });
  const parameters = (route.parameters || []).filter((one) => one.in !== "header");
  const inputs = parameters.map((one) => [one, el("input", { required: one.required, placeholder: one.schema?.default === undefined ? "" : String(one.schema.default) })]);
  const [[type, content] = []] = Object.entries(route.requestBody?.content || {});
  const body = type ? el("textarea", { rows: "6", spellcheck: "false" }) : null;
  if (body) body.value = sampleOf(content, schemas);
  const command = el("code", { class: "curl" });
  const draw = () => { command.textContent = curl(method, filled(path, inputs), type, body?.value); };
  const submit = async (event) => {
    event.preventDefault();
    place.setAttribute("aria-busy", "true");
    try {
      const answer = await call(method.toUpperCase(), filled(path, inputs), { ...(body && { body: body.value, type }), reader: async (response) => `${response.status}\n${shaped(await response.text())}` });
      place.replaceChildren(el("p", { class: "meta" }, t("answer")), el("pre", { class: "scroll", tabindex: "0" }, answer.slice(0, SHOWN)),
        ...(answer.length > SHOWN ? [el("p", { class: "meta" }, t("answer_cut", { count: SHOWN }))] : []));
    } catch (error) { place.replaceChildren(problem(error)); }
    place.removeAttribute("aria-busy");
  };
  const form = el("form", { oninput: draw, onsubmit: submit }, el("div", { class: "options" }, inputs.map(([one, input]) => field(one.name, input))),
    body ? field(`${t("body")}: ${type}`, body) : null,
    method === "get" || SAFE.some((safe) => path.startsWith(safe)) ? null : el("p", { class: "meta" }, t("changes_data")),
    el("p", { class: "actions" }, el("button", { type: "submit" }, t("send"))),
    el("p", { class: "meta" }, t("as_curl")), el("div", { class: "row" }, el("pre", { class: "scroll grow", tabindex: "0" }, command), el("button", { type: "button", class: "plain", onclick: () => copy(command.textContent, t("copied")) }, t("copy"))));
  draw();
  return el("details", { class: "try" }, el("summary", {}, t("try_it")), form, place);
}

// The path with what was written for its places, and the query; a place without a value keeps its name.
function filled(path, inputs) {
  const query = new URLSearchParams(inputs.filter(([one, input]) => one.in === "query" && input.value).map(([one, input]) => [one.name, input.value]));
  const whole = inputs.filter(([one]) => one.in === "path").reduce((text, [one, input]) => text.replace(`{${one.name}}`, input.value ? encodeURIComponent(input.value) : `{${one.name}}`), path);
  return query.size ? `${whole}?${query}` : whole;
}

function sampleOf({ schema, example }, schemas) {
  if (example !== undefined) return typeof example === "string" ? example : JSON.stringify(example, null, 2);
  const name = [schema, ...(schema?.anyOf || [])].map((one) => one?.$ref).find(Boolean)?.split("/").at(-1);
  const given = schema?.examples?.[0] ?? schemas[name]?.examples?.[0] ?? {};
  return JSON.stringify(given, null, 2);
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

// The key stays out of the command: it would be read in a shell's history.
function curl(method, path, type, body) {
  const lines = [`curl -X ${method.toUpperCase()} ${quoted(new URL(path.slice(1), location.href).href.replaceAll("%7B", "{").replaceAll("%7D", "}"))}`, `-H "Authorization: Bearer $SPANSEEK_KEY"`];
  if (type) lines.push(`-H ${quoted(`Content-Type: ${type}`)}`, `--data-binary ${quoted(body)}`);
  return lines.join(" \\\n  ");
}

function shaped(text) {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}
