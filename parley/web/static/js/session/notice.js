// That a session has ended, told by the browser to whoever wants that and does not look.

import { el } from "../dom.js";
import { brief } from "../words.js";

const WANTED = "parley notices"; // kept in this browser

const wanted = () => {
  try {
    return localStorage.getItem(WANTED) === "1" && globalThis.Notification?.permission === "granted";
  } catch {
    return false;
  }
};

/** A box to choose it; nothing where the browser has no notifications. */
export function notices() {
  if (!globalThis.Notification) return null;
  const box = el("input", { type: "checkbox", name: "notices", checked: wanted() });
  box.addEventListener("change", async () => {
    if (box.checked) box.checked = (await Notification.requestPermission()) === "granted";
    try {
      localStorage.setItem(WANTED, box.checked ? "1" : "");
    } catch {
      box.checked = false; // the browser keeps nothing
    }
  });
  return el("label", { class: "row dim" }, box, "Tell me when it ends");
}

export function tellEnd(session, words) {
  if (document.hidden && wanted()) new Notification(brief(session.question, 80), { body: brief(words, 200), tag: session.session });
}
