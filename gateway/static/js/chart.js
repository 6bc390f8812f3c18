// Signals by round on a canvas, with their thresholds, and the same as a table for those who do not see it.

import { el, put, svg } from "./dom.js";
import { number } from "./words.js";

const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3], [1, 4]]; // lines differ by more than colour
let library = null;

function load() {
  library ??= new Promise((done, failed) => {
    document.head.append(
      el("link", { rel: "stylesheet", href: "/static/vendor/uplot/uPlot.min.css" }),
    );
    const script = document.createElement("script");
    script.src = "/static/vendor/uplot/uPlot.iife.min.js";
    script.onload = () => done(window.uPlot);
    script.onerror = () => failed(new Error("the chart could not be loaded"));
    document.head.append(script);
  });
  return library;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/**
 * A chart that can be given new figures: `{ node, show({ rounds, lines, thresholds }) }`. `rounds`: their numbers;
 * `lines`: name and values, null where there is none; `thresholds`: name and value. `range`: what the scale begins
 * and ends with at least.
 */
export function chart(title, range = null) {
  const canvas = el("div", { class: "chart", role: "img" });
  const key = el("div", { class: "key" });
  const rows = el("tbody");
  const heads = el("thead");
  const table = el("details", {}, el("summary", { text: "As a table" }), el("div", { class: "scroll" }, el("table", {}, heads, rows)));
  const node = el("div", {}, canvas, key, table);
  let plot = null;
  let last = "";
  let wanted = null;

  async function draw() {
    const { rounds, lines, thresholds } = wanted;
    const all = [...lines, ...thresholds.map((t) => ({ ...t, values: rounds.map(() => t.value), limit: true }))];
    const drawn = JSON.stringify(all.map((line) => [line.name, line.limit]));
    const data = [rounds, ...all.map((line) => line.values.map((v) => (Number.isFinite(v) ? v : null)))];
    const uPlot = await load();
    if (plot && drawn === last) {
      plot.setData(data);
      return;
    }
    plot?.destroy();
    last = drawn;
    plot = new uPlot(options(all, range, canvas.clientWidth || 300), data, canvas);
  }

  function show(figures) {
    wanted = figures;
    canvas.setAttribute("aria-label", words(title, figures));
    put(key, [...figures.lines, ...figures.thresholds.map((t) => ({ ...t, limit: true }))].map((line, i) => sample(line, i)));
    put(heads, el("tr", {}, el("th", { scope: "col", text: "Round" }), figures.lines.map((line) => el("th", { scope: "col", class: "figure", text: line.name }))));
    put(rows, figures.rounds.map((round, i) =>
      el("tr", {}, el("th", { scope: "row", text: round }), figures.lines.map((line) => el("td", { class: "figure", text: number(line.values[i], 3) })))));
    draw().catch(() => put(canvas, el("p", { class: "dim", text: "The chart could not be drawn; the table has the figures." })));
  }

  new ResizeObserver(() => plot?.setSize({ width: canvas.clientWidth, height: 150 })).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    last = "";
    if (wanted) show(wanted);
  });
  return { node, show };
}

function stroke(line, i) {
  return line.limit ? colour("--dim") : colour(`--s${(i % 7) + 1}`);
}

function dash(line, i) {
  return line.limit ? [3, 3] : DASHES[i % DASHES.length];
}

function options(lines, range, width) {
  const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
  return {
    width,
    height: 150,
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 8, 0, 0],
    scales: { x: { time: false, range: (_, low, high) => [low - 0.25, high + 0.25] }, y: { range: (_, low, high) => scale(low, high, range) } },
    axes: [
      { ...axis, size: 22, grid: { show: false }, incrs: [1, 2, 5, 10, 25, 50, 100], values: (_, ticks) => ticks.map((t) => (Number.isInteger(t) ? String(t) : "")) },
      { ...axis, size: 34 },
    ],
    series: [{}, ...lines.map((line, i) => ({
      label: line.name, stroke: stroke(line, i), width: line.limit ? 1 : 2, dash: dash(line, i), points: { show: !line.limit, size: 6, fill: stroke(line, i) }, spanGaps: true,
    }))],
  };
}

function scale(low, high, range) {
  const from = Math.min(low ?? 0, range?.[0] ?? 0);
  const to = Math.max(high ?? 1, range?.[1] ?? 0);
  return from === to ? [from, from + 1] : [from, to + (to - from) * 0.04];
}

function sample(line, i) {
  const mark = svg("line", { x1: 0, y1: 4, x2: 22, y2: 4, "stroke-width": line.limit ? 1.5 : 2.5, "stroke-dasharray": dash(line, i).join(" ") });
  mark.style.stroke = line.limit ? "var(--dim)" : `var(--s${(i % 7) + 1})`;
  const limit = line.limit ? ` ${number(line.value, 3)}` : "";
  return el("span", {}, svg("svg", { viewBox: "0 0 22 8", "aria-hidden": "true" }, mark), `${line.name}${limit}`);
}

function words(title, { rounds, lines, thresholds }) {
  const told = lines.map((line) => `${line.name}: ${line.values.map((v) => number(v, 3)).join(", ")}`);
  const limits = thresholds.map((t) => `${t.name} ${number(t.value, 3)}`);
  return `${title}, rounds ${rounds.join(", ")}. ${[...told, ...limits].join("; ")}.`;
}
