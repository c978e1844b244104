/**
 * What the element draws of a turn's thinking: one value with every word already chosen.
 *
 * The twin of the Python package's `view.thinking`, `labels`, `steps`, `times` and `notices`. It is pure:
 * the same turn, policy, language, moment and choices always give the same words. No thinking, no view.
 */

import type { Kind } from "./events.js";
import { firstCharacters, oneLine } from "./graphemes.js";
import type { BlockStatus } from "./feed.js";
import { type Choices, chosen, chosenPanel, type Open, openState, type Policy } from "./opening.js";
import { countWords, peek, preview } from "./preview.js";
import {
  connectionLost,
  lastUnderWay,
  ledNowhere,
  shown,
  type Standing,
  standingOf,
  stepStanding,
  type Unseen,
  unseen,
} from "./standing.js";
import { type Sentence, type SummaryBy, summaryLine } from "./summary.js";
import { Block, BURST_MS, type Thinking, thinkingTime, Turn } from "./transcript.js";
import type { Words } from "./words.js";

const RESULT_LIMIT = 280;
const LINE_COLUMNS = 120;
const ICONS: Record<Standing, string> = { thinking: "⚙", done: "💭", error: "⚠", interrupted: "💭" };
const NOTICES: Record<string, string> = {
  reasoning_only: "reasoning_only",
  empty: "empty",
  cut_off: "cut_by_limit",
  refused: "refused",
  failed: "failed",
  cancelled: "stopped",
};

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

/** The thinking of a turn: a header in parts and as one line, its thoughts, and all its steps. */
export interface ThinkingView {
  status: Standing;
  label: string;
  /** The label with its time written out, for a voice. */
  spoken: string;
  header: string;
  /** The words beside the label. */
  text: string;
  open: Open;
  duration: string;
  duration_ms: number | null;
  words: number | null;
  words_text: string;
  tokens: number | null;
  tokens_text: string;
  summary: string;
  summary_by: SummaryBy;
  preview: string;
  peek: string;
  tool_count: number;
  tool_count_deep: number;
  badge: string;
  badge_title: string;
  marker: string;
  notice: string;
  blocks: BlockView[];
  steps: StepView[];
}

