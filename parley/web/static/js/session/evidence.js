// The documents: what was quoted of each, where that stands in it, and which posts quote it.

import { el, fold, link } from "../dom.js";
import { count, seatName } from "../words.js";

const SHOWN = 12; // posts that are named beside one quotation

/** A session's documents. `posts`: what was said, with its quotations. */
export function evidence(panel, session, posts) {
  const rows = session.documents.map((row, file) => ({
    ...row,
    href: `/s/${session.session}/documents/${file}`,
    quotes: [],
  }));
  const others = new Map(); // documents that are not to be read here, by name
  for (const one of posts.all()) {
    if (rows[one.file]) rows[one.file].quotes.push(one);
    else {
      if (!others.has(one.document)) others.set(one.document, { name: one.document, holders: [], quotes: [] });
      others.get(one.document).quotes.push(one);
    }
  }
  const all = [...rows, ...others.values()];
  const unused = all.filter((row) => !row.quotes.length);
  panel.show(
    count(all.length, "document"),
    all.filter((row) => row.quotes.length).map((row) => quoted(row, posts)),
    unused.length > 0 &&
      fold(
        `${count(unused.length, "document")} that nobody quoted`,
        unused.map((row) => el("p", { class: "sub", dir: "auto" }, link(row.href, row.name), held(row))),
      ),
  );
}

const held = (row) => row.holders.length > 0 && el("span", { text: `held by ${row.holders.map(seatName).join(", ")}` });

function quoted(row, posts) {
  return fold(
    `${row.name} (${count(row.quotes.length, "quotation")})`,
    row.href && el("p", { class: "sub" }, link(row.href, "Read the document"), held(row)),
    row.quotes.map(({ quote, where, href, posts: numbers }) =>
      el(
        "blockquote",
        { dir: "auto" },
        href ? link(href, quote, { class: "quote" }) : quote,
        el(
          "cite",
          {},
          where && `${where}, `,
          numbers
            .slice(0, SHOWN)
            .map((n) => posts.anchor(n))
            .filter(Boolean)
            .map((a, i) => [i ? " · " : "", a]),
        ),
      ),
    ),
  );
}
