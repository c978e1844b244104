/** Line icons, drawn as nodes so that no policy has to allow an image. All are 16 by 16 and purely decorative. */

import { make, mark } from "./dom.js";

const paths: Record<string, string> = {
  reasoning: "M8 2c3.5 0 6 1.9 6 4.5S11.5 11 8 11 2 9.1 2 6.5 4.5 2 8 2ZM4.4 12.7h.01M2.7 14.3h.01",
  chevron: "m6 3.5 4.5 4.5L6 12.5",
  tool_call:
    "M10.2 2.4a3.4 3.4 0 0 0-3.5 4.5L2.3 11.3a1.5 1.5 0 0 0 2.1 2.1l4.5-4.4a3.4 3.4 0 0 0 4.5-4.4L11.3 6.7 9.1 4.5Z",
  error: "M8 2.5 14 13H2ZM8 6.5v3M8 11.3h.01",
  interrupted: "M4 4h8v8H4Z",
  gear: "M8 5.6a2.4 2.4 0 1 0 0 4.8 2.4 2.4 0 0 0 0-4.800M8 1.500v2M8 12.500v2M1.500 8h2M12.500 8h2M3.400 3.400l1.400 1.400M11.200 11.200l1.400 1.400M3.400 12.600l1.400-1.400M11.200 4.800l1.400-1.400",
};

/** Adds icons of parts that are loaded later. */
export function addIcons(more: Record<string, string>): void {
  Object.assign(paths, more);
}

/** The icon of a kind or a status; for `thinking`, and for whatever has none, it is the breathing dot. */
export function icon(name: string): ChildNode {
  const path = Object.hasOwn(paths, name) && paths[name];
  if (!path) return animated(make("span", "dot"), { opacity: [1, 0.35, 1], scale: [1, 0.7, 1] });
  const drawn = drawIcon(path);
  return name === "gear" ? animated(drawn, { rotate: ["0deg", "360deg"] }) : drawn;
}

/** A line icon with this path. */
function drawIcon(shape: string): SVGElement {
  const svg = svgElement("svg");
  const path = svgElement("path");
  mark(svg, "viewBox", "0 0 16 16");
  mark(svg, "aria-hidden", "true");
  mark(path, "d", shape);
  svg.append(path);
  return svg;
}

/** The animation of each icon that moves; a browser does not tell those of a node that left the page. */
const animations = new WeakMap<Element, Animation>();
const MOVING = "svg,.dot";

/** It moves in 16 steps: an animation in a style sheet would be computed again for every frame. */
function animated(node: HTMLElement | SVGElement, keyframes: PropertyIndexedKeyframes): ChildNode {
  const timing = { duration: 1600, iterations: Infinity, easing: "steps(16)", id: "breathe" };
  if (!matchMedia("(prefers-reduced-motion:reduce)").matches) animations.set(node, node.animate(keyframes, timing));
  return node;
}

/** Has the icons below a node move again. */
export function playIcons(root: Element | undefined): void {
  for (const node of root?.querySelectorAll(MOVING) ?? []) animations.get(node)?.play();
}

/** Stops the icons below a node that left the page: an animation that runs keeps its node in memory for ever. */
export function stopIcons(root: Element | undefined): void {
  for (const node of root?.querySelectorAll(MOVING) ?? []) animations.get(node)?.cancel();
}

function svgElement(tag: string): SVGElement {
  return document.createElementNS("http://www.w3.org/2000/svg", tag);
}