/** The turn's thinking as it is to be shown; `now` lets the clock of a live thought run. */
export function view(
  turn: Turn,
  policy: Policy,
  words: Words,
  now: number | null = null,
  choices: Choices = new Map(),
  sentence?: Sentence,
): ThinkingView | null {
  const top = turn.top().filter(shown);
  if (!top[0]) return null;
  const { header } = policy;
  const thoughts = top.filter((block) => block.kind === "reasoning");
  const standing = standingOf(turn);
  const live = standing === "thinking";
  const time = worthSaying(thinkingTime(turn, now));
  const unfinished = ledNowhere(turn) ? thoughts[thoughts.length - 1] : null;
  const broken = standing === "interrupted" ? lastUnderWay(turn) : null;

  const said = (spent: Thinking | null): string => {
    const duration = words.duration(spent && spent.ms);
    return spent?.approximate ? words.say("approximate", { duration }) : duration;
  };
  const counted = (key: string, n: number | null): string => (n ? words.say(key, { n }) : "");
  const stands = (block: Block): Standing => (block === broken ? standing : stepStanding(block, turn.live, standing));
  const openOf = (block: Block): Open =>
    openState(policy, stands(block) === "thinking", chosen(choices, block.number), block === unfinished);

  /** How long one thought took; the turn's own time stands in for its only thought. */
  const timeOf = (block: Block): Thinking | null => {
    const until = block.endedMs ?? now;
    const ms = block.startedMs === null || until === null ? 0 : until - block.startedMs;
    if (ms >= BURST_MS) return { ms, approximate: false };
    return thoughts[1] || !time?.approximate ? null : time;
  };

  const thoughtLabel = (status: Standing, duration: string): string =>
    words.say(
      status === "thinking" ? "streaming"
      : status === "error" ? "status.error"
      : status === "interrupted" ? interruption(turn)
      : duration ? "complete"
      : "complete_unknown",
      { duration },
    );

  /** The label of the whole panel: a status word where the header is a summary or nothing was thought. */
  const panelLabel = (duration: string): string =>
    (live && header === "summary") || (standing === "done" && (header === "summary" || !thoughts[0]))
      ? words.say(`status.${standing}`)
      : thoughtLabel(standing, duration);

  const blockView = (block: Block, at: number): BlockView => {
    const status = stands(block);
    const duration = said(timeOf(block));
    const why = unseen(block);
    const count = status === "thinking" || why ? null : wordsOf(block);
    return {
      block: block.number,
      status,
      label: thoughtLabel(status, duration),
      open: openOf(block),
      step: thoughts[1] ? words.say("step", { n: at + 1 }) : "",
      duration,
      words: count,
      words_text: counted("words", count),
      preview: preview(block),
      peek: status === "thinking" ? peek(block) : "",
      unseen: why,
      placeholder: why ? words.say(why) : "",
      provenance: block.provenance === "unknown" ? "" : words.say(`provenance.${block.provenance}`),
    };
  };
  const blocks = thoughts.map(blockView);
  const heads = new Map(thoughts.map((block, at) => [block, blocks[at]]));

  const stepView = (block: Block, steps: StepView[]): StepView => {
    const { call, name } = block;
    const status = stands(block);
    const who = name || words.say(block.kind === "tool_call" ? "tool" : "assistant");
    const works = block.kind === "assistant_call" && status === "thinking";
    return {
      block: block.number,
      kind: block.kind,
      status,
      label: works ? words.say("working", { name: who }) : call ? who : thoughtLabel(status, said(timeOf(block))),
      get text() {
        const why = unseen(block);
        return call ? oneLine(block.first(LINE_COLUMNS * 16 + 1), LINE_COLUMNS) : why ? words.say(why) : block.text;
      },
      open: openOf(block),
      result: firstCharacters(block.error || (block.result ?? ""), RESULT_LIMIT),
      steps,
      source: block,
      thought: heads.get(block),
    };
  };
  const steps = tree(turn, stepView);

  const counts = blocks.flatMap((block) => block.words ?? []);
  const total = live || !counts.length ? null : counts.reduce((sum, count) => sum + count);
  const [summary, summary_by] = summaryLine(turn, thoughts, sentence);
  const tools = turn.blocks.filter((block) => block.call);
  const own = tools.filter((block) => block.parent === null).length;
  const first = blocks.find((block) => block.preview)?.preview ?? "";
  const duration = said(time);
  const label = panelLabel(duration);
  const words_text = counted("words", total);
  const tokens = turn.usage.reasoning ?? null;
  const open = openState(policy, live, chosenPanel(choices, top.map((block) => block.number)), !!unfinished);
  // The words beside the label: a summary that somebody wrote, else the first words.
  const told = header === "summary" || (header === "auto" && /model|provider/.test(summary_by)) ? summary : "";
  const text = header === "label" ? "" : told || first;
  return {
    status: standing,
    label,
    spoken: panelLabel(time ? words.spoken(time.ms) : ""),
    header: headerLine(standing, header, [label, standing === "done" ? "" : duration, words_text], text),
    text,
    open,
    duration,
    duration_ms: time && time.ms,
    words: total,
    words_text,
    tokens,
    tokens_text: counted("tokens", tokens),
    summary,
    summary_by,
    preview: first,
    // What is going on right now: the newest line of a thought, else who is at work.
    peek:
      blocks.findLast((block) => block.peek)?.peek ??
      steps.findLast((step) => step.status === "thinking")?.label ??
      "",
    tool_count: own,
    tool_count_deep: tools.length,
    badge: own ? `🔧 ${words.say("tools", { n: own })}` : "",
    badge_title: tools.length > own ? words.say("tools_deep", { n: tools.length }) : "",
    marker: !live && open === "hidden" ? words.say("hidden") : "",
    notice: notice(turn, words),
    blocks,
    steps,
  };
}

