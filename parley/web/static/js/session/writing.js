// Text that seats are still writing. It comes and goes: what counts is the post that takes its place.

import { el, said } from "../dom.js";
import { seatMark, seatName } from "../words.js";

const WRITES = ["queued", "thinking", "retrying", "no worker", "waits for a person", "person's turn"];

/** The transition that asked a turn, as its id begins with it. */
const asked = (turn) => Number.parseInt(turn, 10);

export class Writing {
  constructor(colour, place) {
    this.colour = colour; // seat -> class of its colour
    this.place = place; // round -> node where text is shown
    this.seats = new Map(); // seat -> { turn, node, typed }
    this.spoke = new Map(); // seat -> transition of its last post
    this.over = false;
  }

  /** A post came: the seat's text before it is over, also where some of it comes late. */
  said({ seat, transition }) {
    this.spoke.set(seat, Math.max(transition, this.spoke.get(seat) ?? -1));
    const known = this.seats.get(seat);
    if (known && !(asked(known.turn) >= transition)) this.drop(seat);
  }

  /** A seat's text as it comes, or what it is at. */
  live({ seat, turn, state, text, round }) {
    if (this.over || asked(turn) < (this.spoke.get(seat) ?? -1)) return;
    const known = this.seats.get(seat);
    if (known && !known.turn) known.turn = turn; // its beginning came with the snapshot, which names no turn
    if (known && (known.turn !== turn || state === "failed")) this.drop(seat);
    if (state === "text" && text) this.of(seat, turn, round).typed.append(text);
    else if (state === "retrying" && this.seats.has(seat)) this.seats.get(seat).typed.textContent = "";
  }

  of(seat, turn, round) {
    const known = this.seats.get(seat);
    if (known) return known;
    const typed = said("", { class: "why typing" });
    const who = el("div", { class: "who" }, el("b", { text: seatName(seat) }), el("span", { text: "is writing" }));
    const dot = el("div", { class: "dot", text: seatMark(seat) });
    const node = el(
      "div",
      { class: `post ${this.colour(seat)}`, "aria-hidden": "true" },
      dot,
      el("div", {}, who, typed),
    );
    const made = { turn, node, typed };
    this.seats.set(seat, made);
    this.place(round).append(node);
    return made;
  }

  /** What all seats are at now: who is at nothing writes nothing. */
  states(list) {
    for (const { seat, state } of list) if (!WRITES.includes(state)) this.drop(seat);
  }

  drop(seat) {
    this.seats.get(seat)?.node.remove();
    this.seats.delete(seat);
  }

  /** The session is over: nobody writes any more. */
  end() {
    this.over = true;
    for (const seat of [...this.seats.keys()]) this.drop(seat);
  }
}
