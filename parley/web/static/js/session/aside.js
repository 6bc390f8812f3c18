// Beside the argument: signals, why it stopped, who changed, seats, budget, evidence.

import { chart } from "../chart.js";
import { bar, el, put, section } from "../dom.js";
import { since, ticks } from "../time.js";
import { brief, count, cut, named, number, seatName, span, usd } from "../words.js";

const FIRST = 4; // more signals than these are folded away

/** Signals as they move, with their thresholds. */
export class Signals {
  constructor() {
    this.node = section("Signals", { id: "signals" });
    this.charts = new Map();
    this.above = el("div");
    this.more = el("div");
    this.fold = el("details", {}, el("summary", { text: "More signals" }), this.more);
    this.note = el("div", { class: "sub" });
    this.node.append(this.above, this.fold, this.note);
  }

  show(series) {
    const known = series.filter((one) => one.form !== "points" && one.values.some((value) => value !== null));
    this.node.hidden = !known.length;
    const first = known.slice(0, FIRST);
    this.group(this.above, first, "");
    this.group(this.more, known.slice(FIRST), "more ");
    this.fold.hidden = known.length <= FIRST;
  }

  /** Signals of one group and scale share a chart. */
  group(place, series, prefix) {
    const groups = new Map();
    for (const one of series) {
      const scale = `${prefix}${one.group},${one.least},${one.most}`;
      groups.set(scale, [...(groups.get(scale) || []), one]);
    }
    for (const [scale, group] of groups) {
      const [first] = group;
      if (!this.charts.has(scale)) {
        this.charts.set(
          scale,
          chart(group.length === 1 ? first.label : first.group, [first.least ?? 0, first.most ?? 1]),
        );
        place.append(this.charts.get(scale).node);
      }
      this.charts.get(scale).show(figures(group));
    }
  }

  /** The line below: where another rule would have ended it. */
  shadow(found) {
    const rows = found.rows.filter((row) => row.round !== null);
    put(this.note, rows.length ? rows.map((row) => el("span", { dir: "auto", text: row.words })) : found.note || null);
  }
}

function figures(group) {
  const rounds = [...new Set(group.flatMap((one) => one.rounds))].sort((a, b) => a - b);
  const at = (one, round) => one.values[one.rounds.indexOf(round)] ?? null;
  return {
    rounds,
    lines: group.map((one) => ({
      name: one.label,
      values: rounds.map((round) => at(one, round)),
      limit: one.threshold,
      limitName: one.threshold_label || "threshold",
      side: one.side,
    })),
  };
}

/** Each rule with its figure, met or not, and the certificate. */
export function why(session, refused, changes) {
  const rows = rules(session);
  const { result } = session;
  if (refused.length) rows.push(["replies that were not accepted", String(refused.length), ""]);
  const bare = changes.filter((change) => !change.explained).length;
  if (changes.length) rows.push(["changes without a reason that was found", String(bare), bare ? "bad" : "good"]);
  if (!result && !rows.length) return null;
  return section(
    result ? "Why it stopped" : "What would stop it",
    { id: "why" },
    result && el("p", { dir: "auto", text: `${named(result.stop)}${result.open ? `: ${result.open}` : ""}.` }),
    el(
      "table",
      {},
      el(
        "tbody",
        {},
        rows.map(([name, value, tone]) =>
          el("tr", {}, el("th", { scope: "row", text: name }), el("td", { class: `figure ${tone}`, text: value })),
        ),
      ),
    ),
    result?.rules.length > 0 && tests(result),
  );
}

/** Every reason to stop, test by test. */
function tests(result) {
  const heads = ["Test", "Value", "Wanted", "Holds"];
  const row = (test) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", text: test.what }),
      el("td", { class: "figure", text: test.value }),
      el("td", { class: "figure", text: test.wanted || "–" }),
      el("td", { class: test.holds ? "good" : "", text: test.holds ? "✓ yes" : "no" }),
    );
  return el(
    "details",
    { class: "rules", open: true },
    el("summary", { text: "Each reason to stop, test by test; the first of which every test holds is the one" }),
    result.rules.map((rule) =>
      el(
        "div",
        { class: "scroll", role: "region", "aria-label": `Tests of ${named(rule.name)}`, tabindex: 0 },
        el(
          "table",
          {},
          el("caption", { text: `${named(rule.name)}: ${rule.holds ? "✓ holds" : "does not hold"}` }),
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              heads.map((text) => el("th", { scope: "col", text })),
            ),
          ),
          el("tbody", {}, rule.tests.map(row)),
        ),
      ),
    ),
  );
}

function rules(session) {
  const rows = [];
  for (const one of session.signals) {
    if (one.threshold === null || !one.stops) continue;
    const value = one.values.findLast((v) => v !== null);
    if (value === undefined) continue;
    const met = one.stops === "above" ? value >= one.threshold : value <= one.threshold;
    const sign = one.stops === "above" ? (met ? "≥" : "<") : met ? "≤" : ">";
    rows.push([one.label, `${cut(value, 3)} ${sign} ${number(one.threshold, 3)}${met ? " ✓" : ""}`, met ? "good" : ""]);
  }
  if (session.round_limit)
    rows.push([`${session.round_name.toLowerCase()}s`, `${session.round} of ${session.round_limit}`, ""]);
  return rows;
}

