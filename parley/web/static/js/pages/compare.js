// Two sessions side by side: what they came to, what differs, what was said.

import { get } from "../api.js";
import { Panel, el, link, put, redraw, said, table } from "../dom.js";
import { answerCard, ending, goneCard, openCard, warnings } from "../session/answer.js";
import { Signals, asked } from "../session/aside.js";
import { evidence } from "../session/evidence.js";
import { Posts } from "../session/posts.js";
import { follow } from "../stream.js";
import { count, named, span, usd } from "../words.js";

export async function show(main) {
  const asks = new URLSearchParams(location.search);
  const ids = [asks.get("a"), asks.get("b")];
  if (ids.some((id) => !/^[A-Za-z0-9_-]{1,64}$/.test(id || ""))) {
    put(
      main,
      el("h1", { text: "Compare" }),
      said("Choose two sessions in the list."),
      el("p", {}, link("/", "All sessions")),
    );
    return;
  }
  const found = await Promise.all(ids.map((id) => get(`/api/sessions/${id}`)));
  document.title = "Two sessions · Parley";
  const facts = el("section", { class: "card", "aria-label": "What differs" });
  const sides = found.map((session, i) => new Side(session, "ab"[i]));
  const tell = () => put(facts, differences(found));
  put(
    main,
    el("h1", { text: "Two sessions" }),
    el("div", { class: "columns" }, sides.map((side) => side.above)),
    facts,
    el("div", { class: "columns" }, sides.map((side) => side.below)),
  );
  tell();
  for (const side of sides) if (side.session.status === "open") live(side, tell);
}

class Side {
  constructor(session, prefix) {
    this.session = session;
    this.posts = new Posts(session, { prefix: `${prefix}-` });
    this.signals = new Signals(`${prefix}-signals`);
    this.evidence = new Panel(`${prefix}-evidence`, "Evidence");
    this.answer = el("div");
    this.above = el(
      "section",
      { "aria-label": `Session ${session.session}` },
      el("h2", {}, link(`/s/${session.session}`, session.question || session.session, { dir: "auto" })),
      this.answer,
    );
    this.below = el(
      "section",
      { "aria-label": `Argument of ${session.session}` },
      el("div", { class: "panels" }, this.signals.node, this.evidence.node),
      this.posts.node,
    );
    this.posts.refused(session.refused);
    this.show();
  }

  show() {
    const { session, posts } = this;
    const card = session.result
      ? answerCard(session.result, (n) => posts.anchor(n), false)
      : session.status === "open"
        ? openCard(session, posts.held, asked(session.seats).join(", "), posts.prefix)
        : goneCard(session);
    put(this.answer, card, warnings(session.warnings, session.result));
    this.signals.show(session.signals);
    evidence(this.evidence, session, posts);
  }
}

const tokens = ({ usage }) => usage.input_tokens + usage.output_tokens;
const FACTS = [
  ["Question", (s) => s.question],
  ["Answer", (s) => s.result?.text || "–"],
  ["Ended", (s) => s.result?.stop || s.status],
  ["Confidence", (s) => [s.result?.confidence, s.result?.reads].filter(Boolean).join(", ") || "–"],
  ["Protocol", (s) => s.protocol],
  ["Rounds", (s) => String(s.round)],
  ["Seats", (s) => String(s.seats.length)],
  ["Models", (s) => [...new Set(s.seats.map((seat) => seat.model).filter(Boolean))].join(", ")],
  ["Changes of mind", (s) => String(s.changes.length)],
  ["Used", (s) => `${count(tokens(s), "token")}, ${count(s.usage.calls, "call")}`],
  ["Cost", (s) => (s.usage.unpriced ? "price not known" : usd(s.usage.cost_usd))],
  ["Time", (s) => (s.closed_ms ? span((s.closed_ms - s.opened_ms) / 1000) : "still open")],
];

/** A row for each figure, and for each setting that is not the same. What differs is marked, and says so. */
function differences(both) {
  const rows = FACTS.map(([name, words]) => [name, ...both.map(words)]);
  const [one, other] = both.map((s) => s.settings);
  for (const name of Object.keys({ ...one, ...other }).sort()) {
    const values = [one, other].map((settings) => (name in settings ? JSON.stringify(settings[name]) : "–"));
    if (values[0] !== values[1] && both[0].protocol === both[1].protocol) rows.push([named(name), ...values]);
  }
  const [unlike, alike] = [true, false].map((differs) => rows.filter(([, a, b]) => (a !== b) === differs));
  const mark = (name, i) => (name === "Ended" && both[i].result ? [ending(both[i].result.kind), " "] : null);
  const made = (list, kind, sign) =>
    list.map(([name, ...cells]) => ({ class: kind, cells: [name, ...cells.map((text, i) => [mark(name, i), text]), sign] }));
  return table(
    ["", ...both.map((s) => link(`/s/${s.session}`, s.session)), ""],
    [...made(unlike, "differs", "≠ differs"), ...made(alike, "same", "same")],
    { class: "compared", label: "Facts of both", figures: 9 },
  );
}

/** Follow one side while its session runs. */
function live(one, tell) {
  const { session, posts } = one;
  const change = ({ session: _, ...facts }) => {
    Object.assign(session, facts);
    one.show();
    tell();
  };
  const shown = session.rounds.flatMap((round) => round.posts.map((post) => ({ session: session.session, post })));
  const on = {
    post: ({ post, round_note: note, round_title: title }) => {
      posts.add(post, note, title);
      change({});
    },
    live: (event) => posts.writing.live({ ...event, round: session.round }),
    view: (now) => {
      if (now.seats) posts.seats(now.seats);
      if (now.refused) posts.refused(now.refused);
      if (now.result) posts.writing.end();
      change(now);
    },
    end: () => stop(),
  };
  const stop = follow(`/api/sessions/${session.session}/events`, session.position, on, shown);
}
