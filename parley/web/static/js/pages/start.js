// A new question: who argues, over what, within which budget; the estimate beside it as one types.

import { send } from "../api.js";
import { bar, button, el, field, link, option, put, said, section, trouble, wording } from "../dom.js";
import { Evidence } from "../evidence.js";
import { me, offered } from "../me.js";
import { inputOf } from "../session/forms.js";
import { count, named, seatName, usd } from "../words.js";

const TYPED_MS = 400;
const DRAFT = "parley question"; // what was typed in this tab and not yet asked
const SMALL = 1_000_000; // bytes of evidence that every estimate brings along
const LIMIT = "budget.";
const LABELS = { cost_usd: "US dollars", calls: "Model calls", turn_timeout_s: "Seconds for a turn" };

export async function show(main) {
  const page = new StartPage(main, await me());
  await page.begin();
}

class StartPage {
  constructor(main, who) {
    Object.assign(this, { main, who });
    this.continues = new URLSearchParams(location.search).get("continues") || "";
    this.inputs = [];
    this.timer = 0;
    this.asking = null;
  }

  async begin() {
    const { main, who } = this;
    document.title = "New question · Parley";
    main.className = "two";
    this.question = el("textarea", {
      name: "question",
      required: true,
      maxlength: who.limits.question,
      rows: 4,
      dir: "auto",
    });
    this.question.value = draft();
    this.question.addEventListener("input", () => draft(this.question.value));
    this.protocol = el(
      "select",
      { name: "protocol" },
      option("", "Chosen by what you ask", ""),
      who.protocols.filter((p) => p.name !== who.default_protocol).map((p) => option(p.name, named(p.name), "")),
    );
    this.about = el("p", { class: "hint" });
    this.panel = el("input", { type: "number", name: "panel", min: 1, max: 64 });
    this.panelField = field("How many argue", this.panel);
    this.settings = el("div", { class: "fields" });
    this.rest = el("div", { class: "fields" });
    this.restFold = el("details", {}, el("summary", { text: "More settings" }), this.rest);
    this.settingsFold = el("details", {}, el("summary", { text: "Settings" }), this.settings, this.restFold);
    const limits = who.options.filter(({ name }) => name.startsWith(LIMIT));
    this.budget = limits.map(({ name: place, kind }) => {
      const name = place.slice(LIMIT.length);
      const step = kind === "integer" ? 1 : "any";
      // it stands beside the form, and is a part of it: what is no number must not become a session without a limit
      const input = el("input", { type: "number", name: `budget-${name}`, min: 0, step, form: "ask" });
      return [name, input, LABELS[name] || named(name)];
    });
    this.options = who.options
      .filter(({ name }) => !name.startsWith(LIMIT))
      .map((spec) => ({ spec, ...inputOf({ label: LABELS[spec.name], ...spec }, undefined, "option-") }));
    this.seats = who.seats.map(({ seat, role }) => {
      const box = el("input", { type: "checkbox", name: "human", value: seat, id: `human-${seat}` });
      return { box, role, node: el("div", {}, box, " ", el("label", { for: box.id, text: seatName(seat) })) };
    });
    this.people = el(
      "fieldset",
      {},
      el("legend", { text: "Seats that wait for a person" }),
      this.seats.map(({ node }) => node),
      el("p", { class: "hint", text: "Each turn waits at most five minutes. Then the seat's agent takes it." }),
    );
    this.evidence = new Evidence(() => this.soon());
    this.estimate = el("div", { "aria-live": "polite" });
    this.wrong = el("div", { class: "trouble", role: "alert" });
    this.go = el("button", { class: "btn main", text: "Ask" });
    const form = el(
      "form",
      { id: "ask", on: { submit: (event) => this.submit(event), input: () => this.soon() } },
      field("Question or task", this.question),
      this.follows(),
      el("div", { class: "fields" }, field("Who argues, and how", this.protocol), this.panelField),
      this.about,
      this.evidence.node,
      this.settingsFold,
      this.people,
      this.wrong,
      el("div", { class: "row" }, this.go),
    );
    // the browser cannot point at a field in a closed fold, and would refuse the form without a word
    form.addEventListener("invalid", ({ target }) => unfold(target), true);
    put(
      main,
      el("div", {}, el("h1", { text: "New question" }), form),
      el(
        "aside",
        { "aria-label": "Budget" },
        section(
          "Budget",
          {},
          el(
            "div",
            { class: "fields" },
            this.budget.map(([, input, label]) => field(label, input)),
          ),
          this.estimate,
        ),
      ),
    );
    for (const [, input] of this.budget) input.addEventListener("input", () => this.soon());
    this.protocol.addEventListener("change", () => this.offer());
    this.panel.addEventListener("input", () => this.dealt());
    this.offer();
    this.question.focus();
  }

  dealt() {
    const found = offered(this.who, this.protocol.value || this.who.default_protocol);
    this.evidence.seats(found, Number(this.panel.value) || found?.panel_size || 0);
  }

  follows() {
    return this.continues && el("p", { class: "sub" }, "follows up ", link(`/s/${this.continues}`, this.continues));
  }

