// One stream of events a page. The browser begins again by itself after a cut, from the last position that it has.

import { BASE } from "./base.js";

const KINDS = ["post", "live", "view", "turn", "trouble", "end"];
const AGAIN_MS = [1_000, 2_000, 4_000, 8_000];

const away = { bus: "", stream: "" };

/** A quiet line at the top of the page for what is away; it goes by itself. What the bus lacks says more. */
export function quiet(message, what = "stream") {
  away[what] = message || "";
  const line = document.getElementById("lost");
  const text = away.bus || away.stream;
  line.hidden = !text;
  if (line.textContent !== text) line.textContent = text;
}

/**
 * Follow sessions. `path`: of the stream; `from`: the position where it begins; `on`: kind of event -> function;
 * `shown`: posts that are on the page already. Each post comes once: those that were taken are dropped by session,
 * channel and number. Gives what ends it.
 */
export function follow(path, from, on, shown = []) {
  let position = from;
  let source = null;
  let tries = 0;
  let over = false;
  let timer = 0;
  const taken = new Map();

  function begin() {
    const glue = path.includes("?") ? "&" : "?";
    source = new EventSource(`${BASE}${path}${glue}from=${encodeURIComponent(position)}`);
    source.onopen = () => {
      tries = 0;
      quiet("");
    };
    source.onerror = () => {
      if (over) return;
      quiet("The gateway does not answer. This page goes on by itself when it is back.");
      if (source.readyState === EventSource.CLOSED) {
        // refused, not cut: the browser gives up, so it is asked again here
        clearTimeout(timer);
        timer = setTimeout(begin, AGAIN_MS[Math.min(tries++, AGAIN_MS.length - 1)]);
      }
    };
    for (const kind of KINDS) source.addEventListener(kind, (event) => take(kind, event));
  }

  function take(kind, event) {
    if (event.lastEventId) position = event.lastEventId;
    const data = JSON.parse(event.data);
    if (kind === "post" && !first(data)) return;
    if (kind === "trouble")
      quiet(data.away ? data.message || "The bus is away. This page goes on by itself when it is back." : "");
    on[kind]?.(data);
  }

  function first({ session, post }) {
    const place = `${session}/${post.channel}`;
    const fresh = post.k > (taken.get(place) ?? -1);
    if (fresh) taken.set(place, post.k);
    return fresh;
  }

  function end() {
    over = true;
    clearTimeout(timer);
    source.close();
    quiet("");
    removeEventListener("pagehide", end);
  }

  shown.forEach(first);
  begin();
  addEventListener("pagehide", end);
  return end;
}

addEventListener("pageshow", (event) => event.persisted && location.reload()); // its stream was ended when it was left
