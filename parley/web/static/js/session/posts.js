// What was said, by rounds: posts as they come, text that is still being written, and what was not accepted.

import { announce, bar, el, fold, link, put, said } from "../dom.js";
import { brief, count, number, seatMark, seatName, when } from "../words.js";
import { code } from "./diff.js";
import { Writing } from "./writing.js";

const TONES = { good: "chip arg", warn: "chip bad", plain: "chip", quiet: "quiet" };
const LONG = 900; // characters of a text that stands without a fold
const BRIEF = 160; // characters of a measure that is told at once
const MANY = 300; // posts of which the browser draws those alone that are seen

/** The posts of one session. `prefix`: in front of the anchors, where a page has two of them. */
export class Posts {
  constructor(session, { prefix = "" } = {}) {
    this.prefix = prefix;
    this.sid = session.session;
    this.node = el("div", { class: "posts" });
    this.rounds = new Map(); // round -> { posts, refused, live }
    this.cards = new Map(); // number -> what it is
    this.nodes = new Map(); // number -> its node
    this.held = new Map(); // seat -> what it holds
    this.quotes = new Map(); // document and quotation -> { document, quote, posts, file and href: its document and its place there }
    this.colours = new Map();
    this.sides = new Map(); // seat -> the side for which it speaks
    this.writing = new Writing(
      (seat) => this.colour(seat),
      (round) => this.round(round, "").live,
    );
    this.roundName = session.round_name;
    this.limit = session.round_limit;
    this.seats(session.seats);
    for (const round of session.rounds) {
      const place = this.round(round.round, round.name, round.note);
      const made = document.createDocumentFragment();
      for (const post of round.posts) made.append(...this.take(post));
      place.posts.append(made);
    }
  }

  /** Seats have the colours of their sides, or else by their order, and keep them. */
  seats(list) {
    for (const { seat } of list) this.colour(seat);
    this.writing.states(list);
  }

  colour(seat) {
    if (!seat) return "s0";
    if (this.sides.has(seat)) return this.sides.get(seat);
    if (!this.colours.has(seat)) this.colours.set(seat, (this.colours.size % 8) + 1);
    return `s${this.colours.get(seat)}`;
  }

  round(n, name, note = "") {
    const known = this.rounds.get(n);
    if (known) return known;
    const said = [name || `${this.roundName} ${n}`, note].filter(Boolean).join(" · ");
    const place = { n, posts: el("div"), refused: el("div"), live: el("div", { "aria-live": "off" }) };
    const heading = el("h2", { class: "round", id: `${this.prefix}round-${n}`, text: said });
    place.node = el("div", {}, heading, place.posts, place.refused, place.live);
    this.rounds.set(n, place);
    const after = [...this.rounds.keys()].filter((other) => other > n).sort((a, b) => a - b)[0];
    this.node.insertBefore(place.node, after === undefined ? null : this.rounds.get(after).node);
    return place;
  }

  /** A post that came just now, of the round that is played: what belongs to none stays with the last one. */
  add(post, note, title = "") {
    this.writing.said(post);
    const round = Math.max(post.round, ...this.rounds.keys());
    this.round(round, round ? title : "Beginning", note).posts.append(...this.take(post));
    if (post.place === "post") announce(`${seatName(post.seat)}: ${brief(post.position || post.text, 200)}`);
  }

  /** The nodes of a post. */
  take(post) {
    this.cards.set(post.n, post);
    if (post.side && post.seat) this.sides.set(post.seat, post.side);
    if (post.seat && post.position && post.place === "post") this.held.set(post.seat, post.position);
    for (const [i, { document: name, quote, file, place }] of post.quotes.entries()) {
      const key = `${file}\n${name}\n${quote}`;
      if (!this.quotes.has(key)) {
        this.quotes.set(key, { document: name, file, quote, where: place, posts: [], href: this.place(post.n, i, file) });
      }
      const posts = this.quotes.get(key).posts;
      if (posts.at(-1) !== post.n) posts.push(post.n);
    }
    if (post.place === "hidden") return [];
    if (post.side && post.place === "post") this.node.classList.add("debate");
    if (this.cards.size > MANY) this.node.classList.add("many");
    const node = post.place === "post" ? this.card(post) : this.note(post);
    this.nodes.set(post.n, node);
    const about = ofOne(post) ? this.nodes.get(post.refers[0]) : null;
    if (!about?.matches("article")) return [node];
    node.className = "verdict"; // what is said of one post alone stands below it
    about.lastChild.append(node);
    return [];
  }

  card(post) {
    return el(
      "article",
      {
        class: `post ${this.colour(post.seat)}`,
        id: this.id(post.n),
        "aria-label": `${seatName(post.seat)}, ${post.head || post.kind}`,
      },
      el("div", { class: "dot", "aria-hidden": "true", text: seatMark(post.seat) }),
      el(
        "div",
        {},
        el(
          "div",
          { class: "who" },
          el("b", { text: seatName(post.seat) }),
          post.head && el("span", { text: post.head }),
          post.confidence !== null &&
            el(
              "span",
              {},
              bar(post.confidence, `confidence ${number(post.confidence)}`, { class: "bar conf" }),
              " ",
              el("span", { "aria-hidden": "true", text: post.confidence.toFixed(2) }),
            ),
          this.chips(post),
          this.here(post),
        ),
        post.position && said(post.position, { class: "pos" }),
        this.text(post.text),
        parts(post.parts),
        code(post.code),
        refusedBy(post),
        post.changed?.why && said(`What moved it: ${post.changed.why}`, { class: "why dim" }),
        this.evidence(post),
      ),
    );
  }

