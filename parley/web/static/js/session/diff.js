// Lines that are shown as they stand, folded away: a diff file by file, as a code host shows it, anything else as it is.

import { el, fold } from "../dom.js";
import { count } from "../words.js";

const MOST = 2_000; // lines of one file that are coloured
const KINDS = { "+": "more", "-": "less", "@": "at" };

/** The files of a diff with their lines; none: it is no diff. */
function files(text) {
  const found = [];
  for (const line of text.trimEnd().split("\n")) {
    const begins = line.startsWith("diff --git ") || (line.startsWith("--- ") && (!found.length || found.at(-1).begun));
    if (begins) found.push({ name: "", lines: [], begun: false });
    const file = found.at(-1);
    if (!file) return [];
    const name = /^(?:\+\+\+|---|diff --git|Binary files) (?:[ab]\/)?(\S+)/.exec(line)?.[1];
    if (!file.begun && name && name !== "/dev/null") file.name = name;
    if (line.startsWith("@@")) file.begun = true;
    if (file.begun) file.lines.push(line);
  }
  return found;
}

/** Nodes of a text; null where there is none. `open`: whether the files stand open. */
export function code(text, open = false) {
  if (!text) return null;
  const found = files(text);
  if (!found.length) return fold(count(text.trimEnd().split("\n").length, "line"), el("pre", { class: "mono", tabindex: 0, text }));
  return found.map(({ name, lines }) => {
    const of = (sign) => lines.filter((line) => line.startsWith(sign)).length;
    const shown = lines.slice(0, MOST).map((line) => el("span", { class: KINDS[line[0]], text: line || " " }));
    const node = fold(
      [name, " ", el("b", { class: "good", text: `+${of("+")}` }), " ", el("b", { class: "bad", text: `−${of("-")}` })],
      el("pre", { class: "mono", tabindex: 0, role: "region", "aria-label": `Changes in ${name}` }, shown),
      lines.length > MOST && el("p", { class: "sub", text: `${count(lines.length - MOST, "more line")}: see the export.` }),
    );
    node.className = "diff";
    node.open = open && found.length < 8;
    return node;
  });
}
