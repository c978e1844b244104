/**
 * A turn as it stands after some entries, and `apply`, the only place where it changes.
 *
 * The twin of the Python package's `transcript`. Text is kept in the pieces it came in and only windows
 * of it are ever joined while it grows, so the hundred-thousandth delta costs what the first did.
 */

import type { BlockReclassified, Entry, Event, Finish, Kind, NoticeGiven } from "./events.js";
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
export function apply(turn: Turn, { seq, event, at_ms = null }: Entry): Turn {
  const block = turn.blocks[(event as BlockGrew).block];
  must(seq > turn.seq, "an entry comes twice");
  must(!turn.outcome, "the turn has ended");
  must(block || !/^(?:block\.(?!st)|tool|appr)/.test(event.type), "a block has not started");
  if (Object.hasOwn(CHANGES, event.type)) (CHANGES[event.type] as Change)(turn, event, at_ms, block as Block);
  turn.seq = seq;
  return turn;
}

type Told<Type extends Event["type"]> = Extract<Event, { type: Type }>;
type BlockGrew = Told<"block.grew">;
type Change<Type extends Event["type"] = Event["type"]> = (
  turn: Turn,
  event: Told<Type>,
  at: number | null,
  block: Block,
) => void;

/** What each event does to the turn, and to the block that it names. */
const CHANGES: { [Type in Event["type"]]: Change<Type> } = {
  "turn.started"(turn, { dialect = "", model = "" }, startedMs) {
    Object.assign(turn, { dialect, model, startedMs });
  },
  "summary.written"(turn, { text, by = "model" }) {
    turn.summary = text;
    turn.summaryBy = by;
  },
  "usage.reported"(turn, { usage }) {
    turn.usage = { ...turn.usage, ...known(usage) };
  },
  "notice.given"(turn, event) {
    turn.notices.push(event);
  },
  "reply.ended"(turn, event) {
    const { usage = {} } = event;
    turn.usage = turn.replies[0] ? together(turn.usage, usage) : usage;
    turn.replies.push(event);
  },
  "turn.ended"(turn, { finish = "unknown", said }, at) {
    end(turn, at, { ending: ending(turn, finish), cause: said || finish, message: "" });
  },
  "turn.failed"(turn, { code, message = "" }, at) {
    end(turn, at, { ending: code === "cut_off" ? code : "failed", cause: code, message });
  },
  "block.started"(turn, event, startedMs) {
    const { kind, name = "", call_id: callId = "", assistant_id: assistantId = "" } = event;
    const { parent = null, provenance = "unknown" } = event;
    must(event.block === turn.blocks.length && (parent === null || turn.blocks[parent]), "a block is out of place");
    Object.assign(begin(turn, kind), { name, callId, assistantId, parent, provenance, startedMs });
  },
  "block.grew"(_, { text }, __, block) {
    running(block).grow(text);
  },
  "block.sealed"(_, { seal }, __, block) {
    block.seals.push(seal);
  },
  "block.reclassified": refile,
  "block.ended"(_, { interrupted }, at, block) {
    running(block).status = block.error ? "error" : interrupted ? "interrupted" : "done";
    block.endedMs = at;
  },
  "tool.finished"(_, { result = "", error = "" }, at, block) {
    block.result = result;
    block.error = error;
    if (block.status === "running") return;
    block.status = error ? "error" : "done";
    block.endedMs = at;
  },
  "approval.asked"(_, __, ___, block) {
    block.approval = "asked";
  },
  "approval.settled"(_, { granted }, __, block) {
    block.approval = granted ? "granted" : "denied";
  },
};

/** A new block at the end of the turn. */
export function begin(turn: Turn, kind: Kind): Block {
  const block = new Block(turn.blocks.length, kind);
  turn.blocks.push(block);
  return block;
}

function must(fits: unknown, why: string): void {
  if (!fits) throw new OutOfOrder(why);
}

function running(block: Block): Block {
  must(block.status === "running", "a block has ended");
  return block;
}

function refile(turn: Turn, { kind, tail, into }: BlockReclassified, at: number | null, block: Block): void {
  if (tail == null) {
    block.kind = kind;
    return;
  }
  const points = [...block.text];
  must(into === turn.blocks.length && tail > 0 && tail <= points.length, "a block cannot be parted so");
  const moved = begin(turn, kind);
  moved.text = points.splice(-tail).join("");
  moved.parent = block.parent;
  moved.status = "done";
  moved.startedMs = moved.endedMs = at;
  block.text = points.join("");
}

function end(turn: Turn, at: number | null, outcome: Outcome): void {
  must(!open(turn)[0], "a block is still open");
  turn.endedMs = at;
  turn.outcome = outcome;
}

/** The blocks that have not ended. */
export function open(turn: Turn): Block[] {
  return turn.blocks.filter((block) => block.status === "running");
}

const ENDINGS: Partial<Record<Finish, Ending>> = { cancelled: "cancelled", refusal: "refused", length: "cut_off" };

/** A provider's "stop" ends an answer, a thought without one, and nothing at all: look at the blocks as well. */
function ending(turn: Turn, finish: Finish): Ending {
  const said = turn.top("text").some((block) => !block.blank);
  const waits = turn.top().some((block) => block.call && block.result === null);
  const thought = turn.top("reasoning").some((block) => block.seals[0] || !block.blank);
  if (ENDINGS[finish]) return ENDINGS[finish];
  if (waits && (finish === "tool_calls" || !said)) return "called_tools";
  return said ? "answered" : thought ? "reasoning_only" : "empty";
}

/** The events that bring a live turn to this end: what was still open was interrupted. */
export function stopped(turn: Turn, end: TurnEnded | TurnFailed): Event[] {
  if (turn.outcome) return [];
  return [...open(turn).map(({ number }) => ({ type: "block.ended", block: number, interrupted: true }) as const), end];
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
