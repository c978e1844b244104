/** What the attributes and the text inside the element mean. */

import type { Open, Policy } from "../core/policy.js";
import type { BlockStatus } from "../core/state.js";
import type { Block } from "../core/turn.js";
import type { TurnFeed } from "../sources/turn-feed.js";

/** What the attributes `live` and `rest` call the states of the open rule. */
const OPEN_STATES: Record<string, Open> = { closed: "collapsed", preview: "peek", open: "expanded", hidden: "hidden" };

/** The attributes that say something about a block that is fed by hand. */
export const BLOCK_ATTRIBUTES = ["status", "tokens", "summary", "provenance"];

/** The policy settings of the attributes, overridden by those of the page. */
export function policySettings(element: Element, settings: Partial<Policy>): Partial<Policy> {
  const all: Record<string, unknown> = {
    preset: element.getAttribute("preset"),
    while_streaming: OPEN_STATES[element.getAttribute("live") ?? ""],
    after_complete: OPEN_STATES[element.getAttribute("rest") ?? ""],
    header: element.getAttribute("header"),
    auto_close: element.getAttribute("auto-close") === "false" ? false : null,
    ...settings,
  };
  for (const name in all) if (all[name] == null) delete all[name];
  return all;
}

/** The text that a page wrote inside the element, without that of its child elements. */
export function ownText(element: Element): string {
  const texts = Array.from(element.childNodes, (node) => (node.nodeType === Node.TEXT_NODE ? (node as Text).data : ""));
  return texts.join("").trim();
}

export function startedAt(element: Element): number | null {
  return Number(element.getAttribute("started-at")) || null;
}

/** Applies an attribute that says something about a block that is fed by hand. */
export function applyAttribute(feed: TurnFeed, element: Element, name: string, value: string | null): void {
  const { turn } = feed;
  if (name === "tokens") turn.usage.reasoning = Number(value) || null;
  if (name === "summary") Object.assign(turn, { summary: value ?? "", summaryBy: "model" });
  // The block that was there before: a status may start one, which then reads all attributes by itself.
  const block = turn.blocks[0];
  if (name === "status") feed.applyStatus((value ?? "") as BlockStatus | "", startedAt(element));
  if (!block) return;
  if (name === "provenance") block.provenance = (value ?? "unknown") as Block["provenance"];
  if (name === "started-at") block.startedMs = startedAt(element);
  const duration = element.getAttribute("duration-ms");
  if (duration && block.startedMs !== null && block.status !== "running")
    block.endedMs = block.startedMs + Number(duration);
}
