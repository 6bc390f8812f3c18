// What waits for a human, the most urgent first.

import { get } from "../api.js";
import { el, put, trouble } from "../dom.js";
import { keep } from "../session/items.js";
import { every } from "../time.js";

const AGAIN_MS = 3_000;

export async function show(main) {
  const list = el("div", { "aria-live": "polite" });
  const none = el("p", { class: "empty", text: "Nothing waits for you." });
  const wrong = el("div", { class: "trouble", role: "alert" });
  main.className = "narrow";
  document.title = "Inbox · Parley";
  put(main, el("h1", { text: "Inbox" }), wrong, none, list);
  const load = async () => {
    try {
      const { items } = await get("/api/inbox");
      trouble(wrong, null);
      keep(list, items, load, true);
      none.hidden = items.length > 0;
    } catch (error) {
      trouble(wrong, error);
    }
  };
  await load();
  every(AGAIN_MS, load);
}
