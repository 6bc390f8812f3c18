// All sessions with what they came to: searched and narrowed, those that are open with what goes on in them, two chosen
// side by side.

import { get, query } from "../api.js";
import { BASE } from "../base.js";
import { button, el, field, link, option, put, trouble } from "../dom.js";
import { limits } from "../limits.js";
import { me } from "../me.js";
import { ending } from "../session/answer.js";
import { follow } from "../stream.js";
import { every } from "../time.js";
import { brief, count, span, usd, when } from "../words.js";

const ENDED = [
  ["open", "open"],
  ["agreed", "agreed"],
  ["done", "done"],
  ["unsettled", "not settled"],
  ["failed", "failed"],
  ["cancelled", "cancelled"],
  ["refused", "refused"],
  ["erased", "erased"],
];
const SURE = [0.5, 0.6, 0.7, 0.8, 0.9];
const COST = [0.01, 0.1, 1, 10];
const DAYS = [1, 7, 30, 90];
const UNNAMED = { refused: "Refused before it began", erased: "Its texts were removed" };
const AGAIN_MS = 4_000;
const LIMITS_MS = 30_000;
const TYPED_MS = 300;
const LIVE = 32; // sessions that one stream follows

export async function show(main) {
  const who = await me();
  const list = new List(main, who);
  await list.load();
}

class List {
  constructor(main, who) {
    const asked = new URLSearchParams(location.search);
    this.rows = new Map(); // session -> { row, node, state }
    this.chosen = new Set();
    this.before = null;
    this.stop = null;
    this.followed = "";
    const chosen = (name, options, any = "any") =>
      el(
        "select",
        { name, on: { change: () => this.load() } },
        option("", any, ""),
        options.map(([value, text]) => option(String(value), text, asked.get(name))),
      );
    let typing = 0;
    const typed = () => {
      clearTimeout(typing);
      typing = setTimeout(() => this.load(), TYPED_MS);
    };
    this.fields = {
      q: el("input", {
        type: "search",
        name: "q",
        value: asked.get("q") || "",
        placeholder: "Words of questions, answers and posts",
        on: { input: typed },
      }),
      ended: chosen("ended", ENDED),
      protocol: chosen("protocol", who.protocols.map((p) => [p.name, p.name])),
      sure: chosen("sure", SURE.map((n) => [n, `${n} or more`])),
      usd: chosen("usd", COST.map((n) => [n, `at most $${n}`])),
      days: chosen("days", DAYS.map((n) => [n, n === 1 ? "since yesterday" : `the last ${n} days`])),
    };
    this.compare = link("/compare", "Compare the two", { class: "btn main", hidden: true });
    this.list = el("ul", { class: "plain list", "aria-label": "Sessions" });
    this.note = el("p", { class: "empty", hidden: true });
    this.more = button("Older sessions", () => this.load(true), { hidden: true });
    this.wrong = el("div", { class: "trouble", role: "alert" });
    this.limits = el("div");
    const submit = (event) => {
      event.preventDefault();
      this.load();
    };
    const labels = { ended: "Ended", protocol: "Protocol", sure: "Confidence", usd: "Cost", days: "Date" };
    put(
      main,
      el("h1", { text: "Sessions" }),
      el(
        "form",
        { class: "tools", role: "search", on: { submit } },
        el("div", { class: "grow" }, field("Search", this.fields.q)),
        Object.entries(labels).map(([name, label]) => field(label, this.fields[name])),
        this.compare,
      ),
      this.wrong,
      this.limits,
      el(
        "div",
        { class: "list heads", "aria-hidden": "true" },
        el("div", {}, el("span"), ["Answer", "Confidence", "Cost", "Date"].map((text, i) => el("span", { class: i ? "cell" : "", text }))),
      ),
      this.list,
      this.note,
      this.more,
    );
    every(AGAIN_MS, () => this.load(false, true));
    limits(this.limits, true);
    every(LIMITS_MS, () => limits(this.limits, true));
  }

  get filters() {
    return Object.fromEntries(Object.entries(this.fields).map(([name, input]) => [name, input.value.trim()]));
  }

  /** Ask for sessions. `older`: the next page; `quietly`: as somebody may be reading, only news. */
  async load(older = false, quietly = false) {
    const filters = this.filters;
    if (!quietly) history.replaceState(null, "", `?${query(filters)}`.replace(/^\?$/, `${BASE}/`));
    const { days, ...asked } = filters;
    const since = days && Math.floor((Date.now() - days * 86_400_000) / 60_000) * 60_000;
    try {
      const found = await get(`/api/sessions?${query({ ...asked, since, before: older ? this.before : null, limit: 50 })}`);
      if (query(filters) !== query(this.filters)) return; // somebody has typed on
      trouble(this.wrong, null);
      this.take(found, older, quietly);
    } catch (error) {
      if (!quietly) trouble(this.wrong, error);
    }
  }

