// Figures, times and names as they are read.

export const count = (n, one, many = `${one}s`) => `${Number(n).toLocaleString("en")} ${n === 1 ? one : many}`;

export const number = (n, digits = 2) => (Number.isFinite(n) ? String(Number(n.toFixed(digits))) : "–");

/** A figure cut and not rounded: what is below a threshold never looks like it. */
export const cut = (n, digits = 1) => (Number.isFinite(n) ? String(Math.floor(n * 10 ** digits) / 10 ** digits) : "–");

export const usd = (n) => (n ? `$${n >= 1 ? n.toFixed(2) : n.toFixed(4)}` : "$0");

const ACRONYMS = new Set(["ai", "api", "ci", "db", "it", "ml", "qa", "sre", "ui", "ux"]);

let packages = [];

/** How names of packages' seats begin. */
export const leaveOut = (prefixes) => {
  packages = prefixes;
};

/** `panelist_2` -> `Panelist 2`, `security-architect` -> `Security Architect` (parley/client/show/palette.py has the same rule). */
export function seatName(seat) {
  const own = String(seat || "moderator");
  const name = own.slice(packages.find((prefix) => own.startsWith(prefix))?.length ?? 0);
  const words = name.split(/[\s_-]+/).filter(Boolean);
  const big = (word) => word.charAt(0).toUpperCase() + word.slice(1);
  if (!name.includes("-") && !ACRONYMS.has(name)) return big(words.join(" "));
  return words.map((word) => (ACRONYMS.has(word) ? word.toUpperCase() : big(word))).join(" ");
}

/** What stands in a seat's disc: its number, or its first letter. */
export const seatMark = (seat) => /_(\d+)$/.exec(seat)?.[1] || (seat || "M").charAt(0).toUpperCase();

/** `4 s`, `3 min`, `2.5 h`, `3 d`. */
export function span(seconds) {
  const s = Math.max(0, seconds);
  for (const [size, unit] of [
    [86400, "d"],
    [3600, "h"],
    [60, "min"],
  ]) {
    if (s >= 2 * size) return `${number(s / size, s < 10 * size ? 1 : 0)} ${unit}`;
  }
  return `${Math.round(s)} s`;
}

/** `1:05` while somebody waits for it. */
export function clock(seconds) {
  const s = Math.max(0, Math.ceil(seconds));
  if (s >= 7200) return span(s);
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}`;
}

/** When it was: the time today, the day and the time before. `ms` since 1970. */
export function when(ms, now = Date.now()) {
  const at = new Date(ms);
  const time = at.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  if (at.toDateString() === new Date(now).toDateString()) return time;
  return `${at.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" })}, ${time}`;
}

export const named = (name) => {
  const words = String(name).replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
};

export const brief = (text, most = 160) => {
  const one = String(text ?? "")
    .replace(/\s+/g, " ")
    .trim();
  return one.length > most ? `${one.slice(0, most - 1).trimEnd()}…` : one;
};
