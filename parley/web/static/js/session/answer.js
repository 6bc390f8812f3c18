// The answer, how sure it is, who dissents, why it stopped: before everything else.

import { el, fold, link, said, section } from "../dom.js";
import { brief, count, seatName, when } from "../words.js";
import { columns } from "./scoreboard.js";
import { code } from "./diff.js";

const LONG = 160; // an answer of more characters is a text, and no heading
const HELD = 240; // characters of what seats hold while it is argued
const QUESTION = 240; // characters of a question that the heading shows

const GONE = { refused: "The session was refused.", erased: "The texts of this session were removed." };
const MARKS = {
  agreed: ["●", "agreed", "good"],
  done: ["○", "done", ""], // as its protocol means it: there was nothing to agree on
  unsettled: ["○", "not settled", ""],
  failed: ["✕", "failed", "bad"],
  cancelled: ["✕", "cancelled", ""],
};

/** What kind of session this is, and beneath it the question. */
export function headline(session) {
  const open = session.status === "open";
  const models = session.seats.filter((seat) => !seat.person);
  const families = new Set(models.map((seat) => seat.family).filter(Boolean)).size;
  const people = session.seats.length - models.length;
  const seats = [
    count(session.seats.length, "seat"),
    people && count(people, "person", "people"),
    families && count(families, "model family", "model families"),
  ];
  const round = session.round_name.toLowerCase();
  const other = (before, sid, after = "") => sid && el("span", {}, before, link(`/s/${sid}`, sid), after);
  const facts = [
    el("span", { class: open ? "chip live" : "", text: open ? "● live" : session.status }),
    session.protocol && el("span", { text: session.protocol }),
    session.seats.length > 0 && el("span", { text: seats.filter(Boolean).join(", ") }),
    el("span", {
      text: open || !session.closed_ms ? `began ${when(session.opened_ms)}` : `ended ${when(session.closed_ms)}`,
    }),
    other("follows up ", session.continues),
    other("beneath ", session.parent),
    other(
      "forked from ",
      session.forked_from,
      session.forked_at === null ? "" : ` after ${round} ${session.forked_at}`,
    ),
    session.left_out && !GONE[session.status] && el("span", { text: session.left_out }),
    session.left_out && session.may.includes("everything") && link("?everything=1", "show them"),
  ];
  return [
    el("div", { class: "sub" }, facts),
    question(session.question || `Session ${session.session}`),
    session.fork_words.map((text) => said(text, { class: "sub" })),
  ];
}

/** The heading. The rest of a long question is folded away: the answer is to be seen first. */
function question(text) {
  const heading = brief(text, QUESTION);
  const whole = text.replace(/\s+/g, " ").trim();
  if (heading === whole) return el("h1", { dir: "auto", text });
  return [el("h1", { dir: "auto", text: heading }), fold("The whole question", said(text, { class: "reason" }))];
}

/** How it ended, by more than a colour. */
export function ending(kind) {
  const [mark, word, tone] = MARKS[kind];
  return el("span", { class: tone, text: mark, role: "img", title: word, "aria-label": word });
}

/** The card of a session that has ended, in the lines that every screen has. `anchor`: number of a post -> link to it,
 * or null; `figures`: they are to be there, too; `place`: a quotation -> its address, or null. */
export function answerCard(result, anchor, figures = true, place = () => null) {
  return el(
    "div",
    { class: `answer ${result.kind}`, role: "group", "aria-label": result.word },
    // the page has what this command would print
    result.lines.filter((line) => !line.text.startsWith("parley explain ")).map((line) => shown(line, result, anchor, place)),
    figures && result.parts.length > 0 && behind(result.parts.filter((part) => !whole(result.parts).includes(part)), result.used),
  );
}

/** The document of a quotation, and the place in it. */
const where = ({ document: name, place }) => (place ? `${name}, ${place}` : name);

