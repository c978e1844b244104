/**
 * The one place that speaks to a screen reader by itself: a status line for the whole page.
 *
 * It speaks at boundaries only, never repeats itself, and leaves room between two sentences; thinking
 * itself is never read out.
 */

import { make, mark } from "./dom.js";

const APART_MS = 1000;
const CLEAR_MS = 5000;

let region: HTMLElement | undefined;
let waiting = "";
let timer = 0;
let free = true;

/** Say this once the line is free; the newest of what waits wins. */
export function announce(text: string): void {
  if (!text || text === region?.textContent) return;
  waiting = text;
  if (free) speak();
}

function speak(): void {
  clearTimeout(timer);
  free = !waiting;
  line().textContent = waiting;
  if (free) return;
  waiting = "";
  timer = setTimeout(rest, APART_MS);
}

function rest(): void {
  free = true;
  if (waiting) speak();
  else timer = setTimeout(speak, CLEAR_MS - APART_MS);
}

function line(): HTMLElement {
  if (region?.isConnected) return region;
  region = make("div");
  mark(region, "role", "status");
  mark(region, "aria-atomic", "true");
  region.style.cssText = "position:fixed;inline-size:1px;block-size:1px;overflow:hidden;clip-path:inset(50%)";
  document.body.append(region);
  return region;
}
