/**
 * Turns everything a block can be fed with into one turn: entries, events, other dialects, records, plain text.
 *
 * This is the only place below the element that reads a clock. An event without a stamp happens when it arrives.
 * Readers of other dialects and of records are loaded when the first such message arrives; what follows waits for
 * them, so that the order is kept.
 */

import type { Entry, Event, TurnEnded, TurnFailed } from "../core/events.js";
import { apply, eventsToEndTurn } from "../core/reducer.js";
import type { BlockStatus } from "../core/state.js";
import { type Block, runningBlocks, startBlock, Turn } from "../core/turn.js";
import type { OtherMessage } from "./other-formats.js";
import { fromEventSource, type Source, type Stream } from "./source.js";
import type { StreamOptions } from "./streams.js";

/** What a reader of another format needs from the feed. */
export interface FeedTarget {
  turn: Turn;
  changes: number;
  emit(event: Event, atMs?: number): void;
  /** The time that a block without a stamp begins or ends at: now. `atMs` is what a stamp says. */
  stampOf(atMs?: number): number;
  /** What the page says of the turn by the `status` attribute. */
  givenStatus: BlockStatus | "";
  /** Whether the turn is a message of the AI SDK. It does not say when it is over, but the page may. */
  readsMessage: boolean;
  applyStatus(status: BlockStatus | "", startedAt: number | null): void;
  startBlock(turn: Turn, kind: Block["kind"]): Block;
  setText(block: Block, text: string): void;
}

/** Without a message for so long, the reader is told that nothing came. */
const SILENT_MS = 20_000;

/** The types of canonical events; those of OpenAI Responses have a dot as well. */
const OWN_EVENT = /^(?:turn|block|summary|usage|notice|approval|reply|tool)\./;

/** How a turn ends where the `status` attribute says so. */
const END_EVENTS: Partial<Record<BlockStatus, TurnEnded | TurnFailed>> = {
  error: { type: "turn.failed", code: "" },
  aborted: { type: "turn.ended", finish: "cancelled" },
  truncated: { type: "turn.ended", finish: "length" },
  disconnected: { type: "turn.failed", code: "cut_off" },
};

export class TurnFeed implements FeedTarget {
  readonly turn = new Turn();
  readonly startBlock = startBlock;
  readonly setText = setText;
  /** The server's time in milliseconds; without it the time continues from the newest stamp. */
  clock: (() => number | null) | null = null;
  /** When something arrived last, by the page's own time. */
  lastMessageAt = 0;
  givenStatus: BlockStatus | "" = "";
  readsMessage = false;
  /** Counts what changed, without text that only became longer. */
  changes = 0;
  #readOther: ((message: OtherMessage) => void) | undefined;
  #waiting: unknown[] = [];
  #loading: Promise<void> | undefined;
  #manualBlock: Block | undefined;
  /**
   * How far the page's own time is ahead of the stamps, as little as any of them showed: the one that came soonest. What the
   * reader's clock says does not matter, for it may be wrong by hours.
   */
  #ahead: number | null = null;
  /** What was running when the connection was lost, and the last entry that arrived before. */
  #lost: { running: Block[]; seq: number } | null = null;

