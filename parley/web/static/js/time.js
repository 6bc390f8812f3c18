// What goes on with time: counting up, counting down, and asking again. Nothing of it runs while the page is hidden.

import { clock, span } from "./words.js";

/** Call it again and again while somebody looks; gives what ends it. */
export function every(ms, call) {
  const timer = setInterval(() => document.hidden || call(), ms);
  return () => clearInterval(timer);
}

const ticking = new Set();

/** A text that changes each second, for as long as the node is on the page. */
export function ticks(node, text) {
  const tick = () => {
    const now = text(Date.now());
    if (node.textContent !== now) node.textContent = now;
  };
  tick();
  ticking.add({ node, tick });
  return node;
}

export const since = (node, ms, before = "") => ticks(node, (now) => `${before}${span((now - ms) / 1000)}`);

/** Counts down to `ms`, then says `over`. */
export const until = (node, ms, over = "over") => ticks(node, (now) => (ms > now ? clock((ms - now) / 1000) : over));

setInterval(() => {
  if (document.hidden) return;
  for (const one of ticking) {
    if (one.node.isConnected) one.tick();
    else ticking.delete(one);
  }
}, 1000);
