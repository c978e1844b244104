/**
 * A turn as it stands after some entries, and `apply`, the only place where it changes.
 *
 * The twin of the Python package's `transcript`. Text is kept in the pieces it came in and only windows
 * of it are ever joined while it grows, so the hundred-thousandth delta costs what the first did.
 */

import type { BlockReclassified, BlockStarted, Entry, Event, Finish, Kind, NoticeGiven } from "./events.js";
import type { Provenance, ReplyEnded, Seal, TurnEnded, TurnFailed, Usage } from "./events.js";
import { isBlank } from "./graphemes.js";

export type Status = "running" | "done" | "error" | "interrupted";
export type Ending =
  | "answered"
  | "reasoning_only"
  | "called_tools"
  | "empty"
  | "cut_off"
  | "refused"
  | "failed"
  | "cancelled";

/** How a turn came out and why: `cause` is one word to branch on, `message` is for people. */
export interface Outcome {
  ending: Ending;
  cause: string;
  message: string;
}

/** How long, and whether that is measured or the best that can be said. */
export interface Thinking {
  ms: number;
  approximate: boolean;
}

/** Thoughts that took less than this all together came in one burst. */
export const BURST_MS = 50;

/** Entries that tell no story: a server or a log that produces them has a bug, and a guess would hide it. */
export class OutOfOrder extends Error {}

/** One thought, text, tool call or assistant call, in the order it began. */
export class Block {
  name = "";
  callId = "";
  assistantId = "";
  parent: number | null = null;
  provenance: Provenance = "unknown";
  status: Status = "running";
  seals: Seal[] = [];
  result: string | null = null;
  error = "";
  approval: "" | "asked" | "granted" | "denied" = "";
  startedMs: number | null = null;
  endedMs: number | null = null;
  pieces: string[] = [];
  /** Length of the text in UTF-16 units. */
  size = 0;
  /** Whether there is nothing in it that a person could read. */
  blank = true;
  /** Counts how often the text changed other than by growing at its end. */
  rewritten = 0;

  constructor(
    readonly number: number,
    public kind: Kind,
  ) {}

  get text(): string {
    if (this.pieces.length > 1) this.pieces = [this.pieces.join("")];
    return this.pieces[0] ?? "";
  }

  set text(text: string) {
    this.pieces = text ? [text] : [];
    this.size = text.length;
    this.blank = isBlank(text);
    this.rewritten++;
  }

  get call(): boolean {
    return this.kind === "tool_call" || this.kind === "assistant_call";
  }

  /** Whether it is a call that was made and has not come back. */
  get awaited(): boolean {
    return this.call && this.result === null && this.status === "done";
  }

  grow(text: string): void {
    this.pieces.push(text);
    this.size += text.length;
    this.blank &&= isBlank(text);
  }

  /** At least the first `size` units of the text, or all of it. */
  first(size: number): string {
    let held = "";
    for (const piece of this.pieces) if ((held += piece).length >= size) break;
    return held;
  }

  /** At least the last `size` units of the text, or all of it. */
  last(size: number): string {
    let held = "";
    for (let at = this.pieces.length; at-- && held.length < size; ) held = this.pieces[at] + held;
    return held;
  }

  /** What came after the first `size` units. */
  since(size: number): string {
    const fresh = this.size - size;
    return fresh > 0 ? this.last(fresh).slice(-fresh) : "";
  }
}

/** The fold of a turn's entries. */
export class Turn {
  dialect = "";
  model = "";
  blocks: Block[] = [];
  usage: Usage = {};
  outcome: Outcome | null = null;
  summary = "";
  summaryBy = "";
  notices: NoticeGiven[] = [];
  replies: ReplyEnded[] = [];
  seq = -1;
  startedMs: number | null = null;
  endedMs: number | null = null;

  get live(): boolean {
    return !this.outcome;
  }

  /** Every answer text of the turn itself. */
  get answer(): string {
    return this.top("text")
      .map((block) => block.text)
      .join("");
  }

  /** The turn's own blocks, without those of its assistants; only of these kinds if any are named. */
  top(...kinds: Kind[]): Block[] {
    return this.blocks.filter((block) => block.parent === null && (!kinds[0] || kinds.includes(block.kind)));
  }
}

/** Fold one entry into the turn, in place, and return it. */
export function apply(turn: Turn, { seq, event, at_ms }: Entry): Turn {
  if (seq <= turn.seq) throw new OutOfOrder(`entry ${seq} comes after entry ${turn.seq}`);
  if (turn.outcome) throw new OutOfOrder(`entry ${seq} comes after the turn ended`);
  const block = turn.blocks[(event as { block: number }).block];
  if (event.type === "block.started") start(turn, event, at_ms ?? null);
  else if (!/^(?:block|tool|approval)\./.test(event.type)) changeTurn(turn, event, at_ms ?? null);
  else if (block) changeBlock(turn, block, event, at_ms ?? null);
  else throw new OutOfOrder(`block ${(event as { block: number }).block} has not started`);
  turn.seq = seq;
  return turn;
}

function changeTurn(turn: Turn, event: Event, at: number | null): void {
  switch (event.type) {
    case "turn.started":
      turn.dialect = event.dialect ?? "";
      turn.model = event.model ?? "";
      turn.startedMs = at;
      break;
    case "summary.written":
      turn.summary = event.text;
      turn.summaryBy = event.by ?? "model";
      break;
    case "usage.reported":
      turn.usage = { ...turn.usage, ...known(event.usage) };
      break;
    case "notice.given":
      turn.notices.push(event);
      break;
    case "reply.ended":
      turn.usage = turn.replies[0] ? together(turn.usage, event.usage ?? {}) : (event.usage ?? {});
      turn.replies.push(event);
      break;
    case "turn.ended":
    case "turn.failed":
      end(turn, event, at);
  }
}

