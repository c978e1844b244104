/** Making nodes in one line: attributes, listeners and children; never HTML from text. */

import type { MORE_PATHS } from "./more-icons.js";

export type Child = Node | string | null | undefined | false;
type Props = Record<string, unknown>;

/** An element. `on…` takes a listener, true and false set and leave out an attribute, the rest are attributes. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  props: Props | null = null,
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value as EventListener);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, String(value));
  }
  node.append(...present(children));
  return node;
}

/** What is there of a list that may have gaps. */
export function present(children: Child[]): (Node | string)[] {
  return children.filter((child): child is Node | string => child !== null && child !== undefined && child !== false);
}

/** Show or hide; nothing is touched where that is so already. */
export function show(node: HTMLElement, shown: boolean): void {
  if (node.hidden === shown) node.hidden = !shown;
}

/** Whether a key chooses a character and does nothing else; Safari tells the last one by its number alone. */
export function composing(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229;
}

/** Put this text and nothing else. */
export function say(node: HTMLElement, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}

const FIRST_PATHS = {
  menu: "M3 5.500h14M3 10h14M3 14.500h14",
  plus: "M10 4v12M4 10h12",
  search: "M9 15A6 6 0 1 0 9 3a6 6 0 0 0 0 12ZM13.400 13.400 17 17",
  send: "M10 16V4.500M5 9.300 10 4.300l5 5",
  stop: "M6 6h8v8H6Z",
  check: "m4 10.500 4 4 8-9",
  thought:
    "M10 3.200c4 0 7 2.300 7 5.300s-3 5.300-7 5.300c-.7 0-1.400-.1-2-.2l-3.400 2 .5-3C3.800 11.600 3 10.100 3 8.500c0-3 3-5.300 7-5.300ZM7 8.500h.01M10 8.500h.01M13 8.500h.01",
  settings: "M3 6h8M15 6h2M3 14h2M9 14h8M13 4v4M7 12v4",
  agents: "M10 3v2.200M4.500 5.500h11v8.500h-11ZM7.800 8.800v1.400M12.200 8.800v1.400M7 17h6",
  chart: "M4 16V9M8 16V4M12 16v-5M16 16V7",
  more: "M4.500 10h.01M10 10h.01M15.500 10h.01",
  expand: "m6 8 4-4 4 4M6 12l4 4 4-4",
  collapse: "m6 3.500 4 4 4-4M6 16.500l4-4 4 4",
  eye: "M2.500 10S5.200 5 10 5s7.500 5 7.500 5-2.700 5-7.500 5-7.500-5-7.500-5ZM10 12a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z",
  eyeOff:
    "M4 4l12 12M8 5.300A8 8 0 0 1 10 5c4.800 0 7.500 5 7.500 5a12 12 0 0 1-2 2.500M5 7.200A12 12 0 0 0 2.500 10s2.700 5 7.500 5a7.800 7.800 0 0 0 3-.6",
  down: "m5 8 5 5 5-5",
  up: "m5 12 5-5 5 5",
  close: "m5 5 10 10M15 5 5 15",
  upload: "M10 13V3.500M5.500 8 10 3.500 14.500 8M4 16.500h12",
  bolt: "M11 2.500 4.500 11H10l-1 6.500L15.500 9H10Z",
  alert: "M10 3 18 16.500H2ZM10 8v4M10 14.300h.01",
} as const;

export type IconName = keyof typeof FIRST_PATHS | keyof typeof MORE_PATHS;

const paths: Record<string, string> = { ...FIRST_PATHS };

/** More icons, of parts that are fetched later. */
export function addIcons(more: Record<string, string>): void {
  Object.assign(paths, more);
}

const SVG = "http://www.w3.org/2000/svg";

/** A line icon, for the eye alone. */
export function icon(name: IconName): SVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", `icon icon-${name}`);
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", paths[name] ?? "");
  svg.append(path);
  return svg;
}

/** A button with an icon; its name is spoken, and shown where there is room. */
export function button(
  name: string,
  iconName: IconName | null,
  onclick: (event: MouseEvent) => void,
  { bare = false, ...props }: Props & { bare?: boolean } = {},
): HTMLButtonElement {
  const label = bare ? { "aria-label": name, title: name } : {};
  return h(
    "button",
    { type: "button", ...label, ...props, onclick },
    iconName && icon(iconName),
    !bare && h("span", null, name),
  );
}
