// One session, live and after: first the answer, then the argument, and beside it what is measured.

import { get, post } from "../api.js";
import { announce, button, el, link, put, redraw, sure, trouble } from "../dom.js";
import { me, offered } from "../me.js";
import { answerCard, goneCard, headline, openCard, warnings } from "../session/answer.js";
import { feedback, take } from "../session/after.js";
import { Signals, budget, changed, seats, why } from "../session/aside.js";
import { fork, whatIf } from "../session/dialogs.js";
import { evidence } from "../session/evidence.js";
import { keep, overrides } from "../session/items.js";
import { Posts } from "../session/posts.js";
import { Person } from "../session/seat.js";
import { follow } from "../stream.js";
import { brief } from "../words.js";

const SOON_MS = 150; // several events at once are shown once

export async function show(main, sid) {
  const everything = new URLSearchParams(location.search).get("everything") === "1" ? "?everything=1" : "";
  const [who, session] = await Promise.all([me(), get(`/api/sessions/${sid}${everything}`)]);
  new SessionPage(main, who, session, everything).begin();
}

class SessionPage {
  constructor(main, who, session, everything) {
    Object.assign(this, { main, who, session, everything });
    this.offer = offered(who, session.protocol);
    this.posts = new Posts(session);
    this.signals = new Signals();
    this.person = new Person(session.session, () => this.again());
    const places = [
      "head",
      "answer",
      "warnings",
      "wrong",
      "items",
      "overrides",
      "why",
      "changes",
      "seats",
      "budget",
      "evidence",
      "feedback",
      "keep",
    ];
    this.at = Object.fromEntries(places.map((name) => [name, el("div")]));
    this.at.wrong.className = "trouble";
    this.at.wrong.setAttribute("role", "alert");
    this.due = new Set();
  }

  begin() {
    const { main, at, session } = this;
    document.title = `${brief(session.question, 80) || session.session} · Parley`;
    main.className = "two";
    main.before(
      el(
        "nav",
        { class: "jump", "aria-label": "On this page" },
        [
          ["#answer", "Answer"],
          ["#argument", "Argument"],
          ["#signals", "Signals"],
          ["#why", "Why it stops"],
          ["#seats", "Seats"],
          ["#budget", "Budget"],
        ].map(([href, text]) => link(href, text)),
      ),
    );
    at.answer.id = "answer";
    put(
      main,
      el(
        "div",
        {},
        at.head,
        at.answer,
        at.warnings,
        at.wrong,
        at.items,
        at.overrides,
        el("div", { id: "argument" }, this.posts.node),
        this.person.node,
      ),
      el(
        "aside",
        { "aria-label": "Beside the argument" },
        this.signals.node,
        at.why,
        at.changes,
        at.seats,
        at.budget,
        at.evidence,
        at.feedback,
        at.keep,
      ),
    );
    this.all();
    this.posts.target();
    addEventListener("hashchange", () => this.posts.target());
    if (this.open) this.follow();
    else if (this.session.result) this.shadow();
  }

  get open() {
    return this.session.status === "open";
  }

  follow() {
    const { session, posts } = this;
    const shown = session.rounds.flatMap((round) =>
      round.posts.map((card) => ({ session: session.session, post: card })),
    );
    for (const seat of session.seats) {
      if (seat.text)
        posts.writing.live({ seat: seat.seat, turn: "", state: "text", text: seat.text, round: session.round });
    }
    this.stop = follow(
      `/api/sessions/${session.session}/events${this.everything}`,
      session.position,
      {
        post: ({ post: card, round_note: note, round_title: title }) => {
          posts.add(card, note, title);
          session.round = Math.max(session.round, card.round);
          this.soon("answer", "evidence");
        },
        live: (live) => posts.writing.live({ ...live, round: session.round }),
        seats: ({ seats: list, round }) => {
          Object.assign(session, { seats: list, round: Math.max(session.round, round) });
          posts.seats(list);
          if (this.may("what-if")) this.shadow();
          this.soon("seats", "answer");
        },
        signals: ({ signals, board, changes }) => {
          Object.assign(session, { signals, board, changes });
          this.soon("signals", "why", "changes", "answer");
        },
        usage: ({ usage }) => {
          session.usage = usage;
          this.soon("budget");
        },
        refused: ({ refused }) => {
          session.refused = refused;
          this.soon("refused", "why", "seats");
        },
        items: ({ items }) => {
          session.items = items;
          this.soon("items");
        },
        turn: (turn) => {
          this.person.turn(turn);
          if (!turn.turn) this.again(); // the seat may be its agent's again
        },
        result: ({ status, result, warnings: list }) => {
          Object.assign(session, { status, result, warnings: list });
          posts.writing.end();
          announce(`The session is over. ${result.lines.map((line) => line.text).join(" ")}`);
          this.soon("head", "answer", "warnings", "why");
        },
        end: () => {
          this.stop();
          this.again();
          this.shadow();
        },
      },
      shown,
    );
  }

