// After the end: whether the answer was right, a question that follows it up, and files to keep.

import { button, el, field, fold, link, said } from "../dom.js";

/** Right or wrong: kept with the session. `send`: takes what is said; null: it is shown alone. */
export function feedback(session, send) {
  const told = session.feedback;
  const answer = el("input", { name: "right-answer", maxlength: 2000 });
  const submit = (event) => {
    event.preventDefault();
    send({ right: false, answer: answer.value, note: "" });
  };
  const better = el(
    "form",
    { hidden: told?.right !== false, on: { submit } },
    field("What would be right (optional)", answer),
    el("button", { class: "btn", text: "Keep it" }),
  );
  const choice = (right, text, call) =>
    button(told?.right === right ? `✓ ${text}` : text, call, {
      class: told?.right === right ? "btn on" : "btn",
      "aria-pressed": String(told?.right === right),
    });
  const wrong = () => {
    better.hidden = false;
    answer.focus();
  };
  return el(
    "div",
    { id: "feedback", role: "group", "aria-label": "Was it right?" },
    el("span", { class: "dim", text: "Was it right?" }),
    send && [choice(true, "Yes", () => send({ right: true, answer: "", note: "" })), choice(false, "No", wrong), better],
    told && said(`${told.author}: it is ${told.right ? "right" : "wrong"}`, { class: "dim" }),
    told?.answer && said(`Right would have been: ${told.answer}`, { class: "dim" }),
    told?.note && said(told.note, { class: "dim" }),
  );
}

const FORMS = [
  ["html", "One page"],
  ["record", "Record"],
  ["json", "JSON"],
];

/** The files that a session may be kept as. */
export function take(session) {
  const base = `/api/sessions/${session.session}/export`;
  const menu = fold("Save", el("div", {}, FORMS.map(([form, text]) => link(`${base}/${form}`, text, { download: true }))));
  menu.className = "menu";
  menu.firstChild.className = "btn";
  return menu;
}
