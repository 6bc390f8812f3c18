// What is used of the limits of whoever asks, and of the tenant: openings beyond them are refused.

import { get } from "./api.js";
import { bar, el, put, section } from "./dom.js";
import { until } from "./time.js";
import { count, usd } from "./words.js";

const NEAR = 0.8; // share of a limit from which it is worth a look where nobody asks anything
const WORDS = {
  open_sessions: ["Open sessions", (n) => n.toLocaleString("en")],
  openings_per_minute: ["Openings in a minute", (n) => n.toLocaleString("en")],
  tokens_per_day: ["Tokens today", (n) => count(n, "token")],
  usd_per_day: ["US dollars today", usd],
};

/** Fill a place with the limits, those alone that are near with `near`; empty where there are none. */
export async function limits(place, near = false) {
  const { limits: all } = await get("/api/limits").catch(() => ({ limits: [] }));
  const shown = all.filter(({ used, most }) => !near || used / most >= NEAR);
  put(place, shown.length > 0 && section(near ? "Limits that are near" : "Your limits", { class: "card limits" }, shown.map(row)));
}

function row({ limit, tenant, used, most, retry_s: retry }) {
  const [label, words] = WORDS[limit] || [limit, String];
  const over = used >= most;
  const of = `${words(used)} of ${words(most)}`;
  const left = over ? ["Reached. Again in ", until(el("b"), Date.now() + retry * 1000, "a moment")] : `${words(most - used)} left`;
  return el(
    "div",
    {},
    el("div", { class: "sub" }, el("b", { text: label }), tenant && el("span", { text: "all together" })),
    bar(used / most, `${label}: ${of}`, { class: over ? "bar over" : "bar" }),
    el("div", { class: "sub" }, el("span", { text: of }), el("span", { class: over ? "bad" : "" }, left)),
  );
}
