/**
 * What the element draws of a turn's thinking: one value with every word already chosen.
 *
 * The twin of the Python package's `view.thinking`, `labels`, `steps`, `times` and `notices`. It is pure:
 * the same turn, policy, language, moment and choices always give the same words. No thinking, no view.
 */

import type { Kind } from "./events.js";
import { firstCharacters, oneLine } from "./graphemes.js";
import { type Choices, chosen, chosenPanel, type Open, openState, type Policy } from "./opening.js";
import { countWords, peek, preview } from "./preview.js";
import type { BlockStatus } from "./records.js";
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
import { type SummaryBy, summaryLine } from "./summary.js";
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

/** All that one look at a turn depends on, found out once. */
interface Scene {
  turn: Turn;
  policy: Policy;
  words: Words;
  now: number | null;
  choices: Choices;
  standing: Standing;
  thoughts: Block[];
  time: Thinking | null;
  unfinished: number | null;
  broken: number | null;
}

/** The turn's thinking as it is to be shown; `now` lets the clock of a live thought run. */
export function view(
  turn: Turn,
  policy: Policy,
  words: Words,
  now: number | null = null,
  choices: Choices = new Map(),
): ThinkingView | null {
  const top = turn.top().filter(shown);
  if (!top[0]) return null;
  const thoughts = top.filter((block) => block.kind === "reasoning");
  const standing = standingOf(turn);
  const scene: Scene = {
    turn,
    policy,
    words,
    now,
    choices,
    standing,
    thoughts,
    time: worthSaying(thinkingTime(turn, now)),
    unfinished: ledNowhere(turn) ? (thoughts[thoughts.length - 1]?.number ?? null) : null,
    broken: standing === "interrupted" ? lastUnderWay(turn) : null,
  };
  return panel(scene, top);
}

