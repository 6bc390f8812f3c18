// Requests to the gateway, and what it answers when it refuses.

import { BASE } from "./base.js";

/** Why a request came to nothing: `status` 0 where nobody answered. */
export class Problem extends Error {
  constructor(status, field, message) {
    super(message);
    Object.assign(this, { status, field });
  }
}

async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(BASE + path, { credentials: "same-origin", ...options });
  } catch {
    throw new Problem(0, "", "The gateway does not answer.");
  }
  if (answer.status === 401) {
    location.assign(`${BASE}/login`);
    throw new Problem(401, "", "Sign in first.");
  }
  const found = (answer.headers.get("content-type") || "").includes("json")
    ? await answer.json().catch(() => null)
    : null;
  if (!answer.ok) {
    const error = found?.error || {};
    throw new Problem(answer.status, error.field || "", error.message || `The gateway answers ${answer.status}.`);
  }
  return found;
}

export const get = (path, options) => ask(path, options);

export const post = (path, body) =>
  ask(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body ?? {}) });

export const send = (path, form, signal) => ask(path, { method: "POST", body: form, signal });

export const query = (values) =>
  new URLSearchParams(Object.entries(values).filter(([, v]) => v !== "" && v !== null && v !== undefined)).toString();
