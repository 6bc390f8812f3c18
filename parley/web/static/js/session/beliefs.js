// How likely each seat holds each outcome to be, round by round: a small bar a round, and the last figure.

import { el, section, svg, table } from "../dom.js";
import { number, seatName } from "../words.js";

const MOST = 6; // outcomes that are shown
const [WIDE, HIGH] = [6, 20];

/** The table of beliefs; null where nobody tells any. `cards`: the posts; `colour`: seat -> class of its colour. */
export function beliefs(cards, colour, roundName) {
  const told = new Map(); // seat -> [round, outcome -> share], in order
  for (const post of cards) {
    if (!post.shares.length) continue;
    const rounds = told.get(post.seat) || new Map();
    told.set(post.seat, rounds.set(post.round, new Map(post.shares.map(({ name, p }) => [name, p]))));
  }
  if (!told.size) return null;
  const seats = [...told.keys()].sort();
  const last = (seat) => [...told.get(seat).values()].at(-1);
  const sum = new Map();
  for (const seat of seats) for (const [name, p] of last(seat)) sum.set(name, (sum.get(name) || 0) + p);
  const outcomes = [...sum].sort((a, b) => b[1] - a[1]).slice(0, MOST);
  const cell = (seat, name) => {
    const rounds = [...told.get(seat)].map(([round, shares]) => [round, shares.get(name) || 0]);
    const words = `${seatName(seat)} on ${name}, by ${roundName.toLowerCase()}`;
    return [bars(rounds, words, colour(seat)), last(seat).has(name) ? rounds.at(-1)[1].toFixed(2) : "–"];
  };
  const rows = outcomes.map(([name]) => [name, ...seats.map((seat) => cell(seat, name))]);
  const label = `Beliefs by ${roundName.toLowerCase()}`;
  return section(label, { class: "beliefs card" }, table(["Outcome", ...seats.map(seatName)], rows, { label: `${label}, a table` }));
}

function bars(rounds, label, tone) {
  const words = `${label}: ${rounds.map(([round, p]) => `${round}: ${number(p)}`).join(", ")}`;
  const bar = ([, p], i) => {
    const height = Math.max(1, p * HIGH);
    return svg("rect", { x: i * (WIDE + 2), y: HIGH - height, width: WIDE, height, rx: 1 });
  };
  const width = rounds.length * (WIDE + 2);
  const options = { role: "img", "aria-label": words, viewBox: `0 0 ${width} ${HIGH}`, width, class: tone };
  return svg("svg", options, rounds.map(bar));
}