function panel(scene: Scene, top: Block[]): ThinkingView {
  const { turn, policy, words, standing, time } = scene;
  const live = standing === "thinking";
  const blocks = scene.thoughts.map((block, at) => blockView(scene, block, at + 1));
  const steps = stepViews(scene, new Map(blocks.map((block) => [block.block, block])));
  const counts = blocks.flatMap((block) => block.words ?? []);
  const total = live || !counts.length ? null : counts.reduce((sum, count) => sum + count);
  const [summary, summary_by] = summaryLine(turn, scene.thoughts);
  const tools = turn.blocks.filter((block) => block.call);
  const own = tools.filter((block) => block.parent === null).length;
  const first = blocks.find((block) => block.preview)?.preview ?? "";
  const text = headerText(policy, first, summary, summary_by);
  const label = panelLabel(scene, timeText(words, time));
  const duration = timeText(words, time);
  const words_text = counted(words, "words", total);
  const tokens = turn.usage.reasoning ?? null;
  const open = openState(
    policy,
    live,
    chosenPanel(scene.choices, top.map((block) => block.number)),
    scene.unfinished !== null,
  );
  return {
    status: standing,
    label,
    spoken: panelLabel(scene, time ? words.spoken(time.ms) : ""),
    header: headerLine(scene, [label, standing === "done" ? "" : duration, words_text], text),
    text,
    open,
    duration,
    duration_ms: time ? time.ms : null,
    words: total,
    words_text,
    tokens,
    tokens_text: counted(words, "tokens", tokens),
    summary,
    summary_by,
    preview: first,
    peek: goingOn(blocks, steps),
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

function blockView(scene: Scene, block: Block, n: number): BlockView {
  const { words } = scene;
  const status = stepOf(scene, block);
  const time = timeOf(scene, block);
  const why = unseen(block);
  const live = status === "thinking";
  const count = live || why ? null : wordsOf(block);
  return {
    block: block.number,
    status,
    label: thoughtLabel(scene, status, timeText(words, time)),
    open: openOf(scene, block),
    step: scene.thoughts.length > 1 ? words.say("step", { n }) : "",
    duration: timeText(words, time),
    words: count,
    words_text: counted(words, "words", count),
    preview: preview(block),
    peek: live ? peek(block) : "",
    unseen: why,
    placeholder: why ? words.say(why) : "",
    provenance: block.provenance === "unknown" ? "" : words.say(`provenance.${block.provenance}`),
  };
}

/** The steps as a tree, built from its leaves in one pass: a turn may nest deeper than a program may call itself. */
function stepViews(scene: Scene, thoughts: Map<number, BlockView>): StepView[] {
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
  const { words } = scene;
  const status = stepOf(scene, block);
  return {
    block: block.number,
    kind: block.kind,
    status,
    label: stepLabel(scene, block, status),
    get text() {
      const why = unseen(block);
      return block.call ? oneLine(block.first(LINE_COLUMNS * 16 + 1), LINE_COLUMNS) : why ? words.say(why) : block.text;
    },
    open: openOf(scene, block),
    result: firstCharacters(block.error || (block.result ?? ""), RESULT_LIMIT),
    steps,
    source: block,
    thought,
  };
}

function stepLabel(scene: Scene, block: Block, status: Standing): string {
  if (!block.call) return thoughtLabel(scene, status, timeText(scene.words, timeOf(scene, block)));
  const assistant = block.kind === "assistant_call";
  const name = block.name || scene.words.say(assistant ? "assistant" : "tool");
  return assistant && status === "thinking" ? scene.words.say("working", { name }) : name;
}

function stepOf(scene: Scene, block: Block): Standing {
  if (block.number === scene.broken) return scene.standing;
  return stepStanding(block, scene.turn.live, scene.standing);
}

function openOf(scene: Scene, block: Block): Open {
  const live = stepOf(scene, block) === "thinking";
  return openState(scene.policy, live, chosen(scene.choices, block.number), block.number === scene.unfinished);
}

/** How long one thought took; the turn's own time stands in for its only thought. */
function timeOf(scene: Scene, block: Block): Thinking | null {
  const until = block.endedMs ?? scene.now;
  const ms = block.startedMs === null || until === null ? 0 : until - block.startedMs;
  if (ms >= BURST_MS) return { ms, approximate: false };
  return scene.thoughts.length === 1 && scene.time?.approximate ? scene.time : null;
}

function worthSaying(time: Thinking | null): Thinking | null {
  return time && (time.approximate || time.ms >= BURST_MS) ? time : null;
}

function timeText(words: Words, time: Thinking | null): string {
  if (!time) return "";
  const duration = words.duration(time.ms);
  return time.approximate ? words.say("approximate", { duration }) : duration;
}

function counted(words: Words, key: string, n: number | null): string {
  return n ? words.say(key, { n }) : "";
}

function thoughtLabel({ words, turn }: Scene, standing: Standing, duration: string): string {
  if (standing === "thinking") return words.say("streaming");
  if (standing === "error") return words.say("status.error");
  if (standing === "interrupted") return words.say(interruption(turn));
  return duration ? words.say("complete", { duration }) : words.say("complete_unknown");
}

/** The label of the whole panel: a status word where the header is a summary or nothing was thought. */
function panelLabel(scene: Scene, duration: string): string {
  const { standing, words } = scene;
  const summed = scene.policy.header === "summary";
  if (standing === "thinking" && summed) return words.say("status.thinking");
  if (standing === "done" && (summed || !scene.thoughts[0])) return words.say("status.done");
  return thoughtLabel(scene, standing, duration);
}

function interruption(turn: Turn): string {
  if (connectionLost(turn)) return "connection_lost";
  const ending = turn.outcome?.ending;
  return ending === "cancelled" ? "stopped" : ending === "cut_off" ? "cut_by_limit" : "interrupted";
}

/** What is going on right now: the newest line of a thought, else who is at work. */
function goingOn(blocks: BlockView[], steps: StepView[]): string {
  const lines = blocks.flatMap((block) => block.peek || []);
  const labels = steps.flatMap((step) => (step.status === "thinking" ? step.label : []));
  return lines.pop() ?? labels.pop() ?? "";
}

/** The words beside the label: a summary that somebody wrote, else the first words. */
function headerText(policy: Policy, first: string, line: string, by: SummaryBy): string {
  if (policy.header === "label") return "";
  if (policy.header === "preview") return first;
  if (policy.header === "summary") return line || first;
  return by === "model" || by === "provider" ? line : first;
}

function headerLine({ standing, policy }: Scene, facts: string[], text: string): string {
  const icon = ICONS[standing];
  const said = `${icon} ${facts.filter(Boolean).join(" · ")}`;
  if (policy.header === "summary" && text) return `${icon} ${text} · ${facts[0]}`;
  if (policy.header === "preview" && text && standing === "done") return `${icon} ${text}`;
  return text ? `${said} — ${text}` : said;
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
