// The frame of every page: which page it is, what waits for a human, and what went wrong.

import { get } from "./api.js";
import { BASE } from "./base.js";
import { el, put, trouble } from "./dom.js";
import { me } from "./me.js";
import { quiet } from "./stream.js";
import { every } from "./time.js";

const PAGES = [
  [/^\/$/, "./pages/list.js"],
  [/^\/new$/, "./pages/start.js"],
  [/^\/compare$/, "./pages/compare.js"],
  [/^\/inbox$/, "./pages/inbox.js"],
  [/^\/agents$/, "./pages/agents.js"],
  [/^\/s\/([A-Za-z0-9_-]{1,64})$/, "./pages/session.js"],
  [/^\/s\/([A-Za-z0-9_-]{1,64})\/documents\/(\d{1,6})$/, "./pages/document.js"],
];
const LOADING_MS = 400; // a page that comes sooner is not announced
const WAITING_MS = 10_000;
const BUS_MS = 2_000;

async function open() {
  const main = document.getElementById("main");
  const path = location.pathname.slice(BASE.length);
  const found = PAGES.map(([pattern, module]) => [pattern.exec(path), module]).find(([match]) => match);
  for (const a of document.querySelectorAll("body > header nav a")) {
    if (a.getAttribute("href") === BASE + path) a.setAttribute("aria-current", "page");
  }
  if (!found) {
    put(main, el("h1", { text: "There is no such page" }), el("p", {}, el("a", { href: "/", text: "All sessions" })));
    return;
  }
  const waits = setTimeout(() => {
    if (!main.querySelector("h1")) put(main, el("p", { class: "empty", role: "status", text: "Loading…" }));
  }, LOADING_MS);
  every(BUS_MS, bus); // while the page is still loading, too
  try {
    const [match, module] = found;
    const [page] = await Promise.all([import(module), me().catch(() => {})]);
    await page.show(main, ...match.slice(1));
  } catch (error) {
    const fault = error.status === undefined;
    const place = el("div", { class: "trouble", role: "alert" });
    trouble(place, fault ? { message: "This page has a fault. Reload it." } : error);
    put(
      main,
      el("h1", { text: "This cannot be shown" }),
      place,
      el("p", {}, el("a", { href: "/", text: "All sessions" })),
    );
    if (fault) throw error;
  } finally {
    clearTimeout(waits);
  }
  may().catch(() => {});
  if (!document.hidden) waiting();
  every(WAITING_MS, waiting);
}

/** Hide what who asks may not do. */
async function may() {
  const who = await me();
  document.querySelector('header nav a[href$="/agents"]').hidden = !who.operates;
  document.querySelector('header a[href$="/new"]').hidden = !who.can.includes("act");
}

let lacked = "";

/** Say what the bus lacks while it does. What was said once alone may be over already, or begin just now. */
async function bus() {
  const { lacking } = await get("/api/bus").catch((error) => ({ lacking: error.status ? error.message : "" }));
  if (Boolean(lacking) === Boolean(lacked)) quiet(lacking && lacking[0].toUpperCase() + lacking.slice(1), "bus");
  lacked = lacking;
}

async function waiting() {
  const { items } = await get("/api/inbox").catch(() => ({ items: [] }));
  const chip = document.getElementById("waiting");
  chip.hidden = !items.length;
  put(
    chip,
    String(items.length),
    el("span", { class: "unseen", text: items.length === 1 ? " question waits" : " questions wait" }),
  );
}

open();
