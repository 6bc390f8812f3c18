// Signals by round on a canvas, with their thresholds, and the same as a table for those who do not see it.

import { BASE } from "./base.js";
import { el, fold, put, svg, table } from "./dom.js";
import { number } from "./words.js";

const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3]]; // lines differ by more than colour
const LIMIT = [3, 3];
let library = null;

function load() {
  library ??= new Promise((done, failed) => {
    document.head.append(el("link", { rel: "stylesheet", href: "/static/vendor/uplot/uPlot.min.css" }));
    const script = document.createElement("script");
    script.src = `${BASE}/static/vendor/uplot/uPlot.iife.min.js`;
    script.onload = () => done(window.uPlot);
    script.onerror = () => failed(new Error("the chart could not be loaded"));
    document.head.append(script);
  });
  return library;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/**
 * A chart that can be given new figures: `{ node, show({ rounds, lines }) }`. `rounds`: their numbers; `lines`: name,
 * values (null where there is none), limit (null: none) and its name. `range`: what the scale begins and ends with at
 * least.
 */
export function chart(title, range = null) {
  const canvas = el("div", { class: "chart", role: "img" });
  const key = el("div", { class: "key" });
  const figures = el("div");
  const node = el("div", {}, canvas, key, fold("As a table", figures));
  let plot = null;
  let last = "";
  let wanted = null;

  async function draw() {
    const { rounds, lines } = wanted;
    const limits = lines.map((line, i) => ({ ...line, i })).filter((line) => line.limit !== null);
    const data = [rounds, ...lines.map((line) => line.values), ...limits.map((line) => rounds.map(() => line.limit))];
    const drawn = JSON.stringify([rounds, lines.map((line) => line.name), limits.map((line) => line.i)]);
    const uPlot = await load();
    if (plot && drawn === last) {
      plot.setData(data);
      return;
    }
    plot?.destroy();
    last = drawn;
    plot = new uPlot(options(rounds, lines, limits, range, canvas.clientWidth || 300), data, canvas);
  }

  function show(series) {
    wanted = series;
    const { rounds, lines } = series;
    canvas.setAttribute("aria-label", words(title, series));
    put(key, lines.map(sample));
    put(
      figures,
      table(
        ["Round", ...lines.map((line) => line.name)],
        rounds.map((round, i) => [round, ...lines.map((line) => number(line.values[i], 3))]),
        { label: `Figures of ${title}` },
      ),
    );
    draw().catch(() =>
      put(canvas, el("p", { class: "dim", text: "The chart could not be drawn; the table has the figures." })),
    );
  }

  new ResizeObserver(() => plot?.setSize({ width: canvas.clientWidth, height: 150 })).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    last = "";
    if (wanted) show(wanted);
  });
  return { node, show };
}

const name = (line, i) => (line.side ? `--${line.side}` : `--s${(i % 8) + 1}`);
const stroke = (line, i) => colour(name(line, i));

function options(rounds, lines, limits, range, width) {
  const grid = { stroke: colour("--line"), width: 1 };
  const axis = { stroke: colour("--dim"), grid, ticks: { show: false }, font: "11px system-ui" };
  const marks = (_, ticks) => ticks.map((t) => (rounds.includes(t) ? String(t) : ""));
  const drawn = (line, i) => {
    const tone = stroke(line, i);
    const points = { show: true, size: 6, fill: tone };
    return { label: line.name, stroke: tone, width: 2, dash: DASHES[i % DASHES.length], points, spanGaps: true };
  };
  const limit = (line) => ({ stroke: stroke(line, line.i), width: 1, dash: LIMIT, points: { show: false } });
  return {
    width,
    height: 150,
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 8, 0, 0],
    scales: {
      x: { time: false, range: (_, low, high) => [low - 0.25, high + 0.25] },
      y: { range: (_, low, high) => scale(low, high, range) },
    },
    axes: [
      { ...axis, size: 22, grid: { show: false }, incrs: [1, 2, 5, 10, 25, 50, 100], values: marks },
      { ...axis, size: 34 },
    ],
    series: [{}, ...lines.map(drawn), ...limits.map(limit)],
  };
}

function scale(low, high, range) {
  const from = Math.min(low ?? 0, range?.[0] ?? 0);
  const to = Math.max(high ?? 1, range?.[1] ?? 0);
  return from === to ? [from, from + 1] : [from, to + (to - from) * 0.04];
}

/** A line of the key, and beside it its limit, which is drawn thin in the same colour. */
function sample(line, i) {
  const figure = /\d/.test(line.limitName) ? "" : ` ${number(line.limit, 3)}`;
  const limit = line.limit !== null && [" ", drawn(line, i, LIMIT, 1.5), line.limitName, figure];
  return el("span", {}, drawn(line, i, DASHES[i % DASHES.length], 2.5), line.name, limit);
}

function drawn(line, i, dashes, width) {
  const mark = svg("line", { x1: 0, y1: 4, x2: 22, y2: 4, "stroke-width": width, "stroke-dasharray": dashes.join(" ") });
  mark.style.stroke = `var(${name(line, i)})`;
  return svg("svg", { viewBox: "0 0 22 8", "aria-hidden": "true" }, mark);
}

function words(title, { rounds, lines }) {
  const told = lines.map((line) => `${line.name}: ${line.values.map((v) => number(v, 3)).join(", ")}`);
  const limits = lines
    .filter((line) => line.limit !== null)
    .map((line) => `${line.limitName} of ${line.name} ${number(line.limit, 3)}`);
  return `${title}, rounds ${rounds.join(", ")}. ${[...told, ...limits].join("; ")}.`;
}
