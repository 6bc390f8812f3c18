// One session, live and after: first the answer, then the argument, and beside it what is measured.

import { get, post } from "../api.js";
import { Panel, announce, button, el, link, put, redraw, sure, trouble, trying } from "../dom.js";
import { me, offered } from "../me.js";
import { answerCard, firsts, goneCard, headline, openCard, warnings } from "../session/answer.js";
import { feedback, take } from "../session/after.js";
import { Signals, asked, budget, changed, seats, why } from "../session/aside.js";
import { beliefs } from "../session/beliefs.js";
import { scoreboard } from "../session/scoreboard.js";
import { fork, whatIf } from "../session/dialogs.js";
import { evidence } from "../session/evidence.js";
import { keep, overrides } from "../session/items.js";
import { notices, tellEnd } from "../session/notice.js";
import { Posts } from "../session/posts.js";
import { Person } from "../session/seat.js";
import { follow } from "../stream.js";
import { brief } from "../words.js";

const SOON_MS = 150; // several events at once are shown once
const TOP = 76; // pixels above what stays while one scrolls
const PLACES = ["head", "answer", "act", "firsts", "board", "warnings", "wrong", "items", "overrides", "beliefs"];
const PARTS = [...PLACES.filter((name) => name !== "wrong"), "signals", "why", "changes", "seats", "budget", "evidence", "refused"];
const READERS = {
  seats: ["seats", "answer"],
  signals: ["signals", "why"],
  board: ["board"],
  changes: ["changes"],
  usage: ["budget"],
  refused: ["refused", "why", "seats"],
  items: ["items", "answer"],
  result: ["head", "answer", "act", "board", "firsts", "warnings", "why", "seats"],
  warnings: ["warnings"],
}; // field of the view -> the parts that show it

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
    const wrong = { class: "trouble", role: "alert" };
    const kinds = { head: { class: "head" }, act: { class: "row act" }, answer: { id: "answer" }, wrong };
    this.at = Object.fromEntries(PLACES.map((name) => [name, el("div", kinds[name])]));
    this.panels = {
      seats: new Panel("seats", "Seats", this.open),
      why: new Panel("why", "Why it stopped"),
      changes: new Panel("changes", "Who changed"),
      budget: new Panel("budget", "Budget"),
      evidence: new Panel("evidence", "Evidence"),
    };
    this.due = new Set();
  }

  begin() {
    const { main, at, session, panels } = this;
    main.className = "two";
    const beside = Object.values(panels).map((panel) => panel.node);
    const aside = el(
      "aside",
      { "aria-label": "Beside the argument" },
      el("div", { class: "panels" }, beside, this.signals.node), // the tallest below: all headings are seen
    );
    put(
      main,
      el("div", {}, PLACES.map((name) => at[name]), this.person.node, el("div", { id: "argument" }, this.posts.node)),
      aside,
    );
    this.all();
    const shown = [panels.seats, panels.budget, panels.evidence, this.signals].filter((panel) => !panel.node.hidden);
    main.before(
      el(
        "nav",
        { class: "jump", "aria-label": "On this page" },
        link("#answer", "Answer"),
        link("#argument", session.board ? "Debate" : "Argument"),
        shown.map(({ node }) => link(`#${node.id}`, node.querySelector("h2").textContent)),
      ),
    );
    stays(aside);
    this.target();
    addEventListener("hashchange", () => this.target());
    if (this.open) this.follow();
  }

  get open() {
    return this.session.status === "open";
  }

  /** Show what the address names: a post, or a part that is folded away. */
  target() {
    const node = this.posts.target();
    if (node?.matches("details")) node.open = true;
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
          this.soon("answer", "evidence", "beliefs");
        },
        live: (live) => posts.writing.live({ ...live, round: session.round }),
        view: (now) => {
          const news = Object.keys(now).filter((field) => JSON.stringify(now[field]) !== JSON.stringify(session[field]));
          Object.assign(session, now);
          if (now.seats) posts.seats(now.seats);
          if (now.result) this.ended(now.result);
          this.soon(...news.flatMap((field) => READERS[field] || []));
        },
        turn: (turn) => {
          this.person.turn(turn);
          if (!turn.turn) this.again(); // the seat may be its agent's again
        },
        end: () => {
          this.stop();
          this.again();
        },
      },
      shown,
    );
  }

  /** It is over: say so to whoever does not look. */
  ended(result) {
    this.posts.writing.end();
    const words = result.lines.map((line) => line.text).join(" ");
    announce(`The session is over. ${words}`);
    tellEnd(this.session, words);
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
    for (const part of PARTS) this[`show_${part}`]();
    this.person.sits(this.session.sits);
    for (const turn of this.session.turns) this.person.turn({ seat: turn.seat, turn }, true);
  }

  may(what) {
    return this.session.may.includes(what);
  }

  /** Do something to the session; what went wrong stands on the page. */
  tell(path, body = {}) {
    return trying(this.at.wrong, () => post(`/api/sessions/${this.session.session}/${path}`, body))();
  }

  // -- parts, each shown anew
  show_head() {
    const { session } = this;
    const ended = session.result?.text ? `✓ ${brief(session.result.text, 40)} · ` : this.open ? "" : `✓ ${session.status} · `;
    document.title = `${ended}${brief(session.question, 80) || session.session} · Parley`;
    put(this.at.head, headline(session));
  }

  /** What may be done now: end it, or say whether it was right, go on from it, and keep it. */
  show_act() {
    const { session, offer, open } = this;
    const ends = open && this.may("cancel");
    const replays = this.may("what-if") && offer && !open;
    const follows = !open && this.who.operates && session.result;
    const rates = this.may("feedback") || session.feedback;
    put(
      this.at.act,
      ends && sure("Answer now", "End it with this?", () => this.tell("answer-now")),
      ends && sure("Cancel", "End it?", () => this.tell("cancel")),
      open && notices(),
      rates && feedback(session, this.may("feedback") ? (told) => this.rate(told) : null),
      el("span", { class: "space" }),
      follows && link(`/new?continues=${session.session}`, "Ask a follow-up", { class: "btn" }),
      replays && button("What if…", () => whatIf(session, offer, (n) => this.posts.said(n))),
      this.may("fork") && offer && button("Fork", () => fork(session, offer)),
      this.may("export") && take(session),
    );
  }

  show_answer() {
    const { session, posts } = this;
    const card = session.result
      ? answerCard(session.result, (n) => posts.anchor(n), true, (quote) => posts.quoted(quote))
      : this.open
        ? openCard(session, posts.held, session.items.length ? "a human" : brief(asked(session.seats).join(", "), 120))
        : goneCard(session);
    redraw(this.at.answer, card);
  }

  show_board() {
    const { board, result } = this.session;
    const told = result?.parts.find((part) => part.first && part.table)?.lines;
    redraw(this.at.board, board && scoreboard(board, !this.open, told));
  }

  show_firsts() {
    redraw(this.at.firsts, this.session.result && firsts(this.session.result, this.session.board));
  }

  show_beliefs() {
    const { posts, session } = this;
    redraw(this.at.beliefs, beliefs([...posts.cards.values()], (seat) => posts.colour(seat), session.round_name));
  }

  show_warnings() {
    put(this.at.warnings, warnings(this.session.warnings, this.session.result));
  }

  show_items() {
    const { session: sid, items } = this.session;
    keep(this.at.items, items.map((item) => ({ session: sid, ...item })), () => this.again());
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
    why(this.panels.why, this.session);
  }

  show_changes() {
    changed(this.panels.changes, this.session.changes, (n) => this.posts.anchor(n));
  }

  show_seats() {
    const { session, who, posts } = this;
    const free = new Set(this.open && this.may("sit") ? who.seats.map((one) => one.seat) : []);
    const sit = ({ seat }) => free.has(seat) && !session.sits.includes(seat) && this.person.offer(seat);
    seats(this.panels.seats, session, (seat) => posts.colour(seat), sit);
  }

  show_budget() {
    budget(this.panels.budget, this.session);
  }

  show_evidence() {
    evidence(this.panels.evidence, this.session, this.posts);
  }

  show_refused() {
    this.posts.refused(this.session.refused);
  }

  async rate(told) {
    if (await this.tell("feedback", told)) await this.again();
  }
}

/** What stands beside the argument stays in sight: taller than the window, it stays by its end. */
function stays(aside) {
  const fit = () => {
    aside.style.top = `${Math.min(TOP, innerHeight - aside.offsetHeight - 16)}px`;
  };
  new ResizeObserver(fit).observe(aside);
  addEventListener("resize", fit);
}
