/**
 * The one place that speaks to a screen reader by itself: a status line for the whole page.
 *
 * It speaks at boundaries only, never repeats itself, and leaves room between two sentences; thinking
 * itself is never read out.
 */

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
  timer = window.setTimeout(rest, APART_MS);
}

function rest(): void {
  free = true;
  if (waiting) speak();
  else timer = window.setTimeout(speak, CLEAR_MS - APART_MS);
}

function line(): HTMLElement {
  if (region?.isConnected) return region;
  region = document.createElement("div");
  region.role = "status";
  region.ariaAtomic = "true";
  Object.assign(region.style, { position: "fixed", width: "1px", height: "1px", overflow: "hidden", clipPath: "inset(50%)" });
  document.body.append(region);
  return region;
}