/** A line of the card. The mark of how it ended stands before how sure it is. */
function shown(line, result, anchor, place) {
  const quote = line.quote && [
    " ",
    el("q", { dir: "auto", text: line.quote.quote }),
    " ",
    el("cite", {}, place(line.quote) ? link(place(line.quote), where(line.quote)) : where(line.quote)),
  ];
  const told = { ...result, answer: result.text, weak: result.weak.join("; ") }[line.what]; // all of it
  const label = line.label.replace(/:$/, "");
  const answer = line.what === "answer";
  const carried = line.what === "why" || (answer && !result.lines.some((one) => one.what === "why"));
  const posts = carried && line.posts.map(anchor).filter(Boolean).flatMap((one) => [" ", one]);
  return el(
    "div",
    { class: `line says-${line.what}` },
    label && (answer ? el("p", { class: "says", text: label }) : el("b", { text: label })),
    el(
      "p",
      { class: answer ? (line.text.length > LONG ? "big long" : "big") : "", dir: "auto" },
      line.what === "sure" && [ending(result.kind), " "],
      el("span", { dir: "auto", text: line.text }),
      quote,
      !answer && posts,
    ),
    answer && posts?.length > 0 && el("p", { class: "sub" }, posts),
    line.cut && told && !below(result, told) && fold("All of it", said(told, { class: "reason" })),
  );
}

/** Whether a part below the card says all of it. */
const below = (result, text) => result.parts.some((part) => part.first && part.lines.join("\n") === text);

/** Everything that stands behind the answer, folded away. */
function behind(parts, used) {
  const node = fold("Figures", el("p", { class: "sub", text: used }), parts.map((part) => fold(part.title, inside(part))));
  node.className = "figures";
  return node;
}

const inside = ({ title, lines, table, code: text }, open = false) => [
  table && columns(table, title),
  lines.length > 0 && el("ul", { class: "plain told" }, lines.map((line) => el("li", { dir: "auto", text: line }))),
  code(text, open),
];

/** The parts that stand whole below the card: a review, a change with its check and its reviewers. */
function whole(parts) {
  const change = parts.some((part) => part.code);
  return parts.filter((part) => part.first || (change && part.finding && part.name !== "reasons"));
}

/** Those parts, but for the scoreboard, which has a place of its own. */
export const firsts = (result, board) =>
  whole(result.parts)
    .filter((part) => !(board && part.table))
    .map((part) => section(part.title, { class: part.code ? "change" : "card" }, inside(part, true)));

/** The same place while it is argued: who holds what so far. `held`: seat -> what it holds; `waits`: for whom. */
export function openCard(session, held, waits, prefix = "") {
  const groups = new Map();
  for (const [seat, position] of held) groups.set(position, [...(groups.get(position) || []), seatName(seat)]);
  const most = [...groups].sort((a, b) => b[1].length - a[1].length).slice(0, 5);
  const limit = session.round_limit ? ` of at most ${session.round_limit}` : "";
  return el(
    "div",
    { class: "answer", role: "group", "aria-label": "Answer" },
    el("p", { class: "big", text: "No answer yet" }),
    el(
      "div",
      { class: "facts" },
      link(`#${prefix}round-${session.round}`, `${session.round_name} ${session.round || 1}${limit}`),
      most.length > 0 &&
        el("span", { text: most.length === 1 && held.size > 1 ? "all hold the same" : count(groups.size, "position") }),
      waits && el("span", { text: `waits for ${waits}` }),
    ),
    most.map(([position, seats]) => {
      const held = el("b", { text: brief(position, HELD) });
      const whose = el("span", { class: "dim", text: seats.join(", ") });
      return el("div", { class: "line" }, el("b", { text: count(seats.length, "seat") }), el("p", { dir: "auto" }, held, " ", whose));
    }),
    most.length === 0 && !session.board && el("p", { class: "dim", text: "Each answer stands here as it comes." }),
  );
}

/** A session of which there is no result although it is over. */
export function goneCard(session) {
  const words = session.left_out ? `${session.left_out}.` : GONE[session.status] || `The session is ${session.status}.`;
  return el(
    "div",
    { class: "answer failed", role: "group", "aria-label": "Answer" },
    said(words.charAt(0).toUpperCase() + words.slice(1), { class: "big long" }),
    session.status === "refused" && el("p", {}, link("/new", "Ask again")),
  );
}

/** What a reader must know before believing it, where the card has not said it. */
export function warnings(list, result) {
  const bare = (text) => text.toLowerCase().replace(/\.$/, "");
  const told = new Set((result?.weak || []).map(bare));
  return list
    .filter((warn) => !told.has(bare(warn.text)))
    .map((warn) => el("p", { class: "warn", role: "note", dir: "auto", text: `⚠ ${warn.text}` }));
}
