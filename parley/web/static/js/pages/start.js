// A new question: who argues, over what, within which budget; the estimate beside it as one types. What is wrong stands
// below its field before anything is sent.

import { send } from "../api.js";
import { BASE } from "../base.js";
import { bar, button, el, fault, field, fold, link, option, put, said, section, table, trouble, wording } from "../dom.js";
import { Evidence } from "../evidence.js";
import { limits } from "../limits.js";
import { me, offered } from "../me.js";
import { inputOf } from "../session/forms.js";
import { count, named, seatName, usd } from "../words.js";

const TYPED_MS = 400;
const DRAFT = "parley question"; // what was typed in this tab and not yet asked
const SMALL = 1_000_000; // bytes of evidence that every estimate brings along
const LIMIT = "budget.";
const UNREAD = "No estimate: a field is not filled in as it must be.";
const LABELS = { cost_usd: "US dollars", calls: "Model calls", turn_timeout_s: "Seconds for a turn" };
const STARTS = [
  {
    name: "Compare two designs",
    about: "A panel weighs them by your documents",
    protocol: "consensus",
    text: "Which of these two designs should we take, and why?\n\nA: …\nB: …",
  },
  {
    name: "Check a claim",
    about: "Two sides weigh the evidence for and against it",
    protocol: "maci",
    text: "Is this claim true? …",
    settings: { outcomes: ["true", "false", "not shown"] },
  },
  {
    name: "Debate a motion",
    about: "Two teams, a judge, a score",
    protocol: "competition",
    text: "This house would …",
  },
  {
    name: "Review a change",
    about: "Drop the diff: one answers, one objects",
    protocol: "critic",
    text: "What is wrong with the attached change, and how is it mended? Name the file and the line.",
  },
];

export async function show(main) {
  const page = new StartPage(main, await me());
  page.begin();
}

class StartPage {
  constructor(main, who) {
    Object.assign(this, { main, who });
    this.continues = new URLSearchParams(location.search).get("continues") || "";
    this.inputs = [];
    this.timer = 0;
    this.asking = null;
    this.wrongs = new Set(); // inputs below which something is said
  }

