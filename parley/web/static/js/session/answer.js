// The answer, how sure it is, who dissents, why it stopped: before everything else.

import { el, link, said } from "../dom.js";
import { brief, count, seatName, when } from "../words.js";

const LONG = 320; // an answer of more characters is a text, and no line in bold
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

/** The question, and beneath it what kind of session this is. */
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
    session.protocol && el("span", { text: session.protocol }),
    el("span", { class: open ? "chip live" : "", text: open ? "● live" : session.status }),
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
    question(session.question || `Session ${session.session}`),
    el("div", { class: "sub" }, facts),
    session.fork_words.map((text) => said(text, { class: "sub" })),
  ];
}

/** The heading. The rest of a long question is folded away: the answer is to be seen first. */
function question(text) {
  const heading = brief(text, QUESTION);
  const whole = text.replace(/\s+/g, " ").trim();
  if (heading === whole) return el("h1", { dir: "auto", text });
  return [
    el("h1", { dir: "auto", text: heading }),
    el("details", {}, el("summary", { text: "The whole question" }), said(text, { class: "reason" })),
  ];
}

/** How it ended, by more than a colour. */
export function ending(result) {
  const { kind } = result;
  const [mark, word, tone] = MARKS[kind];
  return { kind, node: el("span", { class: tone, text: mark, title: word, "aria-label": word }) };
}

/** The card of a session that has ended, in the lines that every screen has. `anchor`: number of a post -> link to it,
 * or null; `figures`: they are to be there, too; `place`: a quotation -> its address, or null. */
export function answerCard(result, anchor, figures = true, place = () => null) {
  const { kind, node } = ending(result);
  return el(
    "div",
    { class: `answer ${kind}`, role: "group", "aria-label": result.word },
    result.lines.map((line) => shown(line, result, node, anchor, place)),
    figures && result.parts.length > 0 && behind(result),
  );
}

/** The document of a quotation, and the place in it. */
function where({ document: name, place }) {
  return place ? `${name}, ${place}` : name;
}

/** A line of the card. The mark of how it ended stands before how sure it is. */
function shown(line, result, node, anchor, place) {
  const quote = line.quote && [
    el("q", { dir: "auto", text: line.quote.quote }),
    el("cite", {}, place(line.quote) ? link(place(line.quote), where(line.quote)) : where(line.quote)),
  ];
  const whole = { answer: result.text, why: result.why, dissent: result.dissent, weak: result.weak.join("; "), sure: result.sure }[line.what];
  return el(
    "div",
    { class: `line says-${line.what}` },
    el(
      "p",
      { class: line.what === "answer" && line.text.length <= LONG ? "big" : "", dir: "auto" },
      line.what === "sure" && [node, " "],
      line.label && el("b", { text: `${line.label} ` }),
      el("span", { dir: "auto", text: line.text }),
      quote && [" ", quote],
      line.what === "why" && line.posts.map(anchor).filter(Boolean).flatMap((one) => [" ", one]),
    ),
    line.cut &&
      whole &&
      el("details", {}, el("summary", { text: "All of it" }), said(whole, { class: "reason" })),
  );
}

/** Everything that stands behind the answer, folded away. */
function behind(result) {
  return el(
    "details",
    { class: "figures" },
    el("summary", { text: "Figures" }),
    el("p", { class: "sub", text: result.used }),
    result.parts.map(part),
  );
}

function part({ title, lines, table, code }) {
  return el(
    "details",
    {},
    el("summary", { dir: "auto", text: title }),
    table && columns(table, title),
    lines.length > 0 &&
      el(
        "ul",
        { class: "plain told" },
        lines.map((text) => el("li", { dir: "auto", text })),
      ),
    code && el("pre", { class: "mono scroll", tabindex: 0, text: code }),
  );
}

/** A table of a part, or the board of a running session. */
export function columns({ head, rows }, title) {
  const cell = (text, i) => el(i ? "td" : "th", { class: i ? "figure" : "", scope: i ? null : "row", dir: "auto", text });
  return el(
    "div",
    { class: "scroll", role: "region", "aria-label": title, tabindex: 0 },
    el(
      "table",
      {},
      el("thead", {}, el("tr", {}, head.map((text, i) => el("th", { scope: "col", class: i ? "figure" : "", text })))),
      el(
        "tbody",
        {},
        rows.map((row) => el("tr", { class: `${row.side}${row.strong ? " strong" : ""}` }, row.cells.map(cell))),
      ),
    ),
  );
}

/** The same place while it is argued: who holds what so far. `held`: seat -> what it holds. */
export function openCard(session, held) {
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
      el("span", {}, el("b", { text: `${session.round_name.toLowerCase()} ${session.round || 1}${limit}` })),
      most.length > 0 &&
        el("span", { text: most.length === 1 && held.size > 1 ? "all hold the same" : count(groups.size, "position") }),
    ),
    most.map(([position, seats]) =>
      el("p", { class: "sub", dir: "auto" }, el("b", { text: brief(position, HELD) }), seats.join(", ")),
    ),
    session.board && columns(session.board, "Scoreboard"),
    most.length === 0 &&
      !session.board &&
      el("p", { class: "sub", text: "Nobody has answered yet. Under Seats you see who is at work." }),
  );
}

/** A session of which there is no result although it is over. */
export function goneCard(session) {
  return el(
    "div",
    { class: "answer failed", role: "group", "aria-label": "Answer" },
    said(session.left_out ? `${big(session.left_out)}.` : GONE[session.status] || `The session is ${session.status}.`, {
      class: "big",
    }),
    session.status === "refused" && el("p", {}, link("/new", "Ask again")),
  );
}

const big = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export function warnings(list) {
  return list.map((warn) => el("p", { class: "warn", role: "note", dir: "auto", text: `⚠ ${warn.text}` }));
}
