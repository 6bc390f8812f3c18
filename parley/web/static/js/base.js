// Where the gateway is mounted: a prefix of every path; empty at the root of its host.

export const BASE = new URL("../..", import.meta.url).pathname.replace(/\/$/, "");
