// After the end: whether the answer was right, and files to keep.

import { button, el, field, link, said, section } from "../dom.js";

/** Right or wrong: kept with the session. `send`: takes what is said; null: it is shown alone. */
export function feedback(session, send) {
  const told = session.feedback;
  const answer = el("input", { name: "right-answer", maxlength: 2000 });
  const better = el(
    "form",
    {
      hidden: told?.right !== false,
      on: {
        submit: (event) => {
          event.preventDefault();
          send({ right: false, answer: answer.value, note: "" });
        },
      },
    },
    field("What would be right (optional)", answer),
    el("button", { class: "btn", text: "Keep it" }),
  );
  const choice = (right, text, call) =>
    button(told?.right === right ? `✓ ${text}` : text, call, {
      class: told?.right === right ? "btn on" : "btn",
      "aria-pressed": String(told?.right === right),
    });
  return section(
    "Was it right?",
    { id: "feedback" },
    send &&
      el(
        "div",
        { class: "row" },
        choice(true, "Yes", () => send({ right: true, answer: "", note: "" })),
        choice(false, "No", () => {
          better.hidden = false;
          answer.focus();
        }),
      ),
    send && better,
    told && said(`${told.author}: it is ${told.right ? "right" : "wrong"}`, { class: "sub" }),
    told?.answer && said(`Right would have been: ${told.answer}`, { class: "sub" }),
    told?.note && said(told.note, { class: "sub" }),
  );
}

export function take(session, extra) {
  const base = `/api/sessions/${session.session}/export`;
  return section(
    "Keep it",
    { id: "keep" },
    el(
      "div",
      { class: "row" },
      [
        ["html", "One page"],
        ["record", "Record"],
        ["json", "JSON"],
      ].map(([form, text]) => link(`${base}/${form}`, text, { class: "btn", download: true })),
      extra,
    ),
  );
}