/** The steps as a tree, built from its leaves in one pass: a turn may nest deeper than a program may call itself. */
function tree(turn: Turn, stepView: (block: Block, steps: StepView[]) => StepView): StepView[] {
  const below: Record<string, StepView[]> = {};
  for (const block of [...turn.blocks].reverse()) {
    const own = below[block.number] ?? [];
    const made = shown(block) ? [stepView(block, own.reverse())] : own;
    (below[`${block.parent}`] ??= []).push(...made);
  }
  return (below.null ?? []).reverse();
}

function worthSaying(time: Thinking | null): Thinking | null {
  return time && (time.approximate || time.ms >= BURST_MS) ? time : null;
}

function interruption(turn: Turn): string {
  if (connectionLost(turn)) return "connection_lost";
  const ending = turn.outcome?.ending;
  return ending === "cancelled" ? "stopped" : ending === "cut_off" ? "cut_by_limit" : "interrupted";
}

function headerLine(standing: Standing, header: Policy["header"], facts: string[], text: string): string {
  const icon = ICONS[standing];
  if (text && header === "summary") return `${icon} ${text} · ${facts[0]}`;
  if (text && header === "preview" && standing === "done") return `${icon} ${text}`;
  return `${icon} ${facts.filter(Boolean).join(" · ")}${text && ` — ${text}`}`;
}

/** What stands there before the first thought, where the page wants the wait to be seen. */
export function waitingView(turn: Turn, policy: Policy, words: Words, now: number | null): ThinkingView {
  const ms = turn.startedMs === null || now === null ? 0 : now - turn.startedMs;
  const waiting = new Turn();
  waiting.blocks.push(new Block(0, "tool_call"));
  const seen = view(waiting, { ...policy, while_streaming: "collapsed" }, words) as ThinkingView;
  const label = words.say("waiting");
  return { ...seen, label, spoken: label, duration_ms: ms, badge: "", text: "", steps: [] };
}

/** The wait before the first thought, where it is known and long enough to speak of. */
export function waitedText({ startedMs, blocks }: Turn, words: Words): string {
  const ms = (blocks[0]?.startedMs ?? 0) - (startedMs ?? Infinity);
  return ms < 1000 ? "" : words.say("waited", { duration: words.duration(ms) });
}

/** The word of the `status` attribute for what is seen. */
export function statusOf(turn: Turn, seen: ThinkingView | null): BlockStatus | "" {
  if (!seen) return "";
  if (seen.status === "thinking") return seen.steps[0] ? "streaming" : "pending";
  if (seen.status === "error") return "error";
  if (seen.status === "done")
    return seen.blocks[0] && seen.blocks.every((block) => block.unseen) ? "redacted" : "done";
  if (connectionLost(turn)) return "disconnected";
  return turn.outcome?.ending === "cancelled" ? "aborted" : "truncated";
}

/** What to tell a person about how the turn ended; it stands whether or not any thinking is shown. */
export function notice(turn: Turn, words: Words): string {
  const { ending, cause, message } = turn.outcome ?? { ending: "", cause: "", message: "" };
  const key = connectionLost(turn) ? "connection_lost" : NOTICES[ending];
  const reason = message || cause;
  // A failure without a reason is said by the label alone.
  return key && (reason || key !== "failed") ? words.say(`notice.${key}`, { reason }) : "";
}

/** Words are counted once a thought is over, and not again. */
function wordsOf(block: Block): number {
  const [size, count] = counts.get(block) ?? [-1, 0];
  if (size === block.size) return count;
  const fresh = countWords(block.text);
  counts.set(block, [block.size, fresh]);
  return fresh;
}

const counts = new WeakMap<Block, [size: number, count: number]>();
