// A seat taken in the browser: sitting down, the clock of a turn, a draft that is kept, speaking, leaving.

import { post } from "../api.js";
import { announce, button, el, field, fold, link, option, put, said, trouble, trying } from "../dom.js";
import { until } from "../time.js";
import { seatName } from "../words.js";
import { formOf } from "./forms.js";

const THEN = { agent: "the agent takes over", miss: "the turn is missed", wait: "the session waits" };

const LOST = "A part of the gateway ended before your words had arrived. They are kept below: please speak again.";

/** The place where a person speaks. `sid`: the session; `changed`: called when the person sat down or left. */
export class Person {
  constructor(sid, changed) {
    this.sid = sid;
    this.changed = changed;
    this.node = el("div");
    this.offers = new Map(); // seat -> the form with which it is taken, kept with what was filled in
    this.seats = new Map(); // seat -> { node, body, turn }
    this.wrong = el("div", { class: "trouble", role: "alert" });
    this.node.append(this.wrong);
  }

  /** A form with which a seat is taken. */
  offer(seat) {
    if (!this.offers.has(seat)) this.offers.set(seat, this.taking(seat));
    return this.offers.get(seat);
  }

  taking(seat) {
    const seconds = el("input", { type: "number", min: 1, max: 86400, value: 300, name: `sit-seconds-${seat}` });
    const then = el(
      "select",
      { name: `sit-then-${seat}` },
      Object.entries(THEN).map(([value, text]) => option(value, text, "agent")),
    );
    const sit = () => this.ask(`/seats/${seat}/sit`, { seconds: Number(seconds.value) || 300, then: then.value });
    return fold(
      `Sit on ${seatName(seat)}`,
      field("Seconds for each turn", seconds),
      field("When they are over", then),
      button("Sit down", sit, { class: "btn main" }),
    );
  }

  ask(path, body) {
    return trying(this.wrong, async () => {
      await post(`/api/sessions/${this.sid}${path}`, body);
      await this.changed();
    })();
  }

  /** Seats on which the person sits now. */
  sits(list) {
    for (const [seat, one] of this.seats) {
      if (list.includes(seat)) continue;
      one.node.remove();
      this.seats.delete(seat);
    }
    for (const seat of list) this.seat(seat);
  }

  seat(seat) {
    const known = this.seats.get(seat);
    if (known) return known;
    const body = el("div", {}, said("You are asked when it is your turn.", { class: "dim" }));
    const leave = button("Leave the seat", () => this.ask(`/seats/${seat}/leave`, {}));
    const calls = link(`#your-${seat}`, "", { class: "calls", hidden: true });
    const node = el(
      "section",
      { class: "card speak", id: `your-${seat}`, "aria-label": `Your seat, ${seatName(seat)}` },
      el("div", { class: "row" }, el("h2", { text: `You sit on ${seatName(seat)}` }), el("span", { class: "space" }), leave),
      body,
      calls,
    );
    this.node.append(node);
    const one = { node, body, calls, seen: false, turn: "", spoken: "" };
    new IntersectionObserver(([{ isIntersecting }]) => {
      one.seen = isIntersecting;
      this.call(one);
    }).observe(node);
    this.seats.set(seat, one);
    return one;
  }

  /** A turn that waits is said at the foot of the window, where its form is out of sight. */
  call(one) {
    one.calls.hidden = !one.turn || one.seen;
  }

  /**
   * What the person on a seat is asked now, or that nothing is. `again`: all was asked for once more, of a part of the
   * gateway that may not know yet what was said.
   */
  turn({ seat, turn, message }, again = false) {
    if (!turn && !this.seats.has(seat)) return;
    const one = this.seat(seat);
    if (again && turn.turn === one.spoken) return;
    if (!turn) {
      one.turn = "";
      this.call(one);
      put(one.body, said(message || "You are asked when it is your turn.", { class: "dim" }));
      return;
    }
    if (one.turn === turn.turn) return;
    one.turn = turn.turn;
    put(one.calls, `It is your turn on ${seatName(seat)}: `, until(el("b"), turn.deadline_ms, "none"), " left");
    this.call(one);
    put(one.body, this.form(one, turn));
    announce(`It is your turn on ${seatName(seat)}.`);
  }

  form(one, turn) {
    const kept = new Drafts(`parley draft ${this.sid} ${turn.seat}`, `${turn.round} ${turn.kind}`);
    const form = formOf(turn.fields, {}, `turn-${turn.seat}-`);
    form.set(kept.read());
    const wrong = el("div", { class: "trouble", role: "alert" });
    if (turn.error) trouble(wrong, { field: "", message: `It was not accepted: ${turn.error}` });
    if (turn.turn === one.spoken) trouble(wrong, { field: "", message: LOST });
    const speak = el("button", { class: "btn main", text: "Speak" });
    const keep = () => kept.write(form.raw());
    const send = async (event) => {
      speak.disabled = true;
      keep(); // it stays until the next turn: this one may be asked again
      speak.disabled = await trying(wrong, async () => {
        await post(`/api/sessions/${this.sid}/seats/${turn.seat}/reply`, { turn: turn.turn, body: form.read() });
        Object.assign(one, { turn: "", spoken: turn.turn });
        this.call(one);
        put(one.body, said("You have spoken.", { class: "dim" }));
      })(event);
    };
    return el(
      "form",
      { on: { input: keep, submit: send } },
      said(turn.asked, { class: "reason" }),
      el(
        "p",
        { class: "sub" },
        `Round ${turn.round}; time left: `,
        until(el("b", { role: "timer" }), turn.deadline_ms, "none"),
      ),
      turn.prompt && fold("All that this seat is shown", said(turn.prompt, { class: "reason" })),
      form.nodes,
      wrong,
      speak,
    );
  }
}

/** What was typed for a turn of a seat, kept in this browser: of its last turn alone. */
class Drafts {
  constructor(seat, turn) {
    this.seat = seat;
    this.key = `${seat} ${turn}`;
  }

  read() {
    try {
      for (const key of Object.keys(localStorage))
        if (key.startsWith(`${this.seat} `) && key !== this.key) localStorage.removeItem(key);
      return JSON.parse(localStorage.getItem(this.key));
    } catch {
      return null;
    }
  }

  write(raw) {
    try {
      localStorage.setItem(this.key, JSON.stringify(raw));
    } catch {
      /* no room: the draft before stays */
    }
  }
}
