/**
 * `apply`, the only place where an event changes a turn, and how the end of a turn is told from its blocks.
 *
 * It accepts and refuses what the Python package's `transcript.apply` accepts and refuses.
 */

import type { BlockReclassified, Entry, Event, Finish, ReplyEnded, TurnEnded, TurnFailed, Usage } from "./events.js";
import { type Block, type Ending, type Outcome, runningBlocks, startBlock, type Turn } from "./turn.js";

/** Entries that make no turn: the server or the log that produced them has a bug, and a guess would hide it. */
export class OutOfOrder extends Error {}

/** The provider is still at its own tools, and continues when it gets this reply back: its calls are not ours to run. */
const PAUSE_TURN = "pause_turn";

type EventOf<Type extends Event["type"]> = Extract<Event, { type: Type }>;
type Change<Type extends Event["type"]> = (turn: Turn, event: EventOf<Type>, atMs: number | null) => void;
type BlockEvent = Extract<Event, { block: number }>;

/** Folds one entry into the turn, in place, and returns it. */
export function apply(turn: Turn, { seq, event, at_ms = null }: Entry): Turn {
  check(seq > turn.seq && !turn.outcome, event);
  // An event of a newer server, of a type that is not known here, changes nothing.
  if (Object.hasOwn(CHANGES, event.type)) (CHANGES[event.type] as Change<Event["type"]>)(turn, event, at_ms);
  turn.seq = seq;
  return turn;
}

/** What each event does to the turn. */
const CHANGES: { [Type in Event["type"]]: Change<Type> } = {
  "turn.started"(turn, { dialect = "", model = "" }, startedMs) {
    Object.assign(turn, { dialect, model, startedMs });
  },
  "summary.written"(turn, { text, by = "model" }) {
    turn.summary = text;
    turn.summaryBy = by;
  },
  "usage.reported"(turn, { usage }) {
    turn.usage = { ...turn.usage, ...knownCounts(usage) };
  },
  "notice.given"(turn, event) {
    turn.notices.push(event);
  },
  "reply.ended": endReply,
  "turn.ended"(turn, event, atMs) {
    const { finish = "unknown", said } = event;
    endTurn(turn, event, atMs, { ending: endingOf(turn, finish), cause: said || finish, message: "" });
  },
  "turn.failed"(turn, event, atMs) {
    const { code, message = "", wording = null } = event;
    endTurn(turn, event, atMs, { ending: code === "cut_off" ? code : "failed", cause: code, message, wording });
  },
  "block.started"(turn, event, startedMs) {
    const { kind, name = "", call_id: callId = "", assistant_id: assistantId = "" } = event;
    const { parent = null, provenance = "unknown", description = "" } = event;
    check(event.block === turn.blocks.length && (parent === null || turn.blocks[parent]), event);
    Object.assign(startBlock(turn, kind), {
      name,
      callId,
      assistantId,
      parent,
      provenance,
      startedMs,
      description,
    });
  },
  "block.grew"(turn, event) {
    runningBlock(turn, event).append(event.text);
  },
  "block.sealed"(turn, event) {
    blockOf(turn, event).seals.push(event.seal);
  },
  "block.reclassified": reclassify,
  "block.ended"(turn, event, atMs) {
    const block = runningBlock(turn, event);
    block.status = block.error ? "error" : event.interrupted ? "interrupted" : "done";
    block.endedMs = atMs;
  },
  "tool.finished"(turn, event, atMs) {
    const block = blockOf(turn, event);
    const { result = "", error = "" } = event;
    Object.assign(block, { result, error });
    if (block.status === "running") return;
    block.status = error ? "error" : "done";
    block.endedMs = atMs;
  },
  "approval.asked"(turn, event) {
    const block = blockOf(turn, event);
    check(block.awaitingResult && !block.approval, event);
    block.approval = "asked";
  },
  "approval.settled"(turn, event) {
    const block = blockOf(turn, event);
    check(block.approval === "asked", event);
    block.approval = event.granted ? "granted" : "denied";
  },
};

