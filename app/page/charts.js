import { get, part, post } from "./api.js";
import { el } from "./dom.js";
import { currentLanguage, t } from "./words.js";

const NS = "http://www.w3.org/2000/svg";
// The fewest and the most values that a chart compares.
const FEWEST = 2;
const MOST = 12;
const CHARTS = 3;
const BARS = 6;
// So few hits are seen in the list.
const FEW_HITS = 5;

// The keys that a chart can count by: those with dates by week, others with few values.
async function keysOf(collection, signal) {
  const { fields } = await get(`/collections/${part(collection)}/metadata?limit=1`, { signal });
  const named = fields.filter(({ name }) => /^[\w.]+$/.test(name)).map(({ level, name, ...field }) => ({ ...field, key: level === "part" ? `part.${name}` : name }));
  const dates = named.filter((one) => one.types.includes("date")).map((one) => `${one.key}:week`);
  const others = named.filter((one) => one.distinct >= FEWEST && one.distinct <= MOST && !one.types.includes("date")).map((one) => one.key);
  return [...dates.slice(0, 1), ...others].slice(0, CHARTS);
}

// Small charts of the hits above a threshold: over time, and by the metadata. Nothing where there is nothing to compare.
export async function charts({ collection, text, mode, filter, spans, ranking }, threshold, signal) {
  const keys = await keysOf(collection, signal);
  if (!keys.length) return [];
  const { counts } = await post("/search", { collection, text, mode, filter, spans, ranking, threshold, counts: keys, top_k: 1, verify: 0 }, { signal });
  return counts.filter((one) => one.buckets.reduce((sum, bucket) => sum + bucket.hits, 0) > FEW_HITS).map((one) => (one.key.endsWith(":week") ? overTime(one) : byValue(one)));
}

function overTime({ key, buckets }) {
  const name = key.replace(/:week$/, ""), week = 7 * 24 * 3600e3;
  const at = buckets.map((one) => Date.parse(one.value)), last = Math.max(1, Math.round((at.at(-1) - at[0]) / week));
  const top = Math.max(...buckets.map((one) => one.hits)), peak = buckets.find((one) => one.hits === top);
  const svg = document.createElementNS(NS, "svg"), path = document.createElementNS(NS, "path");
  for (const [attribute, value] of Object.entries({ viewBox: "0 0 100 24", preserveAspectRatio: "none", "aria-hidden": "true", class: "spark" })) svg.setAttribute(attribute, value);
  const wide = 100 / (last + 1);
  path.setAttribute("d", buckets.map((one, index) => `M${Math.round((at[index] - at[0]) / week) * wide} 24v${-Math.max(1, (24 * one.hits) / top)}h${wide * 0.8}v24z`).join(""));
  svg.append(path);
  return el("section", { class: "chart" }, el("h3", { class: "meta" }, t("by_week", { name })), svg,
    el("p", { class: "meta" }, t("weeks", { first: buckets[0].value, last: buckets.at(-1).value, hits: t("hit_count", { count: top }), peak: peak.value })));
}

function byValue({ key, buckets }) {
  const top = Math.max(...buckets.map((one) => one.hits));
  return el("section", { class: "chart" }, el("h3", { class: "meta" }, t("by_key", { name: key.replace(/^part\./, "") })), el("ul", { class: "bars" }, buckets.slice(0, BARS).map((one) => el("li", {},
    el("span", {}, String(one.value)), el("i", { "--wide": String(one.hits / top), "aria-hidden": "true" }), el("span", { class: "meta" }, one.hits.toLocaleString(currentLanguage()))))));
}
