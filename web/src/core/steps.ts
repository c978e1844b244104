/** The steps of a turn's thinking as they are shown: what each is, its state, and the steps below it. */

import type { ViewContext } from "./context.js";
import type { Kind } from "./events.js";
import { firstCharacters, jsonFields, oneLine } from "./excerpts.js";
import { countText, stepLabel, thoughtLabel, timeText } from "./labels.js";
import { CALL_COLUMNS, CODE_POINTS_PER_COLUMN, INPUT_LIMIT, RESULT_LIMIT } from "./limits.js";
import type { Open } from "./policy.js";
import { wordCount } from "./preview.js";
import { type HiddenReason, hiddenReason, type ThinkingState, visible } from "./state.js";
import type { Block } from "./turn.js";

/** One thought of the turn itself: its header in parts, and how much of it is open. */
export interface BlockView {
  block: number;
  status: ThinkingState;
  label: string;
  open: Open;
  step: string;
  duration: string;
  words: number | null;
  words_text: string;
  preview: string;
  peek: string;
  unseen: HiddenReason | null;
  placeholder: string;
  provenance: string;
}

/** One step as the element draws it: what it is, its state, its text, and the steps below it. */
export interface StepView {
  block: number;
  kind: Kind;
  status: ThinkingState;
  label: string;
  /** A thought, or in one line what a call was given. */
  readonly text: string;
  open: Open;
  /** All that a call was given, where it is more than the line says. */
  readonly input: string;
  description: string;
  result: string;
  /** How long a call took; a thought says it in its label. */
  duration: string;
  steps: StepView[];
  source: Block;
  /** The header of a thought of the turn itself. */
  thought: BlockView | undefined;
}

/** What is behind the header of a panel. */
export interface BodyView {
  blocks: BlockView[];
  steps: StepView[];
}

/** The thoughts and the steps of a turn. */
export function bodyView(context: ViewContext): BodyView {
  const blocks = context.thoughts.map((block, index) => blockView(context, block, index + 1));
  return { blocks, steps: stepTree(context, new Map(blocks.map((block) => [block.block, block]))) };
}

function blockView(context: ViewContext, block: Block, n: number): BlockView {
  const { words, thoughts, lines } = context;
  const status = context.stateOf(block);
  const duration = timeText(words, context.timeOf(block));
  const hidden = hiddenReason(block);
  const count = status === "thinking" || hidden ? null : wordCount(block);
  return {
    block: block.number,
    status,
    label: thoughtLabel(context, status, duration),
    open: context.openOf(block),
    step: thoughts[1] ? words.say("step", { n }) : "",
    duration,
    words: count,
    words_text: countText(words, "words", count),
    preview: lines.preview(block),
    peek: status === "thinking" ? lines.peek(block) : "",
    unseen: hidden,
    placeholder: hidden ? words.say(hidden) : "",
    provenance: block.provenance === "unknown" ? "" : words.say(`provenance.${block.provenance}`),
  };
}

/** The steps as a tree, built from its leaves in one pass: a turn may nest deeper than a program may call itself. */
function stepTree(context: ViewContext, thoughts: Map<number, BlockView>): StepView[] {
  const below = new Map<number | null, StepView[]>();
  for (const block of [...context.turn.blocks].reverse()) {
    const children = below.get(block.number) ?? [];
    const steps = visible(block)
      ? [stepView(context, block, children.reverse(), thoughts.get(block.number))]
      : children;
    const siblings = below.get(block.parent);
    if (siblings) siblings.push(...steps);
    else below.set(block.parent, steps);
  }
  return (below.get(null) ?? []).reverse();
}

function stepView(context: ViewContext, block: Block, steps: StepView[], thought: BlockView | undefined): StepView {
  return {
    block: block.number,
    kind: block.kind,
    status: context.stateOf(block),
    label: stepLabel(context, block),
    get text() {
      const hidden = hiddenReason(block);
      if (block.call) return callInput(block)[0];
      return hidden ? context.words.say(hidden) : block.text;
    },
    open: context.openOf(block),
    get input() {
      return block.call ? callInput(block)[1] : "";
    },
    description: firstCharacters(block.description, INPUT_LIMIT),
    result: firstCharacters(block.error || (block.result ?? ""), RESULT_LIMIT),
    duration: callDuration(context, block),
    steps,
    source: block,
    thought,
  };
}

/** How long a call took; empty for a thought, while a call works, and if it is unknown. */
function callDuration({ words, stateOf }: ViewContext, block: Block): string {
  const { startedMs, endedMs } = block;
  if (!block.call || stateOf(block) === "thinking" || startedMs === null || endedMs === null) return "";
  return words.duration(endedMs - startedMs);
}

/** What a call was given in one line, and all of it where that is more; JSON by its fields. */
function callInput(block: Block): [line: string, whole: string] {
  // As much as `firstCharacters` looks at, and one more to see that it goes on.
  const text = block.first((INPUT_LIMIT + 1) * CODE_POINTS_PER_COLUMN + 1);
  const fields = [...text].length > INPUT_LIMIT ? null : jsonFields(text);
  const line = oneLine(fields?.join(", ") ?? text, CALL_COLUMNS);
  const whole = firstCharacters(fields?.join("\n") ?? text, INPUT_LIMIT);
  return [line, line && whole !== line ? whole : ""];
}
