// Two sessions side by side: what they came to, what it took, how they differ, what was said.

import { get, query } from "../api.js";
import { el, link, put, redraw, said } from "../dom.js";
import { answerCard, ending, goneCard, openCard, warnings } from "../session/answer.js";
import { Signals } from "../session/aside.js";
import { evidence } from "../session/evidence.js";
import { Posts } from "../session/posts.js";
import { follow } from "../stream.js";
import { count, named, span, usd } from "../words.js";

export async function show(main) {
  const asked = new URLSearchParams(location.search);
  const ids = [asked.get("a"), asked.get("b")];
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
  const facts = el("div", { class: "scroll" });
  const sides = found.map((session, i) => new Side(session, "ab"[i]));
  const tell = () => put(facts, differences(found));
  put(
    main,
    el("h1", { text: "Two sessions" }),
    el(
      "div",
      { class: "columns" },
      sides.map((side) => side.above),
    ),
    facts,
    el(
      "div",
      { class: "columns" },
      sides.map((side) => side.below),
    ),
  );
  tell();
  const open = found.filter((session) => session.status === "open");
  if (open.length) live(open, sides, tell);
}

class Side {
  constructor(session, prefix) {
    this.session = session;
    this.posts = new Posts(session, { prefix: `${prefix}-` });
    this.signals = new Signals();
    this.signals.node.id = `${prefix}-signals`;
    this.signals.node.setAttribute("aria-label", `Signals of ${session.session}`);
    this.answer = el("div");
    this.evidence = el("div");
    this.above = el(
      "section",
      { "aria-label": `Session ${session.session}` },
      el("h2", {}, link(`/s/${session.session}`, session.session)),
      said(session.question, { class: "pos" }),
      this.answer,
    );
    this.below = el(
      "section",
      { "aria-label": `Argument of ${session.session}` },
      this.signals.node,
      this.posts.node,
      this.evidence,
    );
    this.posts.refused(session.refused);
    this.show();
  }

  show() {
    const { session, posts } = this;
    const card = session.result
      ? answerCard(session.result, (n) => posts.anchor(n), false)
      : session.status === "open"
        ? openCard(session, posts.held)
        : goneCard(session);
    put(this.answer, card, warnings(session.warnings));
    this.signals.show(session.signals);
    redraw(this.evidence, evidence(session, posts));
  }
}

/** A row for each figure, and for each setting that both have and that is not the same. */
function differences(both) {
  const of = (name, words) => [name, ...both.map(words)];
  const tokens = (s) => s.usage.input_tokens + s.usage.output_tokens;
  const rows = [
    of("Protocol", (s) => s.protocol),
    of("Ended", (s) => (s.result ? [ending(s.result).node, ` ${s.result.stop}`] : s.status)),
    of("Confidence", (s) => [s.result?.confidence, s.result?.reads].filter(Boolean).join(", ") || "–"),
    of("Rounds", (s) => String(s.round)),
    of("Seats", (s) => String(s.seats.length)),
    of("Models", (s) => [...new Set(s.seats.map((seat) => seat.model).filter(Boolean))].join(", ")),
    of("Changes of mind", (s) => String(s.changes.length)),
    of("Used", (s) => `${count(tokens(s), "token")}, ${count(s.usage.calls, "call")}, ${usd(s.usage.cost_usd)}`),
    of("Time", (s) => (s.closed_ms ? span((s.closed_ms - s.opened_ms) / 1000) : "still open")),
  ];
  const [one, other] = both.map((s) => s.settings);
  for (const name of Object.keys(one)
    .filter((key) => key in other)
    .sort()) {
    const values = [one[name], other[name]].map((value) => JSON.stringify(value));
    if (values[0] !== values[1]) rows.push([named(name), ...values]);
  }
  return el(
    "table",
    { class: "compared" },
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("td"),
        both.map((s) => el("th", { scope: "col" }, link(`/s/${s.session}`, s.session))),
      ),
    ),
    el(
      "tbody",
      {},
      rows.map(([name, ...cells]) =>
        el(
          "tr",
          {},
          el("th", { scope: "row", text: name }),
          cells.map((cell) => el("td", { dir: "auto" }, cell)),
        ),
      ),
    ),
  );
}

function live(open, sides, tell) {
  const side = (sid) => sides.find((one) => one.session.session === sid);
  const shown = open.flatMap((s) =>
    s.rounds.flatMap((round) => round.posts.map((post) => ({ session: s.session, post }))),
  );
  const from = open.map((s) => `${s.session}=${s.position}`).join(";");
  const change = ({ session, ...facts }) => {
    const one = side(session);
    Object.assign(one.session, facts);
    one.show();
    tell();
  };
  let left = open.length;
  const stop = follow(
    `/api/events?${query({ session: open.map((s) => s.session).join() })}`,
    from,
    {
      post: ({ session, post, round_note: note, round_title: title }) => {
        side(session).posts.add(post, note, title);
        change({ session });
      },
      live: (event) => side(event.session).posts.writing.live({ ...event, round: side(event.session).session.round }),
      seats: (event) => {
        side(event.session).posts.seats(event.seats);
        change(event);
      },
      signals: change,
      usage: change,
      refused: (event) => side(event.session).posts.refused(event.refused),
      result: (event) => {
        side(event.session).posts.writing.end();
        change(event);
      },
      end: () => (left -= 1) || stop(),
    },
    shown,
  );
}
