// Questions that wait for a human: by when, what holds without an answer, and answering them.

import { get, post } from "../api.js";
import { button, el, field, fold, link, option, put, said, trying } from "../dom.js";
import { me } from "../me.js";
import { until } from "../time.js";
import { brief, named, seatName } from "../words.js";

/** A card of one question. `done`: called when it was answered. `linked`: with a link to its session. */
export function itemCard(item, done, linked = false) {
  const wrong = el("div", { class: "trouble", role: "alert" });
  const note = el("input", { name: `note-${item.session}-${item.item}`, maxlength: 20000 });
  const answer = item.choices.length
    ? null
    : el("textarea", { name: `answer-${item.session}-${item.item}`, required: true, text: item.draft });
  const send = (choice) => decide(wrong, item.session, item.item, () => choice, note, done)();
  return el(
    "article",
    { class: "card", "aria-label": `Question ${item.item}`, "data-item": item.item },
    el(
      "div",
      { class: "sub" },
      el("span", { class: "chip", text: named(item.kind) }),
      el("span", {}, "holds without an answer: ", el("b", { dir: "auto", text: item.default || "nothing" })),
      el("span", {}, "left: ", until(el("b"), item.deadline_ns / 1e6, "none")),
      linked && el("span", {}, "in ", link(`/s/${item.session}`, brief(item.task, 120) || item.session)),
    ),
    said(item.question, { class: "reason" }),
    answer && field("Your answer", answer),
    field("Note (optional)", note),
    el(
      "div",
      { class: "row" },
      item.choices.map((choice) => button(choice, () => send(choice))),
      answer && button("Answer", () => answer.reportValidity() && send(answer.value), { class: "btn main" }),
    ),
    wrong,
  );
}

/** What decides something with the choice that stands there then. */
const decide = (wrong, session, item, choice, note, done) =>
  trying(wrong, async () => {
    await post(`/api/sessions/${session}/decide`, { item, choice: choice(), note: note.value });
    done();
  });

/** Fill a list with the experts that are there, for those who may know them; else it stays as it is. */
async function suggest(known) {
  const who = await me();
  if (!who.operates) return;
  const { experts } = await get("/api/agents").catch(() => ({ experts: [] }));
  if (experts.length)
    put(
      known,
      experts.map((one) => option(one.id, one.name)),
    );
}

/** What a human may decide unasked, such as who leads. */
export function overrides(session, done) {
  if (!session.overrides.length || session.status !== "open") return null;
  return session.overrides.map((one) => {
    const wrong = el("div", { class: "trouble", role: "alert" });
    const options = { name: `override-${one.item}`, list: `seats-${one.item}`, required: true, maxlength: 200 };
    const choice = el("input", options);
    const known = el(
      "datalist",
      { id: options.list },
      session.seats.map((seat) => option(seat.seat, seatName(seat.seat))),
    );
    const decided = () => {
      choice.value = "";
      done();
    };
    const form = el(
      "form",
      { on: { submit: decide(wrong, session.session, one.item, () => choice.value.trim(), { value: "" }, decided) } },
      field(named(one.item), choice, one.about),
      known,
      el("button", { class: "btn", text: "Decide" }),
      wrong,
    );
    const node = fold(`Override: ${named(one.item).toLowerCase()}`, form);
    node.className = "card";
    node.addEventListener("toggle", () => suggest(known));
    return node;
  });
}

/** Keeps cards of questions that are still open, so that what was typed is not lost. */
export function keep(place, items, done, linked = false) {
  const known = new Map([...place.children].map((node) => [node.dataset.key, node]));
  put(
    place,
    items.map((item) => {
      const key = `${item.session}/${item.item}`;
      const node = known.get(key) || itemCard(item, done, linked);
      node.dataset.key = key;
      return node;
    }),
  );
}
