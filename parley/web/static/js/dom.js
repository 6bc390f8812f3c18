// Nodes of the page. Whatever a session says reaches the page as the text of a node, here and nowhere else.

import { BASE } from "./base.js";

// Direction marks, which make a text read otherwise than it is, and whatever else nobody sees; joiners, and signs before
// numbers, stay (parley/client/text.py has the same list).
const UNSEEN = /[^\P{Cf}\u200c\u200d\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}]/gu;
const seen = (text) => String(text).replace(UNSEEN, "");
const TARGET = /^(\/(?!\/)|#|\?)/; // a link leads to this gateway, or to a place on the page

/**
 * A node. `options`: `class`, `text`, attributes by name, and `on` (event -> function); what is null, false or
 * undefined is left out. `children`: nodes and texts, lists of them, and nothing.
 */
export function el(tag, options = {}, ...children) {
  const node = document.createElement(tag);
  fill(node, options);
  add(node, children);
  return node;
}

/** The same for a part of a drawing. */
export function svg(tag, options = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(node, options);
  add(node, children);
  return node;
}

function fill(node, options) {
  for (const [name, value] of Object.entries(options)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.setAttribute("class", value);
    else if (name === "text") node.textContent = seen(value);
    else if (name === "on") for (const [event, call] of Object.entries(value)) node.addEventListener(event, call);
    else if (name === "href" && !TARGET.test(value)) continue;
    else if (name === "href" && value.startsWith("/")) node.setAttribute("href", BASE + value);
    else if (/^(on|style|src)/i.test(name)) throw new Error(`el: ${name} is no attribute of this page`);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
}

function add(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(seen(child)));
  }
}

/** Put these in the place of all that is in the node. */
export function put(node, ...children) {
  const made = document.createDocumentFragment();
  add(made, children);
  node.replaceChildren(made);
  return node;
}

/** The same for a part that is shown anew while somebody reads it: folds stay as they are, and the focus where it is. */
export function redraw(node, ...children) {
  const reached = (at) => [...at.querySelectorAll("a, button, input, select, textarea, summary")];
  const folds = [...node.querySelectorAll("details")].map((one) => one.open);
  const focused = reached(node).indexOf(document.activeElement);
  put(node, ...children);
  node.querySelectorAll("details").forEach((one, i) => {
    if (i < folds.length) one.open = folds[i];
  });
  if (focused >= 0) reached(node)[focused]?.focus({ preventScroll: true });
  return node;
}

export const link = (href, text, options = {}) => el("a", { href, text, ...options });

export const button = (text, call, options = {}) =>
  el("button", { type: "button", class: "btn", text, on: { click: call }, ...options });

/** What somebody said, in its own direction of writing. */
export const said = (text, options = {}, ...children) => el("p", { dir: "auto", text, ...options }, ...children);

/** A section with a heading that names it. */
export const section = (title, options = {}, ...children) =>
  el("section", { "aria-label": title, ...options }, el("h2", { text: title }), ...children);

/** What is folded away, under its summary: a text, or nodes. */
export const fold = (summary, ...children) =>
  el("details", {}, el("summary", { dir: "auto" }, summary), children);

/**
 * A table. `heads`: what stands above each column, or null; `rows`: lists of cells, or `{ cells, class }`. `figures`: the
 * first column that holds figures; `label`: it may be wider than its place, which is then called so.
 */
export function table(heads, rows, { figures = 1, label = "", ...options } = {}) {
  const of = (i) => (i >= figures ? "figure" : null);
  const named = (i) => (typeof heads?.[i] === "string" ? heads[i] : null);
  const head = (text, i) =>
    text ? el("th", { scope: "col", role: "columnheader", class: of(i) }, text) : el("td", { role: "cell" });
  const cell = (inner, i) =>
    i
      ? el("td", { class: of(i), role: "cell", dir: "auto", "data-label": named(i) }, inner)
      : el("th", { class: of(i), role: "rowheader", scope: "row", dir: "auto" }, inner);
  const line = (row) => el("tr", { class: row.class, role: "row" }, (row.cells || row).map(cell));
  const made = el(
    "table",
    { role: "table", ...options },
    heads && el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads.map(head))),
    el("tbody", { role: "rowgroup" }, rows.map(line)),
  );
  return label ? el("div", { class: "scroll", role: "region", "aria-label": label, tabindex: 0 }, made) : made;
}

/** A part beside the argument that is opened and closed by its heading. It is there while it has something to show. */
export class Panel {
  constructor(id, title, open = false) {
    this.sum = el("span", { class: "dim" });
    this.body = el("div");
    this.title = el("h2", { text: title });
    const summary = el("summary", {}, this.title, this.sum);
    this.node = el("details", { id, class: "panel", hidden: true, open }, summary, this.body);
  }

  /** `sum`: what a closed one says; `children`: what an open one shows. */
  show(sum, ...children) {
    this.sum.textContent = sum || "";
    redraw(this.body, ...children);
    this.node.hidden = !this.body.childNodes.length;
  }
}

/** A bar that is `share` full, 0 to 1. `label` says it in words. */
export function bar(share, label, options = {}) {
  const inner = el("i");
  inner.style.width = `${Math.max(0, Math.min(1, share || 0)) * 100}%`;
  return el("span", { role: "img", "aria-label": label, class: "bar", ...options }, inner);
}

/** Read out to those who do not see the page. */
export function announce(text) {
  const node = document.getElementById("heard");
  if (node) node.textContent = text;
}

/** A button that asks once before it does something. */
export function sure(text, question, call, options = {}) {
  const asked = el("span", { class: "sure" });
  const first = button(
    text,
    () => {
      const yes = button(
        question,
        async () => {
          yes.disabled = true;
          await call();
          put(asked, first);
        },
        { class: "btn danger" },
      );
      put(
        asked,
        yes,
        button("No", () => {
          put(asked, first);
          first.focus();
        }),
      );
      yes.focus();
    },
    options,
  );
  return put(asked, first);
}

/** A field with its label. `hint` stands below it. */
export function field(label, input, hint = "") {
  const name = input.getAttribute("name") || input.id;
  input.id = input.id || `f-${name}`;
  const below = hint ? el("span", { class: "hint", id: `${input.id}-hint`, text: hint }) : null;
  if (below) input.setAttribute("aria-describedby", below.id);
  return el("div", { class: "field" }, el("label", { for: input.id, text: label }), input, below);
}

/** What is wrong with an input, said below it; nothing takes it away. */
export function fault(input, message = "") {
  const id = `${input.id}-wrong`;
  let place = document.getElementById(id);
  if (!place && message) {
    place = el("span", { id, class: "error", role: "alert" });
    input.after(place);
    input.setAttribute("aria-describedby", [input.getAttribute("aria-describedby"), id].filter(Boolean).join(" "));
  }
  if (place) place.textContent = message;
  input.setAttribute("aria-invalid", String(Boolean(message)));
}

export const option = (value, text, chosen) => el("option", { value, text, selected: value === chosen });

/** What went wrong in one line: many messages begin with their field already. */
export const wording = ({ field: name, message }) => (name && !message.startsWith(`${name}:`) ? `${name}: ${message}` : message);

/** A place for what went wrong, said at once to whoever listens; `null` takes it away. */
export function trouble(node, error) {
  put(node, error ? said(wording(error)) : null);
}

/** What a button or a form does: it is tried, and what went wrong is said at `wrong`. Gives whether it was done. */
export const trying = (wrong, call) => async (event) => {
  event?.preventDefault?.();
  trouble(wrong, null);
  try {
    await call();
    return true;
  } catch (error) {
    trouble(wrong, error);
    return false;
  }
};
