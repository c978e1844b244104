/**
 * What the element says of a turn's thinking, every word already chosen: the panel, its header above all.
 *
 * The twin of the Python package's `view.thinking`, `labels`, `times` and `notices`; the steps behind the
 * header are in `step-views.ts`. It is pure: the same turn, policy, language, moment and choices always give
 * the same words. No thinking, no view.
 */

import type { BlockStatus } from "./feed.js";
import { type Choices, chosen, chosenPanel, type Open, openState, type Policy } from "./opening.js";
import { peek, preview, wordsOf } from "./preview.js";
import { connectionLost, lastUnderWay, ledNowhere, shown, type Standing } from "./standing.js";
import { standingOf, stepStanding, unseen } from "./standing.js";
import { type Sentence, type SummaryBy, summaryLine } from "./summary.js";
import { Block, BURST_MS, type Thinking, thinkingTime, type Turn } from "./transcript.js";
import type { Words } from "./words.js";

/** The notices of endings that are not called what the ending is. */
const NOTICES: Record<string, string> = { cut_off: "cut_by_limit", cancelled: "stopped" };

/** The thinking of a turn, without its steps. */
export interface PanelView {
  status: Standing;
  label: string;
  /** The label with its time written out, for a voice; empty while it thinks. */
  spoken: string;
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
  /** What stands for the first thought where it cannot be read. */
  placeholder: string;
  tool_count: number;
  tool_count_deep: number;
  badge: string;
  badge_title: string;
  marker: string;
  notice: string;
}

/** All that one look at a turn depends on, found out once, and what follows from it for each block. */
export interface Scene {
  turn: Turn;
  policy: Policy;
  words: Words;
  choices: Choices;
  /** The turn's own steps, and the thoughts among them. */
  top: Block[];
  thoughts: Block[];
  standing: Standing;
  time: Thinking | null;
  unfinished: Block | undefined;
  stands(block: Block): Standing;
  openOf(block: Block): Open;
  /** How long one thought took, in words; the turn's own time stands in for its only thought. */
  took(block: Block): string;
  /** A time, in words. */
  lasted(time: Thinking | null): string;
  /** A count, in words; nothing where there is nothing to count. */
  counted(key: string, n: number | null): string;
  thoughtLabel(status: Standing, duration: string): string;
  labelOf(block: Block): string;
}

