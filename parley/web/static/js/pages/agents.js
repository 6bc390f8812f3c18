// Experts, workers, queues, and the models behind them with their health.

import { get } from "../api.js";
import { el, put, redraw, section, trouble } from "../dom.js";
import { every } from "../time.js";
import { count, named } from "../words.js";

const AGAIN_MS = 5_000;
const HEALTH = { ok: ["✓", "good"], warning: ["!", ""], failed: ["✕", "bad"], unknown: ["?", "dim"] };

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

function shown(found) {
  return [
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
    section(
      "Models",
      {},
      el("p", {
        class: "sub",
        text: found.looked
          ? "As parley doctor sees them on the machine of this gateway."
          : "As their workers announce them. parley doctor says more, on the machine where they run.",
      }),
      table(
        ["Model", "Family", "Health", "Serves"],
        found.models.map((model) => {
          const [mark, tone] = HEALTH[model.health];
          return [
            model.model || "not named",
            model.family,
            el("span", { class: tone }, `${mark} ${model.health}`, model.words && `: ${model.words}`),
            model.queues.join(", "),
          ];
        }),
        "No model answers.",
      ),
    ),
    section(
      "Workers",
      {},
      table(
        ["Queue", "Role", "Model", "Copies", "Turns at once", "Waiting turns"],
        found.workers.map((worker) => [
          worker.queue,
          named(worker.role),
          worker.model,
          worker.copies,
          worker.room,
          worker.waiting ?? "not known",
        ]),
        "No worker is alive.",
        3,
      ),
    ),
    section(
      "Experts",
      {},
      table(
        ["Expert", "Id", "Version", "Takes"],
        found.experts.map((one) => [
          one.name || one.id,
          one.id,
          one.version,
          one.general ? "what nobody else does" : "what it matches",
        ]),
        "No expert is alive.",
      ),
    ),
  ];
}

function table(heads, rows, none, figures = heads.length) {
  if (!rows.length) return el("p", { class: "empty", text: none });
  return el(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": count(rows.length, "row") },
    el(
      "table",
      { class: "stack", role: "table" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          heads.map((text, i) => el("th", { scope: "col", class: i >= figures ? "figure" : "", text })),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map((cells) =>
          el(
            "tr",
            { role: "row" },
            cells.map((cell, i) =>
              el(
                i ? "td" : "th",
                {
                  scope: i ? null : "row",
                  role: i ? "cell" : "rowheader",
                  class: i >= figures ? "figure" : "",
                  dir: "auto",
                  "data-label": heads[i],
                },
                cell,
              ),
            ),
          ),
        ),
      ),
    ),
  );
}
