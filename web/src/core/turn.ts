/**
 * A turn as it stands after some entries: ordered blocks, usage, replies and how it ended.
 *
 * Only `reducer.ts` and the readers of records change these. Text is kept in the pieces it came in and only windows
 * of it are joined while it grows, so the hundred-thousandth delta costs what the first did.
 */

import type { Kind, NoticeGiven, Provenance, ReplyEnded, Seal, Usage, Wording } from "./events.js";
import { blankText } from "./spaces.js";

export type Status = "running" | "done" | "error" | "interrupted";
export type Approval = "" | "asked" | "granted" | "denied";
export type Ending =
  | "answered"
  | "reasoning_only"
  | "called_tools"
  | "empty"
  | "cut_off"
  | "refused"
  | "failed"
  | "cancelled";

/** How a turn ended and why: `cause` is one word to branch on, `message` is for people. */
export interface Outcome {
  ending: Ending;
  cause: string;
  message: string;
  wording?: Wording | null;
}

/** One of the replies that make up a turn. */
export interface Reply extends ReplyEnded {
  /** How many blocks the turn had when the reply ended. */
  until: number;
  /** The numbers of its calls that were left to whoever runs the turn. */
  calls: number[];
}

const REPLY_SEPARATOR = "\n\n";

/** One thought, text, tool call or assistant call, in the order it began. */
export class Block {
  name = "";
  callId = "";
  assistantId = "";
  parent: number | null = null;
  /** A page may say `generated` of a text that a model wrote about the thinking; no event does. */
  provenance: Provenance | "generated" = "unknown";
  status: Status = "running";
  seals: Seal[] = [];
  result: string | null = null;
  error = "";
  approval: Approval = "";
  /** What the called tool does, in one line. */
  description = "";
  startedMs: number | null = null;
  endedMs: number | null = null;
  pieces: string[] = [];
  /** Length of the text in UTF-16 units. */
  size = 0;
  /** Whether there is nothing in it that a person could read. */
  blank = true;
  /** Counts how often the text changed other than by growing at its end. */
  rewrites = 0;

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
    this.blank = blankText(text);
    this.rewrites++;
  }

  /** Whether it is a call of a tool or of an assistant. */
  get call(): boolean {
    return this.kind === "tool_call" || this.kind === "assistant_call";
  }

  /** Whether it is a call that was made and has not come back. */
  get awaitingResult(): boolean {
    return this.call && this.result === null && this.status === "done";
  }

  append(text: string): void {
    this.pieces.push(text);
    this.size += text.length;
    this.blank &&= blankText(text);
  }

  /** At least the first `size` units of the text, or all of it. */
  first(size: number): string {
    let text = "";
    for (const piece of this.pieces) {
      text += piece;
      if (text.length >= size) break;
    }
    return text;
  }

  /** At least the last `size` units of the text, or all of it. */
  last(size: number): string {
    let text = "";
    for (let index = this.pieces.length - 1; index >= 0 && text.length < size; index--)
      text = this.pieces[index] + text;
    return text;
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
  /** In the order they ended; none in a turn of a single reply, which is the turn itself. */
  replies: Reply[] = [];
  seq = -1;
  startedMs: number | null = null;
  endedMs: number | null = null;

  get live(): boolean {
    return !this.outcome;
  }

  /** How long all texts are together. */
  get size(): number {
    return this.blocks.reduce((sum, block) => sum + block.size, 0);
  }

  /** Every answer text of the turn itself, in order; a blank line separates one reply's from the next's. */
  get answer(): string {
    const ends = this.replies.filter(({ parent }) => parent == null).map(({ until }) => until);
    const texts: string[] = [];
    for (const { number, text } of this.ownBlocks("text")) {
      const reply = ends.filter((end) => end <= number).length;
      texts[reply] = (texts[reply] ?? "") + text;
    }
    return texts.filter(Boolean).join(REPLY_SEPARATOR);
  }

  /** Whether the turn itself said anything that can be read. */
  get hasAnswer(): boolean {
    return this.ownBlocks("text").some((block) => !block.blank);
  }

  /** The turn's own blocks, without those of its assistants; only of these kinds if any are named. */
  ownBlocks(...kinds: Kind[]): Block[] {
    return this.blocks.filter((block) => block.parent === null && (!kinds[0] || kinds.includes(block.kind)));
  }
}

/** Adds a new block at the end of the turn. */
export function startBlock(turn: Turn, kind: Kind): Block {
  const block = new Block(turn.blocks.length, kind);
  turn.blocks.push(block);
  return block;
}

/** The blocks that have not ended. */
export function runningBlocks(turn: Turn): Block[] {
  return turn.blocks.filter((block) => block.status === "running");
}
