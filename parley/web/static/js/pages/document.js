// One document of a session as it was given, with what was quoted of it: each quotation leads back to its post.

import { get } from "../api.js";
import { el, link, put, said, section } from "../dom.js";
import { brief, count, seatName } from "../words.js";

export async function show(main, sid, number) {
  const found = await get(`/api/sessions/${sid}/documents/${number}`);
  document.title = `${found.name} · Parley`;
  main.className = "narrow";
  const quoted = Object.keys(found.posts).length;
  const held = found.holders.map(seatName).join(", ");
  put(
    main,
    el("p", { class: "sub" }, "Evidence of ", link(`/s/${sid}`, brief(found.question, 120) || sid)),
    el("h1", { dir: "auto", text: found.name }),
    el(
      "div",
      { class: "sub" },
      el("span", { text: count(found.characters, "character") }),
      held && el("span", { text: `held by ${held}` }),
      el("span", { text: quoted ? count(quoted, "quotation") : "nobody quotes it" }),
    ),
    found.missing.length > 0 && absent(found, sid),
    section("Text", { class: "paper", dir: "auto" }, text(found, sid)),
  );
  const go = () => shown(found);
  addEventListener("hashchange", go);
  go();
}

/** Quotations that are not in the text as they were given. */
function absent(found, sid) {
  return el(
    "div",
    { class: "warn", role: "note" },
    said("⚠ These posts quote words that do not stand in this document:"),
    found.missing.map((name) => el("p", { id: `q${name}` }, back(found, sid, name))),
  );
}

/** The text in its pieces. What is quoted is marked, and followed by links to the posts that quote it. */
function text(found, sid) {
  const begun = new Set();
  return found.passages.map((piece, i) => {
    if (!piece.quotes.length) return piece.text;
    const fresh = piece.quotes.filter((name) => !begun.has(name));
    for (const name of fresh) begun.add(name);
    const next = new Set(found.passages[i + 1]?.quotes || []);
    const over = piece.quotes.filter((name) => !next.has(name));
    return [
      fresh.map((name) => el("span", { id: `q${name}`, class: "spot" })),
      el("mark", { "data-quotes": piece.quotes.join(" "), text: piece.text }),
      over.length > 0 &&
        el("span", { class: "cited" }, " [", over.map((name, n) => [n ? ", " : "", back(found, sid, name)]), "] "),
    ];
  });
}

function back(found, sid, name) {
  const [seat, round] = found.posts[name];
  const words = `${seatName(seat)}, ${found.round_name.toLowerCase()} ${round}`;
  return link(`/s/${sid}#p${name.split("-")[0]}`, words);
}

/** Show the quotation that the address names. */
function shown(found) {
  const name = location.hash.slice(2);
  for (const mark of document.querySelectorAll("mark"))
    mark.classList.toggle("found", mark.dataset.quotes.split(" ").includes(name));
  if (name in found.posts) document.getElementById(`q${name}`)?.scrollIntoView({ block: "center" });
}
