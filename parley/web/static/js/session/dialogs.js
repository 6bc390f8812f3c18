// What is asked of a session in a window of its own: what if another rule had held, and a fork.

import { post } from "../api.js";
import { BASE } from "../base.js";
import { button, el, field, fold, option, put, said, table, trouble, trying } from "../dom.js";
import { count, named, usd } from "../words.js";
import { inputOf } from "./forms.js";

function dialog(title, ...children) {
  const node = el(
    "dialog",
    { "aria-label": title },
    el(
      "div",
      { class: "row" },
      el("h2", { text: title }),
      el("span", { class: "space" }),
      button("Close", () => node.close()),
    ),
    children,
  );
  node.addEventListener("close", () => node.remove());
  node.addEventListener("click", (event) => event.target.closest("a[href^='#']") && node.close());
  document.body.append(node);
  node.showModal();
  return node;
}

/** A choice of one setting with its value. `settings`: offered; `now`: those of the session. */
function chosen(settings, now, prefix) {
  const place = el("div");
  const select = el(
    "select",
    { name: `${prefix}setting` },
    settings.map((one) => option(one.name, named(one.name), settings[0].name)),
  );
  let input;
  const show = () => {
    const spec = settings.find((one) => one.name === select.value);
    input = inputOf({ ...spec, label: "Value" }, now[spec.name] ?? spec.default, prefix);
    put(place, input.node);
  };
  select.addEventListener("change", show);
  show();
  return { nodes: [field("Setting", select), place], read: () => ({ [select.value]: input.read() }) };
}

/** The recorded events under another setting, without a call. `place`: transition -> link to what was said there. */
export function whatIf(session, offer, place) {
  const settings = offer.settings.filter((one) => one.replayable);
  const setting = chosen(settings, session.settings, "what-if-");
  const found = el("div", { "aria-live": "polite" });
  const wrong = el("div", { class: "trouble", role: "alert" });
  const changed = () => {
    put(found); // what stands there is of the setting before
    trouble(wrong, null);
  };
  const replay = async (event) => {
    put(found, el("p", { class: "dim", text: "Replaying…" }));
    const ask = async () => post(`/api/sessions/${session.session}/what-if`, { settings: setting.read() });
    const done = await trying(wrong, async () => put(found, told(await ask(), session, place)))(event);
    if (!done) put(found);
  };
  const form = el(
    "form",
    { on: { input: changed, submit: replay } },
    setting.nodes,
    el("button", { class: "btn main", text: "Replay" }),
  );
  return dialog(
    "What if",
    said("The recorded events are replayed under another setting. No model is called.", { class: "dim" }),
    form,
    wrong,
    found,
  );
}

function told(found, session, place) {
  const round = session.round_name.toLowerCase();
  const saved =
    found.saved_tokens === null
      ? null
      : `${count(found.saved_tokens, "token")}${found.saved_cost_usd ? `, ${usd(found.saved_cost_usd)}` : ""}`;
  const parting = found.parts_at === null ? null : place(found.parts_at);
  const rows = [
    [
      "The runs part",
      found.parts_at === null
        ? "never, as far as the record goes"
        : [
            `${found.round === null ? "" : `in ${round} ${found.round}, `}at transition ${found.parts_at}`,
            parting && [", at ", parting],
          ],
    ],
    ["It would have stopped", found.stop ? found.stop_words || named(found.stop) : "not within the record"],
    ["Answer", found.answer || "the record does not carry it"],
    ["Saved", saved || "nothing: it does not end earlier"],
  ];
  return [
    table(null, rows, { figures: 9 }),
    found.how && said(found.how, { class: "sub" }),
    found.words.length > 0 && fold("In full", found.words.map((line) => said(line, { class: "mono" }))),
  ];
}

/** A new session that carries this one's record up to a round, with another setting. */
export function fork(session, offer) {
  const last = Math.max(0, ...session.rounds.map((one) => one.round));
  const round = el("input", {
    type: "number",
    name: "fork-round",
    min: 1, // whole rounds are carried
    max: Math.max(1, last),
    value: Math.max(1, last - 1),
    required: true,
  });
  const changes = el("input", { type: "checkbox", name: "fork-changes" });
  const setting = chosen(offer.settings, session.settings, "fork-");
  const more = el("div", { hidden: true }, setting.nodes);
  const wanted = field("Change a setting", changes);
  wanted.classList.add("switch");
  changes.addEventListener("change", () => {
    more.hidden = !changes.checked;
  });
  const wrong = el("div", { class: "trouble", role: "alert" });
  const begin = trying(wrong, async () => {
    const asked = { round: Number(round.value), settings: changes.checked ? setting.read() : {} };
    const { session: sid } = await post(`/api/sessions/${session.session}/fork`, asked);
    location.assign(`${BASE}/s/${sid}`);
  });
  const form = el(
    "form",
    { on: { submit: begin } },
    field(`Take over the record up to ${session.round_name.toLowerCase()}`, round),
    wanted,
    more,
    wrong,
    el("button", { class: "btn main", text: "Fork" }),
  );
  return dialog(
    "Fork",
    said("A new session begins with this one's record up to a round, and says so.", { class: "dim" }),
    form,
  );
}
