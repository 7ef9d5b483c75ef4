import { t } from "./words.js";

// Where a hit stands, as a person would say it: who speaks, when, on which page, in which document.
const SPEAKERS = ["speaker", "role", "author", "from", "sender"];
const TIMES = ["start", "start_s", "time", "at", "timestamp"];
const TITLES = ["title", "subject", "name"];
const LONGEST = 34;

const first = (names, fields) => names.find((name) => ["string", "number"].includes(typeof fields?.[name]) && fields[name] !== "");
const clock = (seconds) => {
  const whole = Math.floor(seconds), minutes = Math.floor(whole / 60) % 60, hours = Math.floor(whole / 3600);
  const two = (number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
};

export function speakerOf({ part_metadata: part }) {
  const name = first(SPEAKERS, part);
  return name ? String(part[name]) : "";
}

// Numbers are seconds from the beginning.
export function timeOf({ part_metadata: part }) {
  const name = first(TIMES, part);
  if (name) return typeof part[name] === "number" ? clock(part[name]) : part[name];
  return typeof part?.page === "number" ? t("page_at", { page: String(part.page) }) : "";
}

export function titleOf({ metadata, document_id: id }) {
  const name = first(TITLES, metadata);
  return name ? String(metadata[name]) : id;
}

// The end of a long title tells it apart as well as its beginning.
export function short(title) {
  const points = Array.from(title);
  return points.length <= LONGEST ? title : `${points.slice(0, 12).join("")}\u2026${points.slice(-(LONGEST - 13)).join("")}`;
}

export const placeOf = (hit) => [speakerOf(hit), timeOf(hit)].filter(Boolean).join(" ");

// A citation names the place to which a reader can go back.
export function citation(hit) {
  const id = hit.document_id, title = titleOf(hit);
  const where = [title === id ? id : `${title}, ${id}`, placeOf(hit), t("citation_at", { start: String(hit.start), end: String(hit.end) })].filter(Boolean).join(", ");
  return `${t("quote", { text: hit.text.trim() })} (${where})`;
}
