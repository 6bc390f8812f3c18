// The answer, how sure it is, who dissents, why it stopped: before everything else.

import { el, link, said } from "../dom.js";
import { count, named, seatName, when } from "../words.js";

const LONG = 320; // an answer of more characters is a text, and no line in bold
const FOLD = 600;

const MARKS = {
  converged: ["●", "converged", "good"],
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
    el("span", { text: session.protocol }),
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
    session.left_out && el("span", { text: session.left_out }),
    session.left_out && session.may.includes("everything") && link("?everything=1", "show them"),
  ];
  return [
    el("h1", { dir: "auto", text: session.question || `Session ${session.session}` }),
    el("div", { class: "sub" }, facts),
    session.fork_words.map((text) => said(text, { class: "sub" })),
  ];
}

/** How it ended, by more than a colour. */
export function ending(result) {
  const kind = result.status === "failed" ? "failed" : result.converged ? "converged" : "open";
  const [mark, word, tone] = MARKS[kind];
  return {
    kind,
    node: el("span", { class: tone, text: `${mark} ${result.status === "cancelled" ? "cancelled" : word}` }),
  };
}

/** The card of a session that has ended. `anchor`: number of a post -> link to it, or null; `figures`: they are there. */
export function answerCard(result, anchor, figures = true) {
  const { kind, node } = ending(result);
  const carried = result.carried_by.map(anchor).filter(Boolean);
  return el(
    "div",
    { class: `answer ${kind}`, role: "group", "aria-label": result.answer_word },
    said(result.answer || `No ${result.answer_word.toLowerCase()}.`, {
      class: result.answer.length > LONG ? "reason" : "big",
    }),
    result.reasoning && long(result.reasoning),
    carried.length > 0 && el("p", { class: "sub" }, el("span", { text: "Carried by" }), carried),
    el(
      "div",
      { class: "facts" },
      result.confidence && el("span", {}, "confidence ", el("b", { text: result.confidence }), result.reads && `, ${result.reads}`),
      el("span", {}, "dissent: ", el("b", { dir: "auto", text: result.dissent })),
      el("span", {}, node, `: ${result.stop} `, figures && link("#why", "the figures")),
    ),
    result.why && said(result.why, { class: "sub" }),
    result.in_short && said(named(result.in_short), { class: "dissent" }),
    result.beside.map((text) => said(text, { class: "sub" })),
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
      el("p", { class: "sub", dir: "auto" }, el("b", { text: position }), seats.join(", ")),
    ),
  );
}

/** A session of which there is no result although it is over. */
export function goneCard(session) {
  const why = { refused: "The session was refused.", erased: "The texts of this session were removed." };
  return el(
    "div",
    { class: "answer failed", role: "group", "aria-label": "Answer" },
    el("p", { class: "big", text: why[session.status] || `The session is ${session.status}.` }),
  );
}

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
