import { get } from "./api.js";
import { el, table } from "./dom.js";
import { tryIt } from "./try_it.js";
import { t } from "./words.js";

// The OpenAPI document, to read. Its descriptions are set as text.
export async function referenceView(main) {
  const document = await get("/openapi.json");
  const routes = Object.entries(document.paths).flatMap(([path, item]) => Object.entries(item).map(([method, route]) => ({ path, method, route })));
  main.replaceChildren(el("h1", {}, `${document.info.title} API ${document.info.version}`), ...prose(document.info.description),
    el("p", {}, el("a", { href: "openapi.json" }, t("openapi"))), ...groups(routes, document.tags || []).flatMap(({ name, description, own }) => [
      el("h2", { class: "section" }, name[0].toUpperCase() + name.slice(1), " ", el("span", { class: "meta" }, description)), ...own.map((one) => described(one, document))]));
}

// Routes by their tags, in the order of the document.
function groups(routes, tags) {
  const of = ({ route }) => route.tags?.[0] || "other";
  const known = new Map(tags.map((tag) => [tag.name, tag.description]));
  return [...new Set([...known.keys(), ...routes.map(of)])].map((name) => ({ name, description: known.get(name) || "", own: routes.filter((one) => of(one) === name) })).filter(({ own }) => own.length);
}

// What stands between backticks is code.
const coded = (text) => text.split("`").map((piece, index) => (index % 2 ? el("code", {}, piece) : piece));
const prose = (text) => text.split(/\n\s*\n/).map((paragraph) => el("p", { class: "prose" }, coded(paragraph)));
const cell = (text = "") => el("span", { class: "meaning" }, coded(text));

function described({ path, method, route }, document) {
  const body = Object.entries(route.requestBody?.content || {});
  const content = prose(route.description || "");
  if (route.parameters?.length) content.push(table([t("parameter"), t("where"), t("meaning")], route.parameters.map((one) => [one.name + (one.required ? ` (${t("required")})` : ""), one.in, cell(one.description)]), t("parameters")));
  for (const [type, { schema }] of body) content.push(el("p", { class: "meta" }, t("body_of", { type })), fields(schema, document));
  content.push(table([t("status"), t("meaning")], Object.entries(route.responses).map(([status, answer]) => [status, cell(answer.description)]), t("answers")));
  content.push(tryIt({ path, method, route }, document.components.schemas));
  return el("details", { class: "panel" }, el("summary", {}, el("strong", {}, `${method.toUpperCase()} ${path}`), el("span", { class: "meta" }, ` ${route.summary || ""}`)), content);
}

function fields(schema, document) {
  const references = [schema, ...(schema?.anyOf || [])].map((one) => one?.$ref).filter(Boolean);
  const model = references.length ? document.components.schemas[references[0].split("/").at(-1)] : schema;
  const rows = Object.entries(model?.properties || {}).map(([name, one]) => [name, one.default === undefined ? "" : JSON.stringify(one.default), cell(one.description)]);
  return rows.length ? table([t("field"), t("default"), t("meaning")], rows, t("body_fields")) : el("p", {}, model?.description || "");
}
