// Fields of a form from what the gateway says of them, and what was filled in.
// A field is `{ node, input, read(), raw(), set(raw) }`: `raw` is what stands there as it was typed, for drafts.

import { button, el, field, option, put } from "../dom.js";
import { named } from "../words.js";

/** An input for one setting or field. `value`: what stands there at first. */
export function inputOf(spec, value = spec.default, prefix = "") {
  if (spec.kind === "group") return group(spec, value, prefix);
  if (spec.kind === "rows") return rows(spec, value, prefix);
  const input = made(spec, value, `${prefix}${spec.name}`);
  const node = field(spec.label || named(spec.name), input, spec.help || "");
  if (spec.kind === "switch") node.classList.add("switch");
  const list = spec.suggested?.length > 0 && suggested(spec, input);
  if (list) node.append(list);
  return {
    node,
    input,
    read: () => read(spec, input),
    raw: () => (spec.kind === "switch" ? input.checked : input.value),
    set: (raw) => {
      if (spec.kind === "switch") input.checked = raw === true;
      else if (typeof raw === "string") input.value = raw;
    },
  };
}

/** All fields of a form: `{ nodes, read(), raw(), set(raw) }`. `values`: what stands there at first, by name. */
export function formOf(specs, values, prefix = "") {
  const fields = specs.map((spec) => [spec.name, inputOf(spec, values[spec.name] ?? spec.default, prefix)]);
  return {
    nodes: fields.map(([, one]) => one.node),
    read: () =>
      Object.fromEntries(fields.map(([name, one]) => [name, one.read()]).filter(([, value]) => value !== undefined)),
    raw: () => Object.fromEntries(fields.map(([name, one]) => [name, one.raw()])),
    set: (raw) => {
      for (const [name, one] of fields) if (raw && name in raw) one.set(raw[name]);
    },
  };
}

/** An object: its fields, folded away as long as it may be left out. */
function group(spec, value, prefix) {
  const inner = formOf(spec.fields, value || {}, `${prefix}${spec.name}-`);
  const place = el("div", { class: "inner" }, inner.nodes);
  let there = spec.required || Boolean(value);
  const fold = el("div");
  const show = () =>
    put(
      fold,
      there ? place : null,
      spec.required
        ? null
        : there
          ? button("Leave it out", () => change(false))
          : button(`Add: ${spec.label}`, () => change(true)),
    );
  const change = (now) => {
    there = now;
    show();
    fold.dispatchEvent(new Event("input", { bubbles: true }));
  };
  show();
  return {
    node: el("fieldset", {}, el("legend", { text: spec.label }), hint(spec), fold),
    input: place,
    read: () => (there ? inner.read() : undefined),
    raw: () => (there ? inner.raw() : null),
    set: (raw) => {
      there = spec.required || Boolean(raw);
      if (raw) inner.set(raw);
      show();
    },
  };
}

/** A list of objects: a row for each, and a button for one more. */
function rows(spec, value, prefix) {
  const list = el("div");
  let made = [];
  let next = 0;
  const add = (first) => {
    const form = formOf(spec.fields, first || {}, `${prefix}${spec.name}-${next++}-`);
    const row = { form };
    const away = button("Remove", () => {
      made = made.filter((one) => one !== row);
      row.node.remove();
      list.dispatchEvent(new Event("input", { bubbles: true }));
    });
    row.node = el("div", { class: "inner" }, form.nodes, away);
    made.push(row);
    list.append(row.node);
    return row;
  };
  for (const one of value || []) add(one);
  const more = button(spec.fields.length > 1 ? `Add: ${spec.label}` : "Add one", () => {
    add().node.querySelector("input, select, textarea")?.focus();
    list.dispatchEvent(new Event("input", { bubbles: true }));
  });
  return {
    node: el("fieldset", {}, el("legend", { text: spec.label }), hint(spec), list, more),
    input: list,
    read: () => made.map((row) => row.form.read()),
    raw: () => made.map((row) => row.form.raw()),
    set: (raw) => {
      for (const row of made) row.node.remove();
      made = [];
      for (const one of Array.isArray(raw) ? raw : []) add().form.set(one);
    },
  };
}

const hint = (spec) => spec.help && el("span", { class: "hint", text: spec.help });

function suggested(spec, input) {
  const list = el(
    "datalist",
    { id: `${input.id}-known` },
    spec.suggested.map((one) => option(one, one)),
  );
  input.setAttribute("list", list.id);
  return list;
}

function made(spec, value, name) {
  const required = spec.required === true && spec.kind !== "switch";
  const limits = { min: spec.least, max: spec.most };
  switch (spec.kind) {
    case "integer":
      return el("input", { type: "number", step: 1, ...limits, name, required, value: value ?? "" });
    case "number":
      return el("input", { type: "number", step: "any", ...limits, name, required, value: value ?? "" });
    case "switch":
      return el("input", { type: "checkbox", name, checked: Boolean(value) });
    case "choice":
      return el(
        "select",
        { name, required },
        required || value ? null : option("", "as usual", ""),
        spec.choices.map((choice, i) => option(choice, spec.words?.[i] ?? named(choice), String(value ?? ""))),
      );
    case "long":
      return area(name, required, value ?? "");
    case "list":
      return area(name, required, (value || []).map(String).join("\n"), "One a line.");
    case "pairs":
      return area(name, required, pairs(value), "One a line: name = value");
    case "other":
      return area(name, required, value === null || value === undefined ? "" : JSON.stringify(value), "As JSON.");
    default:
      return el("input", { type: "text", name, required, value: value ?? "" });
  }
}

const pairs = (value) =>
  Object.entries(value || {})
    .map(([name, one]) => `${name} = ${one}`)
    .join("\n");

function area(name, required, text, placeholder = null) {
  const node = el("textarea", { name, required, placeholder });
  node.value = text;
  return node;
}

function number(spec, text) {
  const n = Number(text);
  if (!text.trim() || !Number.isFinite(n)) throw wrong(spec, `a number is wanted, got “${text}”`);
  return n;
}

const wrong = (spec, why) => Object.assign(new Error(why), { field: spec.label || spec.name });

const item = (spec, text) => (!spec.item || spec.item === "text" ? text : number(spec, text));

/** The value; undefined: nothing was filled in. Throws an error that names the field. */
function read(spec, input) {
  if (spec.kind === "switch") return input.checked;
  const text = input.value;
  if (!text.trim()) return spec.kind === "list" ? [] : undefined;
  const lines = () =>
    text
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean);
  switch (spec.kind) {
    case "integer":
    case "number":
      return number(spec, text);
    case "choice":
      return item(spec, text);
    case "list":
      return lines().map((line) => item(spec, line));
    case "pairs":
      return Object.fromEntries(
        lines().map((line) => {
          const at = line.indexOf("=");
          if (at < 1) throw wrong(spec, `“${line}” is not of the form name = value`);
          return [line.slice(0, at).trim(), item(spec, line.slice(at + 1).trim())];
        }),
      );
    case "other":
      try {
        return JSON.parse(text);
      } catch {
        throw wrong(spec, "JSON is wanted");
      }
    default:
      return text;
  }
}