  /** The chosen protocol's settings. */
  offer() {
    const found = offered(this.who, this.protocol.value || this.who.default_protocol);
    this.about.textContent = found?.about || "";
    this.panelField.hidden = !found?.panel;
    this.panel.placeholder = found?.panel_size || "";
    this.inputs = (found?.settings || [])
      .filter((spec) => spec.name !== found.panel)
      .map((spec) => {
        const made = inputOf(spec, spec.default, "set-");
        return { spec, ...made, first: text(made.input) };
      });
    const [common, rest] = [true, false].map((wanted) => this.inputs.filter(({ spec }) => spec.common === wanted));
    const nodes = (list) => list.map((one) => one.node);
    put(this.settings, nodes(common.length ? common : rest));
    put(this.rest, common.length ? nodes(rest) : null, nodes(this.options));
    for (const seat of this.seats) seat.node.hidden = !found?.roles.includes(seat.role);
    this.people.hidden = this.seats.every(({ node }) => node.hidden);
    this.dealt();
    this.soon();
  }

  /** What is asked for. Raises what cannot be read, with its field. */
  wanted() {
    const settings = {};
    for (const { spec, input, read, first } of this.inputs) {
      if (text(input) === first) continue;
      const value = read();
      if (value !== undefined) settings[spec.name] = value;
    }
    const more = this.options.map(({ spec, read }) => [spec.name, read()]).filter(([, value]) => value !== undefined);
    const humans = this.seats.filter(({ box, node }) => box.checked && !node.hidden).map(({ box }) => box.value);
    const budget = Object.fromEntries(
      this.budget.filter(([, input]) => input.value).map(([name, input]) => [name, Number(input.value)]),
    );
    return {
      question: this.question.value,
      protocol: this.protocol.value,
      settings,
      budget,
      continues: this.continues,
      panel: !this.panelField.hidden && this.panel.value ? Number(this.panel.value) : null,
      ...Object.fromEntries(more),
      humans,
    };
  }

  form(files) {
    const form = new FormData();
    form.append("request", JSON.stringify(this.wanted()));
    for (const [file, name] of files) form.append("evidence", file, name);
    return form;
  }

  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), TYPED_MS);
  }

  async ask() {
    if (!this.question.value.trim()) {
      put(this.estimate, el("p", { class: "sub", text: "The estimate stands here once there is a question." }));
      return;
    }
    this.asking?.abort();
    const unread = this.budget.find(([, input]) => !input.validity.valid);
    if (unread) {
      const [, input, label] = unread;
      put(this.estimate, said(`${label}: ${input.validationMessage}`, { class: "bad" }));
      return;
    }
    const size = this.evidence.bytes;
    const mine = (this.asking = new AbortController());
    try {
      const found = await send("/api/estimate", this.form(size > SMALL ? [] : this.evidence.sent()), mine.signal);
      put(this.estimate, this.told(found, size > SMALL));
    } catch (error) {
      if (mine.signal.aborted) return;
      put(this.estimate, said(wording(error), { class: "bad" }));
    }
  }

  told(found, without) {
    const limit = (name) => Number(this.budget.find(([one]) => one === name)[1].value) || 0;
    const rows = [
      ["Likely", found.likely],
      ["At most", found.most],
    ];
    const part = (name, amount, words) =>
      limit(name) > 0 &&
      amount &&
      bar(amount / limit(name), `likely ${words(amount)} of ${words(limit(name))}`, {
        class: amount > limit(name) ? "bar over" : "bar",
      });
    return [
      el(
        "table",
        {},
        el(
          "tbody",
          {},
          rows.map(([name, amount]) =>
            el(
              "tr",
              {},
              el("th", { scope: "row", text: name }),
              el(
                "td",
                { class: "figure" },
                amount
                  ? [count(amount.tokens, "token"), el("br"), `${count(amount.calls, "call")}, ${usd(amount.cost_usd)}`]
                  : "not known before experts are chosen",
              ),
            ),
          ),
        ),
      ),
      part("tokens", found.likely.tokens, (n) => count(n, "token")),
      part("cost_usd", found.likely.cost_usd, usd),
      found.shortfall &&
        el("p", { class: "warn", role: "note", text: `⚠ The budget does not hold one round: ${found.shortfall}` }),
      without && el("p", { class: "sub", text: "Without the evidence, which is large." }),
      found.words.length > 0 &&
        el(
          "details",
          {},
          el("summary", { text: "In words" }),
          found.words.map((line) => said(line, { class: "sub" })),
        ),
    ];
  }

  async submit(event) {
    event.preventDefault();
    trouble(this.wrong, null);
    this.go.disabled = true;
    try {
      const { session } = await send("/api/sessions", this.form(this.evidence.sent()));
      draft("");
      location.assign(`/s/${session}`);
    } catch (error) {
      trouble(this.wrong, error);
      this.go.disabled = false;
    }
  }
}

function unfold(node) {
  for (let fold = node.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
}

/** The question as far as it was typed: kept in this tab, so a reload or the back button does not lose it. */
function draft(typed) {
  try {
    if (typed !== undefined) sessionStorage.setItem(DRAFT + location.search, typed);
    return sessionStorage.getItem(DRAFT + location.search) || "";
  } catch {
    return ""; // the browser keeps nothing
  }
}

const text = (input) => (input.type === "checkbox" ? String(input.checked) : input.value);