  begin() {
    const { main, who } = this;
    document.title = "New question · Parley";
    main.className = "two";
    this.question = el("textarea", { name: "question", required: true, maxlength: who.limits.question, rows: 4, dir: "auto" });
    this.question.value = draft();
    this.question.addEventListener("input", () => draft(this.question.value));
    this.protocol = el(
      "select",
      { name: "protocol", on: { change: () => this.offer() } },
      option("", "Chosen by what you ask", ""),
      who.protocols.map((p) => option(p.name, named(p.name), "")),
    );
    this.about = el("p", { class: "hint" });
    this.panel = el("input", { type: "number", name: "panel", min: 1, max: 64, on: { input: () => this.dealt() } });
    this.panelField = field("How many argue", this.panel);
    this.settings = el("div", { class: "fields" });
    this.rest = el("div", { class: "fields" });
    this.settingsFold = fold("Settings", this.settings, fold("More settings", this.rest));
    const [caps, options] = [true, false].map((is) => who.options.filter(({ name }) => name.startsWith(LIMIT) === is));
    this.budget = caps.map(({ name: place, kind }) => {
      const name = place.slice(LIMIT.length);
      const step = kind === "integer" ? 1 : "any";
      // it stands beside the form, and is a part of it: what is no number must not become a session without a limit
      const on = { input: () => this.soon() };
      const input = el("input", { type: "number", name: `budget-${name}`, min: 0, step, form: "ask", placeholder: "no limit", on });
      return [name, input, LABELS[name] || named(name)];
    });
    this.options = options.map((spec) => ({ spec, ...inputOf({ label: LABELS[spec.name], ...spec }, undefined, "option-") }));
    this.seats = who.seats.map(({ seat, role }) => {
      const box = el("input", { type: "checkbox", name: "human", value: seat, id: `human-${seat}` });
      return { box, role, node: el("label", { class: "row", for: box.id }, box, seatName(seat)) };
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
    this.limits = el("div");
    this.wrong = el("div", { class: "trouble", role: "alert" });
    this.go = el("button", { class: "btn main", text: "Ask" });
    const form = el(
      "form",
      { id: "ask", on: { submit: (event) => this.submit(event), input: ({ target }) => this.typed(target) } },
      field("Question or task", this.question),
      this.continues && el("p", { class: "sub" }, "follows up ", link(`/s/${this.continues}`, this.continues)),
      el("div", { class: "fields" }, field("Who argues, and how", this.protocol), this.panelField),
      this.about,
      this.evidence.node,
      this.settingsFold,
      this.people,
      this.wrong,
      this.go,
    );
    // the browser cannot point at a field in a closed fold, and would refuse the form without a word
    form.addEventListener("invalid", ({ target }) => unfold(target), true);
    const budget = el("div", { class: "fields" }, this.budget.map(([, input, label]) => field(label, input)));
    put(
      main,
      el("div", {}, el("h1", { text: "New question" }), !this.continues && this.starts(), form),
      el("aside", { "aria-label": "Budget" }, section("Budget", { class: "card" }, budget, this.estimate), this.limits),
    );
    this.offer();
    limits(this.limits);
    this.question.focus();
  }

  /** What people often begin with: a text to fill in, and who argues it. */
  starts() {
    const known = STARTS.filter((one) => offered(this.who, one.protocol));
    const take = (one) => {
      if (!this.question.value.trim() || STARTS.some(({ text: given }) => given === this.question.value)) {
        this.question.value = draft(one.text);
        const gap = one.text.indexOf("…");
        this.question.setSelectionRange(gap < 0 ? one.text.length : gap, gap < 0 ? one.text.length : gap + 1);
      }
      this.protocol.value = one.protocol;
      this.offer();
      for (const { spec, set } of this.inputs) if (spec.name in (one.settings || {})) set(one.settings[spec.name].join("\n"));
      this.question.focus();
    };
    return el(
      "div",
      { class: "starts", role: "group", "aria-label": "Starting points" },
      known.map((one) => put(button("", () => take(one)), one.name, el("small", { text: one.about }))),
    );
  }

  dealt() {
    const found = offered(this.who, this.protocol.value || this.who.default_protocol);
    this.evidence.seats(found, Number(this.panel.value) || found?.panel_size || 0);
  }

  /** The chosen protocol's settings. */
  offer() {
    const found = offered(this.who, this.protocol.value || this.who.default_protocol);
    this.about.textContent = found?.about || "";
    this.panelField.hidden = !found?.panel;
    this.panel.placeholder = found?.panel_size || "";
    this.inputs = (found?.settings || [])
      .filter((spec) => spec.common && spec.name !== found.panel)
      .map((spec) => {
        const made = inputOf(spec, spec.default, "set-");
        return { spec, ...made, first: text(made.input) };
      });
    const nodes = (list) => list.map((one) => one.node);
    put(this.settings, nodes(this.inputs));
    put(this.rest, nodes(this.options));
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
    const panel = !this.panelField.hidden && this.panel.value ? Number(this.panel.value) : null;
    const set = panel !== null || Object.keys(settings).length > 0; // these are of the protocol whose fields are shown
    return {
      question: this.question.value,
      protocol: this.protocol.value || (set ? this.who.default_protocol : ""),
      settings,
      budget,
      continues: this.continues,
      panel,
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

  // -- what is wrong
  /** The input that an error is about; undefined: none of them. */
  fieldOf(name = "") {
    const last = name.split(/[.:]/).at(-1);
    const known = { question: this.question, protocol: this.protocol, panel: this.panel, evidence: this.evidence.input };
    if (name.startsWith(LIMIT)) return this.budget.find(([one]) => one === last)?.[1];
    const of = [...this.inputs, ...this.options].find(({ spec }) => [spec.name, spec.label].includes(last));
    return known[name] || of?.input;
  }

  /** Say below its field what is wrong; gives the field. Where it has none: undefined. */
  tells(error) {
    this.clear();
    const input = this.fieldOf(error.field);
    if (input) {
      fault(input, error.message);
      this.wrongs.add(input);
    }
    return input;
  }

  clear() {
    for (const input of this.wrongs) fault(input);
    this.wrongs.clear();
  }

  /** Whatever the browser itself sees in a field is said there. */
  typed(input, again = true) {
    const bad = input.validity && !input.validity.valid && input !== this.question;
    if (bad || this.wrongs.has(input)) fault(input, bad ? input.validationMessage : "");
    if (bad) this.wrongs.add(input);
    if (again) this.soon();
  }

  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), TYPED_MS);
  }

  async ask() {
    if (!this.who.operates) {
      put(this.estimate, el("p", { class: "sub", text: "Only owners get an estimate: it asks who is there." }));
      return;
    }
    if (!this.question.value.trim()) {
      put(this.estimate, el("p", { class: "sub", text: "The estimate stands here once there is a question." }));
      return;
    }
    this.asking?.abort();
    const typed = [...this.budget.map(([, input]) => input), ...this.inputs.map(({ input }) => input)];
    const unread = typed.find((input) => input.validity?.valid === false);
    if (unread) {
      this.clear();
      this.typed(unread, false);
      put(this.estimate, el("p", { class: "sub", text: UNREAD }));
      return;
    }
    const size = this.evidence.bytes;
    const mine = (this.asking = new AbortController());
    try {
      const found = await send("/api/estimate", this.form(size > SMALL ? [] : this.evidence.sent()), mine.signal);
      this.clear();
      put(this.estimate, this.told(found, size > SMALL));
    } catch (error) {
      if (mine.signal.aborted) return;
      const input = this.tells(error);
      put(this.estimate, said(input ? UNREAD : wording(error), { class: input ? "sub" : "bad" }));
    }
  }

  told(found, without) {
    const limit = (name) => Number(this.budget.find(([one]) => one === name)[1].value) || 0;
    const price = (n) => (found.unpriced ? (n ? `at least ${usd(n)}` : "price not known") : usd(n));
    const amount = (one) =>
      one
        ? [count(one.tokens, "token"), el("br"), `${count(one.calls, "call")}, ${price(one.cost_usd)}`]
        : "not known before experts are chosen";
    const part = (name, used, words) =>
      limit(name) > 0 &&
      used &&
      bar(used / limit(name), `likely ${words(used)} of ${words(limit(name))}`, {
        class: used > limit(name) ? "bar over" : "bar",
      });
    return [
      table(null, [
        ["Likely", amount(found.likely)],
        ["At most", amount(found.most)],
      ]),
      part("tokens", found.likely.tokens, (n) => count(n, "token")),
      part("cost_usd", found.likely.cost_usd, usd),
      found.shortfall &&
        el("p", { class: "warn", role: "note", text: `⚠ The budget does not hold one round: ${found.shortfall}` }),
      without && el("p", { class: "sub", text: "Without the evidence, which is large." }),
      found.words.length > 0 && fold("In words", found.words.map((line) => said(line, { class: "sub" }))),
    ];
  }

  async submit(event) {
    event.preventDefault();
    trouble(this.wrong, null);
    this.go.disabled = true;
    try {
      const { session } = await send("/api/sessions", this.form(this.evidence.sent()));
      draft("");
      location.assign(`${BASE}/s/${session}`);
    } catch (error) {
      const input = this.tells(error);
      if (input) unfold(input).focus();
      else trouble(this.wrong, error);
      limits(this.limits); // one of them may be why
      this.go.disabled = false;
    }
  }
}

function unfold(node) {
  for (let one = node.closest("details"); one; one = one.parentElement.closest("details")) one.open = true;
  return node;
}

/** The question as far as it was typed: kept in this tab, so a reload or the back button does not lose it. */
function draft(typed) {
  try {
    if (typed !== undefined) sessionStorage.setItem(DRAFT + location.search, typed);
    return sessionStorage.getItem(DRAFT + location.search) || "";
  } catch {
    return typed || ""; // the browser keeps nothing
  }
}

const text = (input) => (input.type === "checkbox" ? String(input.checked) : input.value);
