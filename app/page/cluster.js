import { get } from "./api.js";
import { copy } from "./clipboard.js";
import { el, problem, table } from "./dom.js";
import { currentLanguage, t } from "./words.js";

const AGAIN_MS = 2000;
const STATES = ["ready", "joining", "out", "drained"];

// What reads segments beside the server: asked again while it is shown, and left as it is while somebody is in it.
export async function clusterView(main) {
  const place = el("div");
  main.replaceChildren(el("h1", {}, t("cluster")), place);
  const show = async () => {
    try {
      const state = await get("/admin/cluster");
      if (place.contains(document.activeElement)) return;
      place.replaceChildren(...(state.executor === "ray" ? shown(state) : [el("section", { class: "panel" }, el("p", { class: "prose" }, t("no_cluster")))]));
      if (state.executor !== "ray") return;
    } catch (error) {
      if (!place.firstChild) throw error;
      place.replaceChildren(problem(error));
    }
    setTimeout(() => { if (place.isConnected) again(); }, AGAIN_MS);
  };
  const again = () => (document.hidden ? document.addEventListener("visibilitychange", again, { once: true }) : show());
  await show();
}

function shown({ actors, unreachable_segments: lost }) {
  const ready = actors.filter((one) => one.state === "ready").length;
  const verdict = lost ? el("p", { class: "problem", role: "alert" }, t("segments_lost", { count: lost })) : el("p", { role: "status" }, t(actors.length ? "segments_reached" : "no_actors"));
  return [el("section", { class: "panel" }, verdict, el("p", { class: "meta" }, t("actors_ready", { ready, count: actors.length }))),
    ...(actors.length ? [nodes(actors), details(actors)] : [])];
}

const number = (value) => value.toLocaleString(currentLanguage());
const sum = (actors, name) => number(actors.reduce((total, one) => total + one[name], 0));

// The nodes, and the command that empties one before it is removed.
function nodes(actors) {
  const named = new Map();
  for (const one of actors) named.set(one.node, [...(named.get(one.node) ?? []), one]);
  const headings = ["node", "node_state", "cluster_segments", "passages", "actions"].map((name) => t(name));
  const rows = [...named].map(([node, own]) => [el("span", { class: "short" }, node), states(own), sum(own, "segments"), sum(own, "units"), drain(node, own)]);
  return el("section", { class: "panel" }, el("h2", {}, t("nodes")), table(headings, rows, t("nodes")), el("p", { class: "meta" }, t("drain_hint")));
}

// What the actors of a node are doing: "2 answer, 1 does not answer".
const states = (actors) => STATES.map((state) => [state, actors.filter((one) => one.state === state).length]).filter(([, count]) => count)
  .map(([state, count]) => t(`actors_${state}_of`, { count })).join(", ");

function drain(node, actors) {
  const command = `spanseek cluster drain ${node}${actors.every((one) => one.state === "drained") ? " --undo" : ""}`;
  return el("span", { class: "row tight" }, el("code", {}, command), el("button", { type: "button", class: "quiet", "aria-label": `${t("copy")}: ${command}`, onclick: () => copy(command, t("copied")) }, t("copy")));
}

function details(actors) {
  const headings = ["name", "node", "state", "cluster_segments", "passages", "actor_waiting", "actor_answered", "actor_hedged", "actor_failed", "actor_time", "actor_idle"].map((name) => t(name));
  const rows = actors.map((one) => [one.name, el("span", { class: "short" }, one.node), el("span", { class: one.state === "out" ? "wrong" : "short" }, t(`state_${one.state}`)), ...["segments", "units", "waiting", "answered", "hedged", "failed"].map((name) => number(one[name])),
    one.seconds ? `${number(Math.ceil(1000 * one.seconds))} ms` : "", one.idle_s === null ? t("never") : `${number(Math.round(one.idle_s))} s`]);
  return el("details", { class: "panel", open: true }, el("summary", {}, t("actors")), table(headings, rows, t("actors")), el("p", { class: "meta" }, t("actors_hint")));
}

// Whether this server has a cluster; asked once.
let asked;
export const hasCluster = () => (asked ??= get("/health/ready").then(({ executor }) => executor.name === "ray", ({ status }) => { if (status !== 503) asked = null; return false; }));