/** Who changed when and on what. */
export function changed(changes, anchor) {
  if (!changes.length) return null;
  return section(
    "Who changed",
    { id: "changes" },
    el(
      "ul",
      { class: "plain" },
      changes.map((change) =>
        el(
          "li",
          { class: "sub", dir: "auto" },
          anchor(change.post) || el("b", { text: seatName(change.seat) }),
          el("span", { class: change.explained ? "" : "bad", text: change.by }),
          change.because !== null && [" ← ", anchor(change.because)],
          change.after &&
            el("span", { text: change.before ? `${change.before} → ${change.after}` : `to ${change.after}` }),
        ),
      ),
    ),
  );
}

const NAMES = { failed: "gave no reply" };
const STATES = { done: "✓", failed: "–", thinking: "…", retrying: "↻", "no worker": "!", "person's turn": "…" };
const SAID = 120; // characters of an answer that is not posted yet, and of why a seat tries again
const WAITS = ["queued", "thinking", "retrying", "no worker", "waits for a person", "person's turn"];

/** Who sits where, and what each is at. `sit`: seat -> a button or nothing. */
export function seats(list, colour, sit, refused = []) {
  if (!list.length) return null;
  const people = list.filter((seat) => seat.person).length;
  const models = new Set(list.filter((seat) => !seat.person).map((seat) => seat.model));
  const [only] = models;
  return section(
    "Seats",
    { id: "seats" },
    list.map((seat) => {
      const state = el("span", {
        class: seat.state === "no worker" ? "bad" : ["done", "failed"].includes(seat.state) ? "dim" : "",
      });
      const words = `${STATES[seat.state] || ""} ${seat.does || NAMES[seat.state] || seat.state}`.trim();
      if (seat.since_ms && WAITS.includes(seat.state))
        since(state, seat.since_ms, `${words} `);
      else state.textContent = words;
      const nothing = seat.state === "failed" && refused.findLast((one) => one.seat === seat.seat);
      const said = ["done", "retrying"].includes(seat.state) && brief(seat.text, SAID);
      const more = [seat.person ? "a person" : models.size > 1 ? seat.model : "", nothing && brief(nothing.why), said]
        .filter(Boolean)
        .join(", ");
      return el(
        "div",
        { class: `seat ${colour(seat.seat)}` },
        el("i", { "aria-hidden": "true" }),
        el("span", { text: seatName(seat.seat) }),
        state,
        more && el("span", { class: "more", text: more }),
        sit(seat),
      );
    }),
    models.size === 1 && only && el("p", { class: "sub", text: `${people ? "The other seats" : "All"}: ${only}` }),
  );
}

/** What was used against what may be. */
export function budget(session) {
  const { usage, budget: limits } = session;
  const tokens = usage.input_tokens + usage.output_tokens;
  const running = session.status === "open";
  const seconds = () =>
    running ? (Date.now() - session.opened_ms) / 1000 : usage.seconds || (session.closed_ms - session.opened_ms) / 1000;
  const rows = [
    [tokens, limits.tokens, (n) => count(n, "token")],
    [usage.calls, limits.calls, (n) => count(n, "call")],
    [usage.cost_usd, limits.cost_usd, usd],
  ];
  const time = el("span");
  const shown = () => (limits.seconds ? `${span(seconds())} of ${span(limits.seconds)}` : span(seconds()));
  if (running) ticks(time, shown);
  else time.textContent = shown();
  return section(
    "Budget",
    { id: "budget" },
    rows
      .filter(([, limit]) => limit)
      .map(([used, limit, words]) => [
        bar(used / limit, `${words(used)} of ${words(limit)}`, { class: used > limit ? "bar over" : "bar" }),
        el("div", { class: "sub", text: `${words(used)} of ${words(limit)}` }),
      ]),
    el(
      "div",
      { class: "sub" },
      rows.filter(([, limit]) => !limit).map(([used, , words]) => el("span", { text: words(used) })),
      time,
    ),
    usage.estimated && el("p", { class: "sub", text: "Some of the tokens are estimates." }),
    usage.unpriced && el("p", { class: "sub", text: "Of some of it no price is known." }),
    usage.by_seat.length > 0 && bySeat(usage.by_seat),
  );
}

function bySeat(list) {
  const heads = ["Seat", "Turns", "Calls", "Tokens", "Cost"];
  const cells = (seat) => [
    seat.turns,
    seat.calls,
    (seat.input_tokens + seat.output_tokens).toLocaleString("en"),
    seat.unpriced ? "not known" : usd(seat.cost_usd),
  ];
  const rows = list.map((seat) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", text: seatName(seat.seat) }),
      cells(seat).map((text) => el("td", { class: "figure", text })),
    ),
  );
  return el(
    "details",
    {},
    el("summary", { text: "By seat" }),
    el(
      "div",
      { class: "scroll" },
      el(
        "table",
        {},
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            heads.map((text, i) => el("th", { scope: "col", class: i ? "figure" : "", text })),
          ),
        ),
        el("tbody", {}, rows),
      ),
    ),
  );
}