/** Look at a turn; `now` lets the clock of a live thought run. */
export function scene(
  turn: Turn,
  policy: Policy,
  words: Words,
  now: number | null = null,
  choices: Choices = new Map(),
): Scene {
  const top = turn.top().filter(shown);
  const thoughts = top.filter((block) => block.kind === "reasoning");
  const standing = standingOf(turn);
  const spent = thinkingTime(turn, now);
  const time = spent && (spent.approximate || spent.ms >= BURST_MS) ? spent : null;
  const unfinished = ledNowhere(turn) ? thoughts[thoughts.length - 1] : undefined;
  const broken = standing === "interrupted" ? lastUnderWay(turn) : null;
  const stands = (block: Block): Standing => (block === broken ? standing : stepStanding(block, turn.live, standing));
  const lasted = (spent: Thinking | null): string => {
    const duration = words.duration(spent && spent.ms);
    return spent?.approximate ? words.say("approximate", { duration }) : duration;
  };
  const took = ({ startedMs, endedMs }: Block): string => {
    const until = endedMs ?? now;
    const ms = startedMs === null || until === null ? 0 : until - startedMs;
    if (ms >= BURST_MS) return words.duration(ms);
    return lasted(thoughts[1] || !time?.approximate ? null : time);
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
  return {
    turn,
    policy,
    words,
    choices,
    top,
    thoughts,
    standing,
    time,
    unfinished,
    stands,
    took,
    lasted,
    thoughtLabel,
    openOf: (block) => openState(policy, stands(block) === "thinking", chosen(choices, block.number), block === unfinished),
    counted: (key, n) => (n ? words.say(key, { n }) : ""),
    labelOf(block) {
      const assistant = block.kind === "assistant_call";
      const name = block.name || words.say(assistant ? "assistant" : "tool");
      if (!block.call) return thoughtLabel(stands(block), took(block));
      return assistant && stands(block) === "thinking" ? words.say("working", { name }) : name;
    },
  };
}

/** The panel of what was looked at; `sentence` finds a summary where nobody wrote one. */
export function panelView(scene: Scene, sentence?: Sentence): PanelView | null {
  const { turn, policy, words, standing, time, thoughts, top, counted, lasted, stands } = scene;
  if (!top[0]) return null;
  const { header } = policy;
  const live = standing === "thinking";
  const counts = thoughts.flatMap((block) => (live || unseen(block) || stands(block) === "thinking" ? [] : wordsOf(block)));
  const total = counts[0] === undefined ? null : counts.reduce((sum, count) => sum + count);
  const [summary, summary_by] = summaryLine(turn, thoughts, sentence);
  const tools = turn.blocks.filter((block) => block.call);
  const own = tools.filter((block) => block.parent === null).length;
  const first = thoughts.map(preview).find(Boolean) ?? "";
  const at = top.filter((block) => stands(block) === "thinking").reverse();
  const [working] = at;
  const open = openState(policy, live, chosenPanel(scene.choices, top.map((block) => block.number)), !!scene.unfinished);
  // The words beside the label: a summary that somebody wrote, else the first words.
  const told = header === "summary" || (header === "auto" && /model|provider/.test(summary_by)) ? summary : "";
  // A status word where the header is a summary or nothing was thought.
  const label = (duration: string): string =>
    (live && header === "summary") || (standing === "done" && (header === "summary" || !thoughts[0]))
      ? words.say(`status.${standing}`)
      : scene.thoughtLabel(standing, duration);
  const why = thoughts[0] && unseen(thoughts[0]);
  const tokens = turn.usage.reasoning ?? null;
  return {
    status: standing,
    label: label(lasted(time)),
    spoken: live ? "" : label(time ? words.spoken(time.ms) : ""),
    text: header === "label" ? "" : told || first,
    open,
    duration: lasted(time),
    duration_ms: time && time.ms,
    words: total,
    words_text: counted("words", total),
    tokens,
    tokens_text: counted("tokens", tokens),
    summary,
    summary_by,
    preview: first,
    // What is going on right now: the newest line of a thought, else who is at work.
    peek: at.map((block) => (block.call ? "" : peek(block))).find(Boolean) ?? (working ? scene.labelOf(working) : ""),
    placeholder: why ? words.say(why) : "",
    tool_count: own,
    tool_count_deep: tools.length,
    badge: own ? `🔧 ${words.say("tools", { n: own })}` : "",
    badge_title: tools.length > own ? words.say("tools_deep", { n: tools.length }) : "",
    marker: !live && open === "hidden" ? words.say("hidden") : "",
    notice: notice(turn, words),
  };
}

/** What stands there before the first thought, where the page wants the wait to be seen. */
export function waitingView(scene: Scene, now: number | null): PanelView {
  const { turn, words, policy } = scene;
  const thought = new Block(0, "reasoning");
  const seen = panelView({ ...scene, standing: "thinking", top: [thought], policy: { ...policy, while_streaming: "collapsed" } });
  const duration_ms = turn.startedMs === null || now === null ? 0 : now - turn.startedMs;
  return { ...(seen as PanelView), label: words.say("waiting"), duration_ms };
}

function interruption(turn: Turn): string {
  const ending = turn.outcome?.ending as string;
  return connectionLost(turn) ? "connection_lost" : (NOTICES[ending] ?? "interrupted");
}

/** The word of the `status` attribute for what is seen. */
export function statusOf({ turn, thoughts, top, standing }: Scene): BlockStatus | "" {
  if (!top[0]) return "";
  if (standing === "thinking") return "streaming";
  if (standing === "error") return "error";
  if (standing === "done") return thoughts[0] && thoughts.every(unseen) ? "redacted" : "done";
  if (connectionLost(turn)) return "disconnected";
  return turn.outcome?.ending === "cancelled" ? "aborted" : "truncated";
}

/** What to tell a person about how the turn ended; it stands whether or not any thinking is shown. */
export function notice(turn: Turn, words: Words): string {
  if (!turn.outcome) return "";
  const { ending, cause, message } = turn.outcome;
  const key = `notice.${connectionLost(turn) ? "connection_lost" : (NOTICES[ending] ?? ending)}`;
  const reason = message || cause;
  // A failure without a reason is said by the label alone, and an answer needs no words.
  return words.knows(key) && (reason || ending !== "failed") ? words.say(key, { reason }) : "";
}
