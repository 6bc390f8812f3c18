// The answer, how sure it is, who dissents, why it stopped: before everything else.

import { el, link, said } from "../dom.js";
import { brief, count, named, seatName, when } from "../words.js";

const LONG = 320; // an answer of more characters is a text, and no line in bold
const FOLD = 600;
const HELD = 240; // characters of what seats hold while it is argued
const QUESTION = 240; // characters of a question that the heading shows

const GONE = { refused: "The session was refused.", erased: "The texts of this session were removed." };
const MARKS = {
  converged: ["●", "converged", "good"],
  ended: ["○", "ended", ""], // as its protocol means it: there was nothing to converge
  open: ["○", "not converged", ""],
  failed: ["✕", "failed", "bad"],
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
  const other = result.exit_code ? "open" : "ended";
  const kind = result.status === "failed" ? "failed" : result.converged ? "converged" : other;
  const [mark, word, tone] = MARKS[kind];
  return {
    kind,
    node: el("span", { class: tone, text: `${mark} ${result.status === "cancelled" ? "cancelled" : word}` }),
  };
}

/** Whether the summary says more than the answer and the stop, which stand above it. */
function adds({ in_short: summary, answer, stop }) {
  return summary && ![answer || "no answer", brief(answer)].some((held) => summary === `${held}; ${stop}`);
}

/** The word above an answer that nobody settled; null: it is one. */
function unsettled({ exit_code: code }) {
  const text = { 1: "Failed", 3: "Not settled", 130: "Cancelled" }[code];
  return text ? el("p", { class: "unsettled", text }) : null;
}

/** The card of a session that has ended. `anchor`: number of a post -> link to it, or null; `figures`: they are there. */
export function answerCard(result, anchor, figures = true) {
  const { kind, node } = ending(result);
  const carried = result.carried_by.map(anchor).filter(Boolean);
  const work = result.answer.length > FOLD; // of a task: its facts are to be seen without reading all of it
  const summary = adds(result) && named(result.in_short);
  const answer = said(result.answer || `No ${result.answer_word.toLowerCase()}.`, {
    class: result.answer.length > LONG ? "reason" : "big",
  });
  return el(
    "div",
    { class: `answer ${kind}`, role: "group", "aria-label": result.answer_word },
    // an answer that nobody settled must not look like one at first sight
    result.answer && unsettled(result),
    work ? summary && said(summary, { class: "big" }) : answer,
    el(
      "div",
      { class: "facts" },
      result.confidence && el("span", {}, "confidence ", el("b", { text: result.confidence }), result.reads && `, ${result.reads}`),
      el("span", {}, "dissent: ", el("b", { dir: "auto", text: result.dissent })),
      el("span", {}, node, `: ${result.stop} `, figures && link("#why", "the figures")),
    ),
    result.why && said(result.why, { class: "sub" }),
    work && answer,
    result.reasoning && long(result.reasoning),
    carried.length > 0 && el("p", { class: "sub" }, el("span", { text: "Carried by" }), carried),
    !work && summary && said(summary, { class: "dissent" }),
    beside(result.beside),
  );
}

const COLUMNS = /\S {2,}\S/; // a line of a table, such as a scoreboard

/** The lines beside the answer; those of a table stay in their columns. */
function beside(lines) {
  const parts = [];
  for (const text of lines) {
    const table = COLUMNS.test(text);
    if (table && parts.at(-1)?.table) parts.at(-1).lines.push(text);
    else parts.push({ table, lines: [text] });
  }
  return parts.map(({ table, lines: [first, ...rest] }) =>
    table && rest.length
      ? el("pre", { class: "mono scroll", tabindex: 0, text: [first, ...rest].join("\n") })
      : said(first, { class: "sub" }),
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
    most.length === 0 && el("p", { class: "sub", text: "Nobody has answered yet. Under Seats you see who is at work." }),
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

function long(text) {
  if (text.length <= FOLD) return said(text, { class: "reason" });
  const cut = text.lastIndexOf(" ", FOLD);
  return el(
    "div",
    {},
    said(`${text.slice(0, cut)} …`, { class: "reason" }),
    el("details", {}, el("summary", { text: "All of the reasons" }), said(text, { class: "reason" })),
  );
}
