/** A turn's steps as bars on one scale of time, nested as they were called. A chunk of its own, loaded when it is asked for. */

import type { ViewContext } from "../core/context.js";
import { stepLabel } from "../core/labels.js";
import { visible } from "../core/state.js";
import type { Block } from "../core/turn.js";
import { make, mark } from "./dom.js";

interface Span {
  block: Block;
  depth: number;
  fromMs: number;
  untilMs: number;
}

/** The bars; empty where no step has stamps. */
export function drawTimeline(context: ViewContext): HTMLElement {
  const { words } = context;
  const spans = spansOf(context);
  const start = Math.min(...spans.map(({ fromMs }) => fromMs));
  const length = Math.max(...spans.map(({ untilMs }) => untilMs)) - start || 1;
  const rows = spans.map(({ block, depth, fromMs, untilMs }) => {
    const bar = make("span", "bar");
    const duration = words.duration(untilMs - fromMs);
    bar.style.marginInlineStart = `${((fromMs - start) / length) * 100}%`;
    bar.style.inlineSize = `max(2px,${((untilMs - fromMs) / length) * 100}%)`;
    const name = make("span", "bar-name", block.call ? stepLabel(context, block) : words.say("session.thinking"));
    name.style.paddingInlineStart = `${depth}rem`;
    const time = make("span", "bar-time", duration);
    time.dir = "auto"; // a number before its unit, whatever the direction of the page
    const row = make("li", "bar-row", name, make("span", "bar-track", bar), time);
    mark(row, "data-kind", block.kind);
    return row;
  });
  return make("ol", "timeline", ...rows);
}

function spansOf({ turn, now }: ViewContext): Span[] {
  return turn.blocks.flatMap((block) => {
    const { startedMs: fromMs, endedMs } = block;
    const untilMs = endedMs ?? now;
    if (!visible(block) || fromMs === null || untilMs === null) return [];
    return { block, depth: depthOf(block, turn.blocks), fromMs, untilMs };
  });
}

function depthOf({ parent }: Block, blocks: Block[]): number {
  let depth = 0;
  for (let above = parent; above !== null; above = blocks[above]?.parent ?? null) depth++;
  return depth;
}