  /** Takes one entry, event, message of another dialect, or record; the promise is for what must be loaded first. */
  take(message: unknown): Promise<void> | undefined {
    const { seq, type, event } = (message ?? {}) as Partial<Entry & Event>;
    // A notice may say just this, that nothing comes.
    if ((event?.type ?? type) !== "notice.given") this.lastMessageAt = performance.now();
    if (this.#waiting[0]) {
      this.#waiting.push(message);
      return this.#loading;
    }
    if (seq != null) this.#takeEntry(message as Entry);
    else if (OWN_EVENT.test(type as string)) this.emit(message as Event);
    else if (this.#readOther) this.#readOther(message as OtherMessage);
    else {
      this.#loading = this.#loadOtherFormats(message);
      return this.#loading;
    }
    return undefined;
  }

  /**
   * Takes everything a stream brings; one that just stops has lost its connection. It rejects where the stream is
   * nothing that can be read.
   */
  async consume(source: Source, options: StreamOptions, afterEach: () => void): Promise<void> {
    const given = Object(source) as Source;
    const stream = "addEventListener" in given ? fromEventSource(given) : "body" in given ? given.body : source;
    const { consumeStream } = await import("./streams.js");
    await consumeStream(stream as Stream, this, options, afterEach);
  }

  /** Continues a turn that is over with another reply, as in a loop of tool calls. */
  startReply(): void {
    this.#lost = null;
    Object.assign(this.turn, { outcome: null, endedMs: null });
    this.changes++;
  }

  /** Without a connection nothing runs; with one again, everything continues where it broke off. */
  setConnected(connected: boolean): void {
    if (connected) this.#continue();
    else this.end(END_EVENTS.disconnected as TurnFailed);
  }

  /** Ends the turn as far as anybody here knows. */
  end(end: TurnEnded | TurnFailed): void {
    const { turn } = this;
    if (turn.live) this.#lost = { running: runningBlocks(turn), seq: turn.seq };
    for (const event of eventsToEndTurn(turn, end)) this.emit(event);
  }

  #continue(): void {
    const { turn } = this;
    if (!this.#lost) return;
    for (const block of this.#lost.running) Object.assign(block, { status: "running", endedMs: null });
    Object.assign(turn, { outcome: null, endedMs: null, seq: this.#lost.seq });
    this.#lost = null;
    this.changes++;
  }

  /** Takes an event without a stamp. */
  emit(event: Event, atMs = this.now() ?? Date.now()): void {
    if (this.turn.outcome) return;
    this.#keepStamp(atMs);
    this.#apply({ seq: this.turn.seq + 1, event, at_ms: atMs });
  }

  stampOf(atMs = this.now() ?? Date.now()): number {
    this.#keepStamp(atMs);
    return atMs;
  }

  /** Whether nothing came for long after something did. */
  get silent(): boolean {
    return this.lastMessageAt > 0 && performance.now() - this.lastMessageAt > SILENT_MS;
  }

  /** Whether the turn is one thought that is fed with plain text. */
  get fedByHand(): boolean {
    return !!this.#manualBlock;
  }

  /** Appends text to a block; the first that can be read changes more than its length. */
  append(block: Block, text: string): void {
    const { blank } = block;
    block.append(text);
    if (blank !== block.blank) this.changes++;
  }

  /** The one thought of a block that is fed with plain text, started now if it is not there. */
  manualBlock(startedAt: number | null): Block {
    this.lastMessageAt = performance.now();
    const first = !this.turn.blocks[0];
    this.#manualBlock ??= startBlock(this.turn, "reasoning");
    if (first) this.#manualBlock.startedMs = this.#startAt(startedAt);
    return this.#manualBlock;
  }

  /** Brings the turn to where a value of the `status` attribute says it is. */
  applyStatus(status: BlockStatus | "", startedAt: number | null): void {
    const { turn } = this;
    const over: TurnEnded | false = this.readsMessage && status === "done" && { type: "turn.ended", finish: "stop" };
    const end = over || END_EVENTS[status as BlockStatus];
    this.givenStatus = status;
    if (status === "pending") turn.startedMs ??= startedAt ? this.#startAt(startedAt) : this.stampOf();
    if (status === "redacted") this.manualBlock(startedAt).seals.push({ dialect: "", form: "redacted", payload: "" });
    if (end) for (const event of eventsToEndTurn(turn, end)) this.emit(event);
    // The thinking is over; of an answer nothing is known, so the turn continues.
    else if (status === "done" || status === "redacted")
      for (const { number } of runningBlocks(turn)) this.emit({ type: "block.ended", block: number });
  }

  now(): number | null {
    if (this.clock) return this.clock();
    // What is stamped with this is kept as a stamp: rounded up, every one would put the time forward.
    return this.#ahead === null ? null : Math.floor(performance.now() - this.#ahead);
  }

  async #loadOtherFormats(message: unknown): Promise<void> {
    this.#waiting.push(message);
    this.#readOther = (await import("./other-formats.js")).otherFormats(this);
    const errors: unknown[] = [];
    for (const waiting of this.#waiting.splice(0)) {
      try {
        void this.take(waiting);
      } catch (error) {
        errors.push(error); // what came after it is not lost
      }
    }
    if (errors[0]) throw errors[0];
  }

  /** Passes over what came before; what comes after a lost connection continues where it broke off. */
  #takeEntry({ seq, event, at_ms }: Entry): void {
    const { turn } = this;
    this.#continue();
    if (seq <= turn.seq) return;
    if (at_ms != null) this.#keepStamp(at_ms);
    this.#apply({ seq, event, at_ms });
  }

  #apply(entry: Entry): void {
    const { event } = entry;
    const block = event.type === "block.grew" ? this.turn.blocks[event.block] : undefined;
    const blank = block?.blank;
    apply(this.turn, entry);
    if (!block || blank !== block.blank) this.changes++;
  }

  #keepStamp(atMs: number): void {
    this.#ahead = Math.min(this.#ahead ?? Infinity, performance.now() - atMs);
  }

  /** When a page says that it began; only the reader's clock can say how long ago that is. */
  #startAt(startedAt: number | null): number {
    const now = Date.now();
    this.#keepStamp(Math.max(startedAt ?? 0, now));
    return startedAt ?? now;
  }
}

/** Makes a block say exactly this; where it only grew, nothing that is there is touched. */
export function setText(block: Block, text: string): void {
  if (text.startsWith(block.text)) block.append(text.slice(block.size));
  else block.text = text;
}
