// Who asks, and what may be done: asked once a page.

import { get } from "./api.js";
import { leaveOut } from "./words.js";

let known = null;

export const me = () =>
  (known ??= get("/api/me").then((who) => {
    leaveOut(who.packages);
    return who;
  }));

/** What is offered of a protocol; undefined: it may not be started here. */
export const offered = (who, protocol) => who.protocols.find((p) => p.name === protocol);
