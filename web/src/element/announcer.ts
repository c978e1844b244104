/**
 * The one place that speaks to a screen reader by itself: a status line for the whole page.
 *
 * It speaks at boundaries only, never repeats itself, and leaves room between two sentences; thinking itself is never
 * read out.
 */

import { make, mark } from "./dom.js";

const PAUSE_MS = 1000;
const CLEAR_MS = 5000;

let region: HTMLElement | undefined;
let pending = "";
let timer = 0;
let free = true;

/** Says this once the line is free; of several texts that wait, the newest is said. */
export function announce(text: string): void {
  if (!text || text === region?.textContent) return;
  pending = text;
  if (free) speak();
}

function speak(): void {
  clearTimeout(timer);
  free = !pending;
  statusLine().textContent = pending;
  if (free) return;
  pending = "";
  timer = setTimeout(afterPause, PAUSE_MS);
}

function afterPause(): void {
  free = true;
  if (pending) speak();
  else timer = setTimeout(speak, CLEAR_MS - PAUSE_MS);
}

function statusLine(): HTMLElement {
  if (region?.isConnected) return region;
  region = make("div");
  mark(region, "role", "status");
  mark(region, "aria-atomic", "true");
  region.style.cssText = "position:fixed;inline-size:1px;block-size:1px;overflow:hidden;clip-path:inset(50%)";
  document.body.append(region);
  return region;
}
