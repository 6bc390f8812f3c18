// All sessions: searched and filtered, those that are open with what goes on in them, two chosen side by side.

import { get, query } from "../api.js";
import { button, el, field, link, option, put, said, trouble } from "../dom.js";
import { me } from "../me.js";
import { follow } from "../stream.js";
import { every } from "../time.js";
import { brief, named, span, when } from "../words.js";

const STATUS = ["open", "finished", "failed", "cancelled", "refused", "erased"];
const MARKS = { open: "●", finished: "○", failed: "✕", cancelled: "–", refused: "✕", erased: "–" };
const UNNAMED = { refused: "Refused before it began", erased: "Its texts were removed" };
const AGAIN_MS = 4_000;
const TYPED_MS = 300;
const SEARCHED = 300; // characters of a question that its row has
const LIVE = 32; // sessions that one stream follows

export async function show(main) {
  const who = await me();
  const list = new List(main, who);
  await list.load();
}

/** The name of a stop in words; of what was refused a sentence as it stands. */
const why = (row) => (row.status === "refused" ? brief(row.reason, 300) : named(row.reason).toLowerCase());

class List {
  constructor(main, who) {
    const asked = new URLSearchParams(location.search);
    this.rows = new Map(); // session -> { row, node, state }
    this.chosen = new Set();
    this.before = null;
    this.stop = null;
    this.followed = "";
    this.q = el("input", {
      type: "search",
      name: "q",
      value: asked.get("q") || "",
      placeholder: "Words of the question",
    });
    this.status = el(
      "select",
      { name: "status" },
      option("", "any"),
      STATUS.map((s) => option(s, named(s), asked.get("status"))),
    );
    this.protocol = el(
      "select",
      { name: "protocol" },
      option("", "any"),
      who.protocols.map((p) => option(p.name, p.name, asked.get("protocol"))),
    );
    this.compare = link("/compare", "Compare", { class: "btn", hidden: true });
    this.list = el("ul", { class: "plain list", "aria-label": "Sessions" });
    this.note = el("p", { class: "empty", hidden: true });
    this.more = button("Older sessions", () => this.load(true), { hidden: true });
    this.wrong = el("div", { class: "trouble", role: "alert" });
    let typing = 0;
    const typed = () => {
      clearTimeout(typing);
      typing = setTimeout(() => this.load(), TYPED_MS);
    };
    this.q.addEventListener("input", typed);
    for (const select of [this.status, this.protocol]) select.addEventListener("change", () => this.load());
    put(
      main,
      el("h1", { text: "Sessions" }),
      el(
        "form",
        {
          class: "tools",
          role: "search",
          on: {
            submit: (event) => {
              event.preventDefault();
              this.load();
            },
          },
        },
        el("div", { class: "grow" }, field("Search", this.q)),
        field("Status", this.status),
        field("Protocol", this.protocol),
        this.compare,
      ),
      this.wrong,
      this.list,
      this.note,
      this.more,
    );
    every(AGAIN_MS, () => this.load(false, true));
  }

  get filters() {
    return { q: this.q.value.trim(), status: this.status.value, protocol: this.protocol.value };
  }

  /** Ask for sessions. `older`: the next page; `quietly`: as somebody may be reading, only news. */
  async load(older = false, quietly = false) {
    const filters = this.filters;
    if (!quietly) history.replaceState(null, "", `?${query(filters)}`.replace(/^\?$/, "/"));
    try {
      const found = await get(`/api/sessions?${query({ ...filters, before: older ? this.before : null, limit: 50 })}`);
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
    const rows = [...found.sessions, ...rest].sort((a, b) => b.opened_ms - a.opened_ms);
    if (!quietly) this.before = found.before;
    this.more.hidden = this.before === null;
    put(
      this.list,
      rows.map((row) => this.node(fresh.get(row.session) || row)),
    );
    for (const session of this.rows.keys()) if (!rows.some((row) => row.session === session)) this.rows.delete(session);
    this.note.hidden = rows.length > 0 && found.whole;
    const filtered = Object.values(this.filters).some(Boolean);
    put(
      this.note,
      rows.length
        ? found.whole
          ? null
          : "Sessions may be missing here (parley sessions rebuild-index)."
        : filtered
          ? `No session is like that.${this.filters.q ? ` Of each question the first ${SEARCHED} characters are searched.` : ""}`
          : ["Nobody has asked anything yet. ", link("/new", "Ask a question")],
    );
    this.follow(rows);
  }

  /** The row's node: the one that is there, unless what it shows has changed. */
  node(row) {
    const known = this.rows.get(row.session);
    if (known && known.row.status === row.status && known.row.closed_ms === row.closed_ms && known.row.feedback === row.feedback)
      return known.node;
    const box = el("input", {
      type: "checkbox",
      checked: this.chosen.has(row.session),
      "aria-label": `Choose for comparison: ${brief(row.question, 80) || row.session}`,
      on: { change: () => this.choose(row.session, box) },
    });
    const state = el("span", {
      class: row.status === "open" ? "chip live" : row.converged ? "good" : row.status === "failed" ? "bad" : "",
      text:
        row.status === "open"
          ? "● live"
          : `${row.converged ? "●" : MARKS[row.status] || ""} ${row.status}${row.reason ? `: ${why(row)}` : ""}`,
    });
    const took = row.closed_ms ? el("span", { text: span((row.closed_ms - row.opened_ms) / 1000) }) : null;
    const node = el(
      "li",
      { "data-session": row.session },
      box,
      link(`/s/${row.session}`, row.question || UNNAMED[row.status] || row.session, { class: "title", dir: "auto" }),
      el(
        "div",
        { class: "sub" },
        state,
        el("span", { text: row.protocol }),
        el("span", { text: when(row.opened_ms) }),
        took,
        row.owner && el("span", { text: row.owner }),
        row.feedback && el("span", { text: row.feedback === "right" ? "✓ said to be right" : "✕ said to be wrong" }),
        !row.question && el("span", { class: "mono", text: row.session }),
      ),
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
    const tell = (session, facts) => {
      const place = { ...places.get(session), ...facts };
      places.set(session, place);
      const one = this.rows.get(session);
      if (one)
        one.state.textContent = ["● live", place.round && `round ${place.round}`, place.busy]
          .filter(Boolean)
          .join(" · ");
    };
    this.stop = follow(`/api/events?${query({ session: open.join(), brief: 1 })}`, "", {
      seats: ({ session, round, seats }) => {
        const busy = seats.filter((seat) => ["thinking", "retrying"].includes(seat.state)).length;
        const alone = seats.some((seat) => seat.state === "no worker");
        const human = seats.some((seat) => ["waits for a person", "person's turn"].includes(seat.state));
        if (human) return tell(session, { round, busy: "waits for a person" });
        tell(session, { round, busy: alone ? "no worker for a seat" : busy ? `${busy} thinking` : "" });
      },
      items: ({ session, items }) => tell(session, { busy: items.length ? "waits for a human" : "" }),
      end: () => this.load(false, true),
    });
  }
}