  /** Ask for all but the posts once more: what may be done has changed. */
  async again() {
    try {
      const { rounds, ...rest } = await get(`/api/sessions/${this.session.session}${this.everything}`);
      Object.assign(this.session, rest);
      this.all();
    } catch (error) {
      trouble(this.at.wrong, error);
    }
  }

  soon(...parts) {
    if (!this.due.size)
      setTimeout(() => {
        const due = [...this.due];
        this.due.clear();
        for (const part of due) this[`show_${part}`]();
      }, SOON_MS);
    for (const part of parts) this.due.add(part);
  }

  all() {
    for (const part of [
      "head",
      "answer",
      "warnings",
      "items",
      "overrides",
      "signals",
      "why",
      "changes",
      "seats",
      "budget",
      "evidence",
      "refused",
      "keep",
    ])
      this[`show_${part}`]();
    this.person.sits(this.session.sits);
    for (const turn of this.session.turns) this.person.turn({ seat: turn.seat, turn }, true);
  }

  may(what) {
    return this.session.may.includes(what);
  }

  // -- parts, each shown anew
  show_head() {
    put(this.at.head, headline(this.session));
    this.actions();
  }

  actions() {
    const { session, offer } = this;
    put(
      document.getElementById("actions"),
      this.may("what-if") && offer && button("What if…", () => whatIf(session, offer, (n) => this.posts.said(n))),
      this.may("fork") && offer && button("Fork", () => fork(session, offer)),
      this.open && this.may("cancel") && sure("Answer now", "End it with this?", () => this.end("answer-now")),
      this.open && this.may("cancel") && sure("Cancel", "End it?", () => this.end("cancel")),
    );
  }

  async end(how) {
    trouble(this.at.wrong, null);
    try {
      await post(`/api/sessions/${this.session.session}/${how}`, {});
    } catch (error) {
      trouble(this.at.wrong, error);
    }
  }

  show_answer() {
    const { session, posts } = this;
    if (session.result)
      redraw(
        this.at.answer,
        answerCard(session.result, (n) => posts.anchor(n), true, (quote) => posts.quoted(quote)),
      );
    else redraw(this.at.answer, this.open ? openCard(session, posts.held) : goneCard(session));
  }

  show_warnings() {
    put(this.at.warnings, warnings(this.session.warnings));
  }

  show_items() {
    keep(this.at.items, this.session.items, () => this.again());
  }

  show_overrides() {
    if (this.at.overrides.contains(document.activeElement)) return;
    put(
      this.at.overrides,
      overrides(this.session, () => this.again()),
    );
  }

  show_signals() {
    this.signals.show(this.session.signals);
  }

  show_why() {
    redraw(this.at.why, why(this.session, this.session.refused, this.session.changes));
  }

  show_changes() {
    redraw(
      this.at.changes,
      changed(this.session.changes, (n) => this.posts.anchor(n)),
    );
  }

  show_seats() {
    const { session, who } = this;
    const free = new Set(this.open && this.may("sit") ? who.seats.map((one) => one.seat) : []);
    redraw(
      this.at.seats,
      seats(
        session.seats,
        (seat) => this.posts.colour(seat),
        (seat) => free.has(seat.seat) && !session.sits.includes(seat.seat) && this.person.offer(seat.seat),
        session.refused,
      ),
    );
  }

  show_budget() {
    redraw(this.at.budget, (this.open || this.session.result) && budget(this.session));
  }

  show_evidence() {
    redraw(this.at.evidence, evidence(this.session, this.posts));
  }

  show_refused() {
    this.posts.refused(this.session.refused);
  }

  show_keep() {
    const { session } = this;
    put(this.at.feedback, this.feedback());
    const on =
      !this.open &&
      this.who.operates &&
      session.result &&
      link(`/new?continues=${session.session}`, "Ask a follow-up", { class: "btn" });
    put(this.at.keep, this.may("export") && take(session, on));
  }

  /** What was said of the answer, and the buttons to say it. */
  feedback() {
    const { session } = this;
    const may = this.may("feedback");
    return (may || session.feedback) && feedback(session, may ? (told) => this.rate(told) : null);
  }

  async rate(told) {
    trouble(this.at.wrong, null);
    try {
      await post(`/api/sessions/${this.session.session}/feedback`, told);
      await this.again();
    } catch (error) {
      trouble(this.at.wrong, error);
    }
  }

  /** The line below the signals; while the session runs once a round, and only where another rule has ended it already. */
  async shadow() {
    const { session, open } = this;
    if (open && session.round === this.shadowed) return;
    this.shadowed = session.round;
    const found = await get(`/api/sessions/${session.session}/shadow`).catch(() => null);
    if (found && open === this.open) this.signals.shadow(open ? { ...found, note: "" } : found);
  }
}
