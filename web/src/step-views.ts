/**
 * The steps of a turn's thinking as they are shown: what each is, where it stands, what hangs below it.
 *
 * The twin of the Python package's `view.steps` and of what `view.labels` says of one thought.
 */

import type { Kind } from "./events.js";
import { firstCharacters, oneLine } from "./excerpts.js";
import type { Open } from "./opening.js";
import { peek, preview, wordsOf } from "./preview.js";
import { shown, type Standing, type Unseen, unseen } from "./standing.js";
import type { Block } from "./transcript.js";
import type { Scene } from "./view.js";

const RESULT_LIMIT = 280;
const LINE_COLUMNS = 120;

/** One thought of the turn itself: its header in parts, and how much of it is open. */
export interface BlockView {
  block: number;
  status: Standing;
  label: string;
  open: Open;
  step: string;
  duration: string;
  words: number | null;
  words_text: string;
  preview: string;
  peek: string;
  unseen: Unseen | null;
  placeholder: string;
  provenance: string;
}

/** One step as the element draws it: what it is, where it stands, what it says, what hangs below it. */
export interface StepView {
  block: number;
  kind: Kind;
  status: Standing;
  label: string;
  readonly text: string;
  open: Open;
  result: string;
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

/** The thoughts and the steps of what was looked at. */
export function bodyView(scene: Scene): BodyView {
  const blocks = scene.thoughts.map((block, at) => blockView(scene, block, at + 1));
  return { blocks, steps: tree(scene, new Map(blocks.map((block) => [block.block, block]))) };
}

function blockView({ words, thoughts, stands, openOf, took, counted, thoughtLabel }: Scene, block: Block, n: number): BlockView {
  const status = stands(block);
  const duration = took(block);
  const why = unseen(block);
  const count = status === "thinking" || why ? null : wordsOf(block);
  return {
    block: block.number,
    status,
    label: thoughtLabel(status, duration),
    open: openOf(block),
    step: thoughts[1] ? words.say("step", { n }) : "",
    duration,
    words: count,
    words_text: counted("words", count),
    preview: preview(block),
    peek: status === "thinking" ? peek(block) : "",
    unseen: why,
    placeholder: why ? words.say(why) : "",
    provenance: block.provenance === "unknown" ? "" : words.say(`provenance.${block.provenance}`),
  };
}

/** The steps as a tree, built from its leaves in one pass: a turn may nest deeper than a program may call itself. */
function tree(scene: Scene, thoughts: Map<number, BlockView>): StepView[] {
  const below = new Map<number | null, StepView[]>();
  for (const block of [...scene.turn.blocks].reverse()) {
    const own = below.get(block.number) ?? [];
    const made = shown(block) ? [stepView(scene, block, own.reverse(), thoughts.get(block.number))] : own;
    const beside = below.get(block.parent);
    if (beside) beside.push(...made);
    else below.set(block.parent, made);
  }
  return (below.get(null) ?? []).reverse();
}

function stepView(scene: Scene, block: Block, steps: StepView[], thought: BlockView | undefined): StepView {
  const { words, stands, openOf, labelOf } = scene;
  return {
    block: block.number,
    kind: block.kind,
    status: stands(block),
    label: labelOf(block),
    get text() {
      const why = unseen(block);
      if (block.call) return oneLine(block.first(LINE_COLUMNS * 16 + 1), LINE_COLUMNS);
      return why ? words.say(why) : block.text;
    },
    open: openOf(block),
    result: firstCharacters(block.error || (block.result ?? ""), RESULT_LIMIT),
    steps,
    source: block,
    thought,
  };
}
