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
  const style = getComputedStyle(node);
  const colour = (property: string): string => {
    // A canvas does not know light-dark(), so the browser computes the colour first.
    const probe = document.createElement("span");
    probe.style.color = `var(${property})`;
    node.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  };
  const times = days.map(({ name }) => new Date(`${name}T00:00`).getTime() / 1000);
  const values = days.map((row) => value(row) || null); // a day without anything has no bar
  const number = (n: number): string => n.toLocaleString(currentLanguage(), { maximumSignificantDigits: 4 });
  const day = (seconds: number): string =>
    new Date(seconds * 1000).toLocaleDateString(currentLanguage(), { day: "numeric", month: "short" });
  const axis = {
    stroke: colour("--muted"),
    font: `12px ${style.fontFamily}`,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  const bars = uPlot.paths.bars;
  const plot = new uPlot(
    {
      width: node.clientWidth || 600,
      height: HEIGHT,
      cursor: { drag: { x: false, y: false }, y: false },
      legend: { live: true },
      scales: {
        x: { range: (_, min, max) => [min - HALF_DAY_S, max + HALF_DAY_S] },
        y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
      },
      axes: [
        { ...axis, space: 80, values: (_, ticks) => ticks.map(day), grid: { show: false } },
        { ...axis, size: 64, values: (_, ticks) => ticks.map(number) },
      ],
      series: [
        { label: dayLabel, value: (_, seconds) => (seconds == null ? "" : day(seconds)) },
        {
          label: name,
          fill: colour("--accent"),
          stroke: colour("--accent"),
          points: { show: false },
          value: (_, n) => (n == null ? "" : number(n)),
          ...(bars ? { paths: bars({ size: [0.7, 40], radius: 0.15 }) } : {}),
        },
      ],
    },
    [times, values],
    node,
  );
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