  take(found, older, quietly) {
    const kept = older || quietly ? [...this.rows.values()].map((one) => one.row) : [];
    const fresh = new Map(found.sessions.map((row) => [row.session, row]));
    const rest = kept.filter((row) => !fresh.has(row.session));
    // a word on an old session is a change of it, and does not make it a new one
    const rows = tree([...found.sessions, ...rest].sort((a, b) => b.opened_ns - a.opened_ns));
    if (!quietly) this.before = found.before;
    this.more.hidden = this.before === null;
    put(
      this.list,
      rows.map((row) => this.node(fresh.get(row.session) || row)),
    );
    for (const session of this.rows.keys()) if (!rows.some((row) => row.session === session)) this.rows.delete(session);
    const narrowed = Object.values(this.filters).some(Boolean);
    const looked = `of ${count(found.searched, "session")} that were looked at`;
    const none = narrowed ? `No session is like that, ${looked}.` : ["Nobody has asked anything yet. ", link("/new", "Ask a question")];
    const lacking = !found.whole && "Sessions may be missing here (parley sessions rebuild-index).";
    this.note.hidden = rows.length > 0 && !lacking;
    put(this.note, rows.length ? lacking : none);
    this.follow(rows);
  }

  /** The row's node: the one that is there, unless what it shows has changed. */
  node(row) {
    const known = this.rows.get(row.session);
    if (known && ["status", "closed_ns", "feedback", "answer"].every((name) => known.row[name] === row[name])) return known.node;
    const name = brief(row.question, 80) || row.session;
    const box = el("input", {
      type: "checkbox",
      checked: this.chosen.has(row.session),
      "aria-label": `Choose for comparison: ${name}`,
      on: { change: () => this.choose(row.session, box) },
    });
    const open = row.status === "open";
    const state = el("span", { class: open ? "chip live" : "" }, open ? "● live" : ended(row));
    const question = row.question || UNNAMED[row.status] || row.session;
    const took = row.closed_ns ? span((row.closed_ns - row.opened_ns) / 1e9) : "";
    const cost = row.unpriced ? (row.usd ? `at least ${usd(row.usd)}` : "not known") : usd(row.usd);
    const cell = (kind, text, small) => el("div", { class: `cell ${kind}` }, text, small && el("small", { text: small }));
    const title = { class: row.kind ? "title" : "title alone", dir: "auto" };
    const node = el(
      "li",
      { "data-session": row.session, class: row.parent ? "beneath" : null },
      box,
      el(
        "div",
        {},
        link(`/s/${row.session}`, question, title),
        row.answer && el("p", { class: "holds", dir: "auto", text: row.answer }),
        row.kind && !row.answer && el("p", { class: "dim", text: "No answer" }),
        row.unread && el("p", { class: "dim", dir: "auto", text: `Not read: ${brief(row.unread, 300)}` }),
        el(
          "div",
          { class: "sub" },
          state,
          row.protocol && el("span", { text: row.protocol }),
          row.parent ? el("span", {}, "beneath ", link(`/s/${row.parent}`, row.parent)) : row.owner && el("span", { text: row.owner }),
          row.feedback && el("span", { text: row.feedback === "right" ? "✓ said to be right" : "✕ said to be wrong" }),
          !row.question && el("span", { class: "mono", text: row.session }),
        ),
      ),
      cell("sure", row.confidence === null || row.confidence === undefined ? "–" : row.confidence.toFixed(2)),
      cell("cost", row.closed_ns ? cost : "–", row.tokens ? count(row.tokens, "token") : ""),
      cell("date", when(row.opened_ns / 1e6), took),
    );
    this.rows.set(row.session, { row, node, state });
    return node;
  }

  choose(session, box) {
    if (box.checked) this.chosen.add(session);
    else this.chosen.delete(session);
    if (this.chosen.size > 2) {
      // the one that was chosen first gives way
      const [first] = this.chosen;
      this.chosen.delete(first);
      const other = this.rows.get(first)?.node.querySelector("input");
      if (other) other.checked = false;
    }
    const [a, b] = this.chosen;
    this.compare.hidden = this.chosen.size !== 2;
    this.compare.href = `/compare?${query({ a, b })}`;
  }

  /** One stream for those that are open: what goes on in them stands in their rows. */
  follow(rows) {
    const open = rows
      .filter((row) => row.status === "open")
      .slice(0, LIVE)
      .map((row) => row.session)
      .sort();
    if (open.join() === this.followed) return;
    this.stop?.();
    this.followed = open.join();
    if (!open.length) return;
    const places = new Map();
    this.stop = follow(`/api/events?${query({ session: open.join() })}`, "", {
      view: ({ session, ...now }) => {
        const place = { ...places.get(session), ...now };
        places.set(session, place);
        const one = this.rows.get(session);
        const told = ["● live", place.round && `round ${place.round}`, doing(place)];
        if (one) one.state.textContent = told.filter(Boolean).join(" · ");
      },
      end: () => this.load(false, true),
    });
  }
}

/** Sessions with those that were started beneath them right behind, the first one first. */
function tree(rows) {
  const listed = new Set(rows.map((row) => row.session));
  const whole = (row) => [row, ...rows.filter((one) => one.parent === row.session).reverse().flatMap(whole)];
  return rows.filter((row) => !listed.has(row.parent)).flatMap(whole);
}

/** What an open session is at, as its list tells it. */
function doing({ seats, items }) {
  const is = (...states) => seats.filter((seat) => states.includes(seat.state)).length;
  if (items.length) return "waits for a human";
  if (is("waits for a person", "person's turn")) return "waits for a person";
  const busy = is("thinking", "retrying");
  return is("no worker") ? "no worker for a seat" : busy ? `${busy} thinking` : "";
}

/** How it ended: by a sign and in words; of what was refused the reason as it stands. */
function ended(row) {
  if (row.status === "refused") return `✕ refused: ${brief(row.reason, 300)}`;
  if (!row.kind) return row.status;
  return [ending(row.kind), ` ${row.sure.replace(/; confidence .*/, "")}`]; // which has a column
}
