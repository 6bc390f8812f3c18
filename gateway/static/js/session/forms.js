// Fields of a form from what the gateway says of them, and what was filled in.

import { el, field, option } from "../dom.js";
import { named } from "../words.js";

/** An input for one setting or field: `{ node, input, read() }`. `value`: what stands there at first. */
export function inputOf(spec, value = spec.default, prefix = "") {
  const name = `${prefix}${spec.name}`;
  const input = made(spec, value, name);
  const node = field(spec.label || named(spec.name), input, spec.help || "");
  if (spec.kind === "switch") node.classList.add("switch");
  return { node, input, read: () => read(spec, input) };
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
        required ? null : option("", "as usual", value ?? ""),
        spec.choices.map((choice) => option(choice, named(choice), value)),
      );
    case "long":
      return area(name, required, value ?? "");
    case "list":
      return area(name, required, (value || []).map(String).join("\n"), "One a line.");
    case "other":
      return area(name, required, value === null || value === undefined ? "" : JSON.stringify(value), "As JSON.");
    default:
      return el("input", { type: "text", name, required, value: value ?? "" });
  }
}

function area(name, required, text, placeholder = null) {
  const node = el("textarea", { name, required, placeholder });
  node.value = text;
  return node;
}

/** The value; undefined: nothing was filled in. Throws an error that names the field. */
function read(spec, input) {
  if (spec.kind === "switch") return input.checked;
  const text = input.value;
  if (!text.trim()) return spec.kind === "list" ? [] : undefined;
  if (spec.kind === "integer" || spec.kind === "number") {
    const n = Number(text);
    if (!Number.isFinite(n)) throw Object.assign(new Error("a number is wanted"), { field: spec.name });
    return n;
  }
  if (spec.kind === "list")
    return text
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean);
  if (spec.kind === "other") {
    try {
      return JSON.parse(text);
    } catch {
      throw Object.assign(new Error("JSON is wanted"), { field: spec.name });
    }
  }
  return text;
}