function check(fits: unknown, event: Event): void {
  if (!fits) throw new OutOfOrder(`This event does not fit here: ${JSON.stringify(event)}`);
}

function blockOf(turn: Turn, event: BlockEvent): Block {
  const block = turn.blocks[event.block];
  check(block, event);
  return block as Block;
}

function runningBlock(turn: Turn, event: BlockEvent): Block {
  const block = blockOf(turn, event);
  check(block.status === "running", event);
  return block;
}

function reclassify(turn: Turn, event: BlockReclassified, atMs: number | null): void {
  const block = blockOf(turn, event);
  const { kind, tail, into } = event;
  if (tail == null) {
    block.kind = kind;
    return;
  }
  const points = [...block.text];
  check(into === turn.blocks.length && tail > 0 && tail <= points.length, event);
  const moved = startBlock(turn, kind);
  moved.text = points.splice(-tail).join("");
  moved.parent = block.parent;
  moved.status = "done";
  moved.startedMs = moved.endedMs = atMs;
  block.text = points.join("");
}

function endReply(turn: Turn, event: ReplyEnded): void {
  const { parent = null, said, usage = {} } = event;
  const previous = turn.replies.findLast((reply) => (reply.parent ?? null) === parent);
  const own = turn.blocks.slice(previous?.until ?? 0).filter((block) => block.parent === parent);
  check((parent === null || turn.blocks[parent]) && own.every((block) => block.status !== "running"), event);
  const calls = own.filter((block) => block.awaitingResult && said !== PAUSE_TURN).map(({ number }) => number);
  turn.usage = turn.replies[0] ? addUsage(turn.usage, usage) : usage;
  turn.replies.push({ ...event, until: turn.blocks.length, calls });
}

function endTurn(turn: Turn, event: Event, endedMs: number | null, outcome: Outcome): void {
  check(!runningBlocks(turn)[0], event);
  Object.assign(turn, { endedMs, outcome });
}

const ENDINGS: Partial<Record<Finish, Ending>> = { cancelled: "cancelled", refusal: "refused", length: "cut_off" };

/** A provider's "stop" ends an answer, a thought without one, and nothing at all: the blocks tell which. */
function endingOf(turn: Turn, finish: Finish): Ending {
  const { hasAnswer } = turn;
  const thought = turn.ownBlocks("reasoning").some((block) => block.seals[0] || !block.blank);
  if (ENDINGS[finish]) return ENDINGS[finish];
  if ((finish === "tool_calls" || !hasAnswer) && callsAreLeft(turn)) return "called_tools";
  return hasAnswer ? "answered" : thought ? "reasoning_only" : "empty";
}

/** Whether somebody has calls to answer. In a turn of several replies, one that broke off leaves none. */
function callsAreLeft({ blocks, replies }: Turn): boolean {
  if (!replies[0]) return blocks.some((block) => block.parent === null && block.call && block.result === null);
  return replies.some(({ parent, calls }) => parent == null && calls.some((number) => blocks[number]?.awaitingResult));
}

/** The events that bring a live turn to this end: what was still open was interrupted. */
export function eventsToEndTurn(turn: Turn, end: TurnEnded | TurnFailed): Event[] {
  if (turn.outcome) return [];
  const ended = runningBlocks(turn).map(
    ({ number }): Event => ({ type: "block.ended", block: number, interrupted: true }),
  );
  return [...ended, end];
}

function knownCounts(usage: Usage): Usage {
  return Object.fromEntries(Object.entries(usage).filter(([, count]) => count != null));
}

/** The sum of both counts; where either is unknown, so is their sum. */
function addUsage(one: Usage, other: Usage): Usage {
  const sum: Usage = {};
  for (const name of Object.keys(one) as (keyof Usage)[])
    if (one[name] != null && other[name] != null) sum[name] = one[name] + other[name];
  return sum;
}
