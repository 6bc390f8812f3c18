// What is counted so far of two sides: their points, who leads and by how much, and below it everybody.

import { el, fold, link, table } from "../dom.js";
import { number } from "../words.js";

const points = (row) => Number.parseFloat(row.cells.at(-1).replaceAll(",", "")) || 0;

/** A table of the view, its rows in the colours of their sides. */
export const columns = ({ head, rows }, label) =>
  table(head, rows.map((row) => ({ cells: linked(row), class: `${row.side}${row.strong ? " strong" : ""}` })), { label });

/** The cells of a row, the first one with a link to the session that the row is of. */
const linked = ({ cells, session }) => (session ? [link(`/s/${session}`, cells[0]), ...cells.slice(1)] : cells);

/** The scoreboard. `over`: nobody scores any more; `told`: what else is said of it. */
export function scoreboard(board, over, told = []) {
  const sides = board.rows.filter((row) => row.strong && row.side);
  if (sides.length !== 2) return columns(board, board.head[0] || "Scoreboard");
  const [one, two] = sides;
  const lead = points(one) - points(two);
  const ahead = lead > 0 ? one : two;
  const name = (row) => row.cells[0].replace(/ \(.*/, "");
  const words = lead ? `${name(ahead)} ${over ? "is" : "leads"} ${over ? "ahead " : ""}by ${number(Math.abs(lead))}` : "level";
  const total = points(one) + points(two);
  const share = (row) => {
    const part = el("i", { class: row.side });
    part.style.flexGrow = Math.max(0.02, total > 0 ? points(row) / total : 0.5);
    return part;
  };
  const side = (row) =>
    el(
      "div",
      { class: row.side },
      row.cells[0],
      el("b", { text: row.cells.at(-1) }),
      row.about && el("small", { dir: "auto", text: row.about }),
    );
  return el(
    "section",
    { class: "board card", "aria-label": "Scoreboard" },
    el("div", { class: "match" }, side(one), el("span", { text: words }), side(two)),
    el("div", { class: "split", "aria-hidden": "true" }, share(one), share(two)),
    told.map((text) => el("p", { class: "dim", text })),
    fold("By speaker", columns({ head: board.head, rows: board.rows.map(styled) }, "Points by speaker")),
  );
}

/** A speaker with the style in which it debates. */
const styled = (row) => (row.strong || !row.about ? row : { ...row, cells: [`${row.cells[0]}, ${row.about}`, ...row.cells.slice(1)] });