  /** What is said beside the argument: a measure, a note, one line. */
  note(post) {
    const line = post.place === "line";
    const whose = ofOne(post) ? "" : post.seat && seatName(post.seat);
    const much = post.place === "score" && !ofOne(post) && post.text.length > BRIEF; // a measure of the round
    const words = [post.position && said(post.position), this.text(post.text), parts(post.parts), code(post.code)];
    return el(
      "div",
      { class: `note ${post.refused ? "refused" : post.side}`, id: this.id(post.n) },
      el(
        "div",
        { class: "who" },
        (whose || post.head || !line) && el("b", { text: [whose, post.head].filter(Boolean).join(", ") || "Moderator" }),
        line && el("span", { dir: "auto", text: post.text || post.position }),
        this.chips(post),
        this.here(post),
      ),
      !line && (much ? fold("Figures of the round", words) : words),
      refusedBy(post),
      this.evidence(post),
    );
  }

  text(text) {
    if (!text) return null;
    if (text.length <= LONG) return text.split(/\n{2,}/).map((part) => said(part, { class: "why" }));
    const cut = text.lastIndexOf(" ", LONG);
    const first = el("span", { dir: "auto", text: `${text.slice(0, cut > 0 ? cut : LONG)} … ` });
    const node = fold([first, el("span", { class: "dim", text: "all of it" })], said(text, { class: "why" }));
    node.className = "why";
    return node;
  }

  chips(post) {
    const changed = post.changed;
    const because = changed && changed.post !== null ? this.anchor(changed.post) : null;
    return [
      changed &&
        el("span", { class: changed.explained ? "chip arg" : "chip bad" }, `changed ${changed.by}`, because && [" ← ", because]),
      !ofOne(post) &&
        post.refers
          .map((n) => this.anchor(n))
          .filter(Boolean)
          .map((a) => el("span", { class: "quiet" }, "on ", a)),
      chips(ofOne(post) ? post.chips.filter((chip) => chip.tone !== "quiet") : post.chips), // the scoreboard has the rest
      post.flags.map((text) => el("span", { class: "chip bad", dir: "auto", text })),
    ];
  }

  here(post) {
    const at = { class: "at", title: when(post.at_ms), "aria-label": `Link to post ${post.n}` };
    return link(`#${this.id(post.n)}`, when(post.at_ms, post.at_ms), at); // its day is the session's
  }

  /** The address of a quotation in its document; null: the document is not to be read here. */
  place(n, i, file) {
    return file === null || file === undefined ? null : `/s/${this.sid}/documents/${file}#q${n}-${i}`;
  }

  evidence({ n, quotes }) {
    if (!quotes.length) return null;
    const one = ({ document: name, quote, file, place }, i) =>
      el(
        "blockquote",
        { dir: "auto" },
        quote,
        el("cite", {}, link(this.place(n, i, file) || `#${this.prefix}evidence`, place ? `${name}, ${place}` : name)),
      );
    return fold(count(quotes.length, "quotation"), quotes.map(one));
  }

  id(n) {
    return `${this.prefix}p${n}`;
  }

  /** A link to a post that is on the page: `Panelist 2, round 3`. */
  anchor(n) {
    const post = this.cards.get(n);
    if (!post) return null;
    return link(`#${this.id(n)}`, `${seatName(post.seat)}, ${this.roundName.toLowerCase()} ${post.round}`);
  }

  /** A link to the first post that a transition led to, or one behind it. */
  said(transition) {
    for (const post of this.cards.values())
      if (post.transition >= transition && post.place !== "hidden") return this.anchor(post.n);
    return null;
  }

  /** What was not accepted, all of it so far. */
  refused(list) {
    const byRound = new Map();
    for (const one of list) if (one.post === null) byRound.set(one.round, [...(byRound.get(one.round) || []), one]);
    for (const [n, place] of this.rounds) put(place.refused, (byRound.get(n) || []).map(refusal));
  }

  /** All that was quoted, and in which posts. */
  all() {
    return [...this.quotes.values()];
  }

  /** The place of a quotation in its document, as the first post that has it names it; null: no post has it. */
  quoted({ document: name, quote }) {
    return this.all().find((one) => one.document === name && one.quote.startsWith(quote.replace(/…$/, "")))?.href ?? null;
  }

  /** Show what the address names, such as a post. */
  target() {
    const node = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
    node?.scrollIntoView();
    return node;
  }
}

/** Whether it is said of one post alone, as marks are. */
const ofOne = (post) => post.place === "score" && post.refers.length === 1;

const chips = (list) => list.map((chip) => el("span", { class: TONES[chip.tone], text: chip.text }));

/** What each of several says in a post that tells of them all. */
function parts(list) {
  if (!list?.length) return null;
  const part = ({ who, head, text, chips: facts }) =>
    el(
      "li",
      {},
      el("div", { class: "who" }, who && el("b", { text: seatName(who) }), head && el("span", { text: head }), chips(facts)),
      text && said(text, { class: "why" }),
    );
  return el("ul", { class: "plain parts" }, list.map(part));
}

function refusedBy(post) {
  return post.refused && said("", { class: "why" }, el("b", { class: "bad", text: "Refused: " }), post.refused);
}

function refusal(one) {
  const then = one.last ? "nothing came of the turn" : "it was asked again";
  return el(
    "div",
    { class: "note refused" },
    el(
      "div",
      { class: "who" },
      el("b", { text: seatName(one.seat) }),
      el("span", { class: "chip bad", text: "refused" }),
      el("span", { text: `${one.kind}, attempt ${one.attempt}; ${then}` }),
    ),
    said(one.why),
  );
}