function changeBlock(turn: Turn, block: Block, event: Event, at: number | null): void {
  switch (event.type) {
    case "block.grew":
      running(block).grow(event.text);
      break;
    case "block.sealed":
      block.seals.push(event.seal);
      break;
    case "block.reclassified":
      refile(turn, block, event, at);
      break;
    case "block.ended":
      running(block).status = block.error ? "error" : event.interrupted ? "interrupted" : "done";
      block.endedMs = at;
      break;
    case "tool.finished":
      block.result = event.result ?? "";
      block.error = event.error ?? "";
      if (block.status !== "running") {
        block.status = event.error ? "error" : "done";
        block.endedMs = at;
      }
      break;
    case "approval.asked":
      block.approval = "asked";
      break;
    case "approval.settled":
      block.approval = event.granted ? "granted" : "denied";
  }
}

function start(turn: Turn, event: BlockStarted, at: number | null): void {
  const next = turn.blocks.length;
  if (event.block !== next) throw new OutOfOrder(`block ${event.block} started, but the next one is ${next}`);
  if (event.parent != null && !turn.blocks[event.parent])
    throw new OutOfOrder(`block ${event.parent} has not started`);
  const block = new Block(next, event.kind);
  block.name = event.name ?? "";
  block.callId = event.call_id ?? "";
  block.assistantId = event.assistant_id ?? "";
  block.parent = event.parent ?? null;
  block.provenance = event.provenance ?? "unknown";
  block.startedMs = at;
  turn.blocks.push(block);
}

function refile(turn: Turn, block: Block, event: BlockReclassified, at: number | null): void {
  if (event.tail == null) {
    block.kind = event.kind;
    return;
  }
  const points = [...block.text];
  if (event.into !== turn.blocks.length || event.tail < 1 || event.tail > points.length)
    throw new OutOfOrder(`block ${block.number} cannot give ${event.tail} characters to ${event.into}`);
  const moved = new Block(event.into, event.kind);
  moved.text = points.splice(-event.tail).join("");
  moved.parent = block.parent;
  moved.status = "done";
  moved.startedMs = moved.endedMs = at;
  block.text = points.join("");
  turn.blocks.push(moved);
}

function running(block: Block): Block {
  if (block.status !== "running") throw new OutOfOrder(`block ${block.number} has ended`);
  return block;
}

function end(turn: Turn, event: TurnEnded | TurnFailed, at: number | null): void {
  const open = turn.blocks.filter((block) => block.status === "running");
  if (open[0]) throw new OutOfOrder(`the turn ended while block ${open[0].number} was open`);
  turn.endedMs = at;
  turn.outcome =
    event.type === "turn.failed"
      ? { ending: event.code === "cut_off" ? "cut_off" : "failed", cause: event.code, message: event.message ?? "" }
      : { ending: ending(turn, event.finish), cause: event.said || (event.finish ?? "unknown"), message: "" };
}

/** A provider's "stop" ends an answer, a thought without one, and nothing at all: look at the blocks as well. */
function ending(turn: Turn, finish: Finish | undefined): Ending {
  if (finish === "cancelled") return "cancelled";
  if (finish === "refusal") return "refused";
  if (finish === "length") return "cut_off";
  const said = turn.top("text").some((block) => !block.blank);
  if (said && finish !== "tool_calls") return "answered";
  if (turn.top().some((block) => block.call && block.result === null)) return "called_tools";
  if (said) return "answered";
  const thought = turn.top("reasoning").some((block) => block.seals[0] || !block.blank);
  return thought ? "reasoning_only" : "empty";
}

/** The events that bring a live turn to this end: what was still open was interrupted. */
export function stopped(turn: Turn, end: TurnEnded | TurnFailed): Event[] {
  if (turn.outcome) return [];
  const open = turn.blocks.filter((block) => block.status === "running");
  return [...open.map((block) => ({ type: "block.ended", block: block.number, interrupted: true }) as const), end];
}

/** The turn's own thinking time without that of tools; null where the stamps do not say. */
export function thinkingTime(turn: Turn, now: number | null): Thinking | null {
  const thoughts = turn.top("reasoning");
  let ms = 0;
  for (const block of thoughts) {
    const until = block.endedMs ?? now;
    if (block.startedMs === null || until === null) return null;
    ms += Math.max(0, until - block.startedMs);
  }
  if (!thoughts[0]) return null;
  return ms >= BURST_MS || turn.live ? { ms, approximate: false } : waited(turn);
}

/** The wait for the first thing that is not a thought stands in for thoughts that came in one burst. */
function waited(turn: Turn): Thinking | null {
  const stamps = turn
    .top()
    .flatMap((block) => (block.kind === "reasoning" || block.startedMs === null ? [] : [block.startedMs]));
  const said = stamps[0] === undefined ? turn.endedMs : Math.min(...stamps);
  if (turn.startedMs === null || said === null || said <= turn.startedMs) return null;
  return { ms: said - turn.startedMs, approximate: true };
}

function known(usage: Usage): Usage {
  return Object.fromEntries(Object.entries(usage).filter(([, count]) => count != null));
}

/** Both counts in one; where either is unknown, so is their sum. */
function together(one: Usage, other: Usage): Usage {
  const sum: Usage = {};
  for (const name of Object.keys(one) as (keyof Usage)[])
    if (one[name] != null && other[name] != null) sum[name] = one[name] + other[name];
  return sum;
}
