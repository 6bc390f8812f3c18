// Beside the argument: signals, why it stopped, who changed, seats, budget. Each is what a panel shows.

import { chart } from "../chart.js";
import { Panel, bar, el, fold, put, table } from "../dom.js";
import { since, ticks } from "../time.js";
import { brief, count, cut, named, number, seatName, span, usd } from "../words.js";

/** Signals as they move, with their thresholds. The first chart is seen, the others are folded away. */
export class Signals {
  constructor(id = "signals") {
    this.panel = new Panel(id, "Signals", true);
    this.charts = new Map();
    this.first = el("div");
    this.more = el("div");
    this.fold = fold("More signals", this.more);
    put(this.panel.body, this.first, this.fold);
  }

  get node() {
    return this.panel.node;
  }

  /** Signals of one group and scale share a chart. */
  show(series) {
    const groups = new Map();
    for (const one of series) {
      if (one.form === "points" || !one.values.some((value) => value !== null)) continue;
      const scale = `${one.group},${one.least},${one.most}`;
      groups.set(scale, [...(groups.get(scale) || []), one]);
    }
    this.node.hidden = !groups.size;
    this.fold.hidden = groups.size < 2;
    for (const [scale, group] of groups) {
      const [first] = group;
      if (!this.charts.has(scale)) {
        const made = chart(group.length === 1 ? first.label : first.group, [first.least ?? 0, first.most ?? 1]);
        (this.charts.size ? this.more : this.first).append(made.node);
        this.charts.set(scale, made);
      }
      this.charts.get(scale).show(figures(group));
    }
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

/** Each rule with its figure, met or not. */
export function why(panel, session) {
  const { result, refused, changes } = session;
  const rows = rules(session);
  if (refused.length) rows.push(["replies that were not accepted", String(refused.length), ""]);
  const bare = changes.filter((change) => !change.explained).length;
  if (changes.length) rows.push(["changes without a reason that was found", String(bare), bare ? "bad" : "good"]);
  panel.title.textContent = result ? "Why it stopped" : "What would stop it";
  panel.show(
    result && result.reason.replaceAll("_", " "),
    result && el("p", { dir: "auto", text: `${named(result.stop)}${result.open ? `: ${result.open}` : ""}.` }),
    rows.length > 0 && table(null, rows.map(([name, value, tone]) => [name, el("span", { class: tone, text: value })])),
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
export function changed(panel, changes, anchor) {
  const one = (change) =>
    el(
      "li",
      { dir: "auto" },
      anchor(change.post) || el("b", { text: seatName(change.seat) }),
      " ",
      el("span", { class: change.explained ? "dim" : "bad", text: change.by }),
      change.because !== null && [" ← ", anchor(change.because)],
      change.after && el("div", { text: change.before ? `${change.before} → ${change.after}` : `to ${change.after}` }),
    );
  panel.show(String(changes.length), changes.length > 0 && el("ul", { class: "plain" }, changes.map(one)));
}

const NAMES = { failed: "gave no reply", idle: "" };
const STATES = { done: "✓", failed: "–", thinking: "…", retrying: "↻", "no worker": "!", "person's turn": "…" };
const SHORT = 16; // characters of what a seat does that stand beside its name
const SAID = 120; // characters of an answer that is not posted yet, and of why a seat tries again
const WAITS = ["queued", "thinking", "retrying", "no worker", "waits for a person", "person's turn"];

/** The seats that are asked something just now. */
export const asked = (seats) => seats.filter((seat) => WAITS.includes(seat.state)).map((seat) => seatName(seat.seat));

/** Who sits where, what each is at, and for whom it waits. `sit`: seat -> a button or nothing. */
export function seats(panel, session, colour, sit) {
  const { seats: list, refused } = session;
  const people = list.filter((seat) => seat.person).length;
  const models = new Set(list.filter((seat) => !seat.person).map((seat) => seat.model));
  const [only] = models;
  const busy = session.status === "open" ? asked(list) : [];
  const row = (seat) => {
    const state = el("span", { class: seat.state === "no worker" ? "bad" : WAITS.includes(seat.state) ? "" : "dim" });
    const name = NAMES[seat.state] ?? seat.state;
    const does = seat.does.length > SHORT ? "" : seat.does;
    const words = `${STATES[seat.state] || ""} ${does || name}`.trim();
    if (seat.since_ms && WAITS.includes(seat.state)) since(state, seat.since_ms, `${words} `);
    else state.textContent = words;
    const nothing = seat.state === "failed" && refused.findLast((one) => one.seat === seat.seat);
    const told = ["done", "retrying"].includes(seat.state) && brief(seat.text, SAID);
    const waits = busy.length > 0 && ["idle", "done"].includes(seat.state) && `waits for ${brief(busy.join(", "), 60)}`;
    const who = seat.person ? "a person" : models.size > 1 ? seat.model : "";
    const more = [does ? "" : seat.does, who, nothing && brief(nothing.why), told, waits];
    return el(
      "div",
      { class: `seat ${colour(seat.seat)}` },
      el("i", { "aria-hidden": "true" }),
      el("span", { text: seatName(seat.seat) }),
      state,
      more.some(Boolean) && el("span", { class: "more", text: more.filter(Boolean).join(", ") }),
      sit(seat),
    );
  };
  panel.show(
    busy.length ? `${busy.length} at work` : String(list.length),
    list.map(row),
    models.size === 1 && only && el("p", { class: "sub", text: `${people ? "The other seats" : "All"}: ${only}` }),
  );
}

/** What was used against what may be. */
export function budget(panel, session) {
  const { usage, budget: limits } = session;
  const running = session.status === "open";
  if (!running && !session.result) return;
  const seconds = () =>
    running ? (Date.now() - session.opened_ms) / 1000 : usage.seconds || (session.closed_ms - session.opened_ms) / 1000;
  const cost = (n, unpriced) => (unpriced && !n ? "price not known" : unpriced ? `at least ${usd(n)}` : usd(n));
  const rows = [
    [usage.input_tokens + usage.output_tokens, limits.tokens, (n) => count(n, "token")],
    [usage.calls, limits.calls, (n) => count(n, "call")],
    [usage.cost_usd, limits.cost_usd, (n) => cost(n, usage.unpriced)],
  ];
  const time = el("span");
  const shown = () => (limits.seconds ? `${span(seconds())} of ${span(limits.seconds)}` : span(seconds()));
  if (running) ticks(time, shown);
  else time.textContent = shown();
  const limited = rows.filter(([, limit]) => limit);
  const rest = rows.filter(([, limit]) => !limit);
  panel.show(
    cost(usage.cost_usd, usage.unpriced),
    limited.map(([used, limit, words]) => {
      const of = `${words(used)} of ${words(limit)}`;
      return [bar(used / limit, of, { class: used > limit ? "bar over" : "bar" }), el("div", { class: "sub", text: of })];
    }),
    el("div", { class: "sub" }, rest.map(([used, , words]) => el("span", { text: words(used) })), time),
    usage.estimated && el("p", { class: "sub", text: "Some of the tokens are estimates." }),
    usage.unpriced && el("p", { class: "sub", text: "Of some of it no price is known." }),
    Object.keys(usage.by_seat).length > 0 &&
      fold(
        "By seat",
        table(
          ["Seat", "Turns", "Calls", "Tokens", "Cost"],
          Object.entries(usage.by_seat).map(([name, seat]) => [
            seatName(name),
            seat.turns,
            seat.calls,
            (seat.input_tokens + seat.output_tokens).toLocaleString("en"),
            seat.unpriced ? "not known" : usd(seat.cost_usd),
          ]),
          { label: "What each seat used" },
        ),
      ),
  );
}
