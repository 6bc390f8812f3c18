// Who is there: first what is wrong, then the models with their health, the experts, and all other workers.

import { get } from "../api.js";
import { el, put, redraw, section, table, trouble } from "../dom.js";
import { every } from "../time.js";
import { count, named } from "../words.js";

const AGAIN_MS = 5_000;
const HEALTH = { ok: ["✓", "good"], warning: ["!", "bad"], failed: ["✕", "bad"], unknown: ["?", "dim"] };

export async function show(main) {
  const body = el("div", {}, el("p", { class: "empty", role: "status", text: "Asking the models and workers. This takes some seconds." }));
  const wrong = el("div", { class: "trouble", role: "alert" });
  document.title = "Agents · Parley";
  put(main, el("h1", { text: "Agents" }), wrong, body);
  const load = async () => {
    try {
      const found = await get("/api/agents");
      trouble(wrong, null);
      redraw(body, shown(found));
    } catch (error) {
      body.querySelector('[role="status"]')?.remove();
      trouble(wrong, error);
    }
  };
  await load();
  every(AGAIN_MS, load);
}

/** A model's health by a sign and in a word. */
function health(model) {
  if (!model) return el("span", { class: "dim", text: "? no worker" });
  const [mark, tone] = HEALTH[model.health];
  return el("span", { class: tone, text: `${mark} ${model.health}` });
}

function shown(found) {
  const worker = new Map(found.workers.map((one) => [one.queue, one]));
  const model = new Map(found.models.flatMap((one) => one.queues.map((queue) => [queue, one])));
  const experts = new Set(found.experts.map((one) => one.queue));
  const others = found.workers.filter((one) => !experts.has(one.queue));
  const waiting = (one) => (found.waiting ? (found.waiting[one.queue] ?? 0) : "not known");
  const load = (one) => [one ? (one.copies ?? 1) : 0, one?.room ?? "–", one ? waiting(one) : "not known"];
  const sick = found.models.filter((one) => one.health !== "ok").length;
  const summary = [
    count(found.models.length, "model"),
    sick ? `${sick} of them not well` : "all well",
    count(found.experts.length, "expert"),
    count(found.workers.length, "queue"),
  ];
  return [
    el("p", { class: "facts" }, summary.map((text, i) => el("span", { class: i === 1 ? (sick ? "bad" : "good") : "", text }))),
    !found.heard &&
      el("p", { class: "warn", role: "note", text: "⚠ The moderator has not listened for long: some may be missing." }),
    found.missing.length > 0 &&
      section(
        "What is missing",
        {},
        found.missing.map((lack) =>
          el("p", { class: "warn", role: "note", dir: "auto" }, `⚠ ${lack.what}. To mend it: `, el("code", { text: lack.mend })),
        ),
      ),
    part(
      "Models",
      ["Model", "Health", "What was found", "Family", "Serves"],
      found.models.map((one) => [one.model || "not named", health(one), one.words, one.family, served(one.queues)]),
      "No model answers.",
      found.looked
        ? "As parley doctor sees them on the machine of this gateway."
        : "As their workers announce them. parley doctor says more, on the machine where they run.",
    ),
    part(
      "Experts",
      ["Expert", "Health", "What it is for", "Model", "Copies", "Turns at once", "Waiting turns"],
      found.experts.map((one) => [
        el("span", { title: `${one.id} ${one.version}`, text: one.name || one.id }),
        health(model.get(one.queue)),
        one.general ? "What nobody else takes." : one.about,
        worker.get(one.queue)?.model,
        ...load(worker.get(one.queue)),
      ]),
      "No expert is alive.",
    ),
    part(
      "Other workers",
      ["Queue", "Health", "Role", "Model", "Copies", "Turns at once", "Waiting turns"],
      others.map((one) => [one.queue, health(model.get(one.queue)), named(one.roles[0]), one.model, ...load(one)]),
      "No other worker is alive.",
    ),
  ];
}

const SHOWN = 4; // queues of a model that are named

function served(queues) {
  const rest = queues.length - SHOWN;
  return el("span", { title: queues.join(", ") }, queues.slice(0, SHOWN).join(", "), rest > 0 && ` and ${rest} more`);
}

/** A table with its heading; figures stand from the fifth column on. */
function part(title, heads, rows, none, note = "") {
  return section(
    title,
    { class: "card" },
    note && el("p", { class: "sub", text: note }),
    rows.length
      ? table(heads, rows, { class: "stack agents", label: `${title}: ${count(rows.length, "row")}`, figures: title === "Models" ? 9 : 4 })
      : el("p", { class: "empty", text: none }),
  );
}
