/** A bar for each day, drawn with uPlot. Everything it shows is in the table below it too. */

import uPlot from "uplot";
import type { FigureRow } from "./figures.js";
import { currentLanguage } from "./words.js";

const HEIGHT = 200;
const HALF_DAY_S = 12 * 60 * 60;

/** Draws a value of each day into a node, which it follows in width. */
export function drawChart(
  node: HTMLElement,
  days: FigureRow[],
  value: (row: FigureRow) => number,
  { name, dayLabel }: { name: string; dayLabel: string },
): { destroy(): void } {
  const times = days.map(({ name }) => new Date(`${name}T00:00`).getTime() / 1000);
  const values = days.map((row) => value(row) || null); // a day without anything has no bar
  const plot = new uPlot(plotOptions(node, name, dayLabel), [times, values], node);
  plot.root.setAttribute("role", "img");
  plot.root.setAttribute("aria-label", name);
  const width = new ResizeObserver(() => node.clientWidth && plot.setSize({ width: node.clientWidth, height: HEIGHT }));
  width.observe(node);
  return {
    destroy: () => {
      width.disconnect();
      plot.destroy();
    },
  };
}

function plotOptions(node: HTMLElement, name: string, dayLabel: string): uPlot.Options {
  const accent = colour(node, "--accent");
  const axis = {
    stroke: colour(node, "--muted"),
    font: `12px ${getComputedStyle(node).fontFamily}`,
    grid: { stroke: colour(node, "--line"), width: 1 },
    ticks: { show: false },
  };
  const { bars } = uPlot.paths;
  return {
    width: node.clientWidth || 600,
    height: HEIGHT,
    cursor: { drag: { x: false, y: false }, y: false },
    legend: { live: true },
    scales: {
      x: { range: (_, min, max) => [min - HALF_DAY_S, max + HALF_DAY_S] },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
    },
    axes: [
      { ...axis, space: 80, values: (_, ticks) => ticks.map(dayText), grid: { show: false } },
      { ...axis, size: 64, values: (_, ticks) => ticks.map(numberText) },
    ],
    series: [
      { label: dayLabel, value: (_, seconds) => (seconds == null ? "" : dayText(seconds)) },
      {
        label: name,
        fill: accent,
        stroke: accent,
        points: { show: false },
        value: (_, n) => (n == null ? "" : numberText(n)),
        ...(bars ? { paths: bars({ size: [0.7, 40], radius: 0.15 }) } : {}),
      },
    ],
  };
}

/** The value of a colour: a canvas does not know light-dark(), so the browser computes it first. */
function colour(node: HTMLElement, property: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${property})`;
  node.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function numberText(n: number): string {
  return n.toLocaleString(currentLanguage(), { maximumSignificantDigits: 4 });
}

function dayText(seconds: number): string {
  return new Date(seconds * 1000).toLocaleDateString(currentLanguage(), { day: "numeric", month: "short" });
}
