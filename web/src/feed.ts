/**
 * Everything a block can be fed with becomes one turn: entries, events, other dialects, records, plain text.
 *
 * This is the shell of the pure half: the only place of it that reads a clock. An event that nobody stamped
 * happens when it comes. Readers of other dialects and of records are loaded when the first of them comes;
 * what follows waits for them, so that the order of what was said is kept.
 */

import type { Entry, Event, TurnEnded, TurnFailed } from "./events.js";
import type { Other } from "./others.js";
import { listened, type Source } from "./sources.js";
import { apply, begin, type Block, open, stopped, Turn } from "./transcript.js";

/** The words of the `status` attribute. */
export type BlockStatus =
  | "pending"
  | "streaming"
  | "done"
  | "error"
  | "aborted"
  | "truncated"
  | "redacted"
  | "disconnected";

/** What a reader of something else needs from here. */
export interface Core {
  turn: Turn;
  changes: number;
  tell(event: Event, at?: number): void;
  begin(turn: Turn, kind: Block["kind"]): Block;
  setText(block: Block, text: string): void;
}

/** Stamps above this count from 1970, so the reader's own clock goes on from them. */
const EPOCH_MS = 1e11;

/** How a turn ends where a status word says so. */
const ENDS: Partial<Record<BlockStatus, TurnEnded | TurnFailed>> = {
  error: { type: "turn.failed", code: "" },
  aborted: { type: "turn.ended", finish: "cancelled" },
  truncated: { type: "turn.ended", finish: "length" },
  disconnected: { type: "turn.failed", code: "cut_off" },
};

export class Feed implements Core {
  readonly turn = new Turn();
  readonly begin = begin;
  readonly setText = setText;
  /** The server's time in milliseconds; without it the time goes on from the newest stamp. */
  clock: (() => number | null) | null = null;
  /** When something came last, by the page's own time. */
  heard = 0;
  /** Counts what changed, without text that only became longer. */
  changes = 0;
  #other: ((message: Other) => void) | undefined;
  #waiting: unknown[] = [];
  #loading: Promise<void> | undefined;
  #own: Block | undefined;
  #stamp: { at: number; seen: number; skew: number } | null = null;
  #lost: [running: Block[], seq: number] | null = null;

  /** Take one entry, event, message of another dialect, or record; the promise is for what must be loaded first. */
  take(message: unknown): Promise<void> | undefined {
    this.heard = performance.now();
    const said = message as Entry & Event & Other;
    if (this.#waiting[0]) {
      this.#waiting.push(message);
      return this.#loading;
    }
    if (said?.event) this.#entry(said);
    else if (said?.type?.includes?.(".")) this.tell(said);
    else if (this.#other) this.#other(said);
    else return (this.#loading = this.#load(message));
  }

  /** Take everything that a stream brings; one that just stops has lost its connection. */
  async consume(source: Source, signal: AbortSignal | undefined, drawn: () => void): Promise<void> {
    let end = ENDS.disconnected as TurnEnded | TurnFailed;
    const stream = "addEventListener" in source ? listened(source) : source;
    try {
      const { messages } = await import("./consume.js");
      for await (const message of messages(stream, signal)) {
        await this.take(message);
        drawn();
        // A source that connects again by itself must be told that this was all.
        if (this.turn.outcome) break;
      }
    } catch (error) {
      end = { type: "turn.failed", code: "cut_off", message: String(error) };
    }
    if (signal?.aborted) end = ENDS.aborted as TurnEnded;
    const { turn } = this;
    if (turn.live) this.#lost = [open(turn), turn.seq];
    for (const event of stopped(turn, end)) this.tell(event);
    drawn();
  }

  /** An event that nobody stamped. */
  tell(event: Event, at = this.now() ?? Date.now()): void {
    if (this.turn.outcome) return;
    this.#stamped(at);
    this.#apply({ seq: this.turn.seq + 1, event, at_ms: at });
  }

  /** More text of a block; the first that can be read changes more than its length. */
  grow(block: Block, text: string): void {
    const { blank } = block;
    block.grow(text);
    if (blank !== block.blank) this.changes++;
  }

  /** The one thought of a block that is fed with plain text, begun now if it is not there. */
  own(startedAt: number | null): Block {
    this.heard = performance.now();
    const began = !this.turn.blocks[0];
    this.#own ??= begin(this.turn, "reasoning");
    if (began) {
      this.#own.startedMs = startedAt ?? Date.now();
      this.#stamped(this.#own.startedMs);
    }
    return this.#own;
  }

  /** Bring the turn to where a status word says it is. */
  settle(status: BlockStatus, startedAt: number | null): void {
    const { turn } = this;
    const end = ENDS[status];
    if (status === "pending") turn.startedMs ??= startedAt ?? Date.now();
    if (status === "redacted") this.own(startedAt).seals.push({ dialect: "", form: "redacted", payload: "" });
    if (end) for (const event of stopped(turn, end)) this.tell(event);
    // The thinking is over; of an answer nothing is known, so the turn goes on.
    else if (/^(?:done|red)/.test(status)) for (const { number } of open(turn)) this.tell({ type: "block.ended", block: number });
  }

  now(): number | null {
    if (this.clock) return this.clock();
    if (!this.#stamp) return null;
    const { at, seen, skew } = this.#stamp;
    return at > EPOCH_MS ? Date.now() + skew : at + performance.now() - seen;
  }

  async #load(message: unknown): Promise<void> {
    this.#waiting.push(message);
    this.#other = (await import("./others.js")).others(this);
    const wrong: unknown[] = [];
    for (const waited of this.#waiting.splice(0))
      try {
        void this.take(waited);
      } catch (error) {
        wrong.push(error); // what came after it is not lost
      }
    if (wrong[0]) throw wrong[0];
  }

  /** What was told before is passed over; what comes after a lost connection goes on where it broke off. */
  #entry({ seq, event, at_ms }: Entry): void {
    const { turn } = this;
    if (this.#lost) {
      for (const block of this.#lost[0]) Object.assign(block, { status: "running", endedMs: null });
      turn.outcome = null;
      turn.seq = this.#lost[1];
      this.#lost = null;
    }
    if (seq <= turn.seq) return;
    if (at_ms != null) this.#stamped(at_ms);
    this.#apply({ seq, event, at_ms });
  }

  #apply(entry: Entry): void {
    const { event } = entry;
    const grown = event.type === "block.grew" ? this.turn.blocks[event.block] : undefined;
    const blank = grown?.blank;
    apply(this.turn, entry);
    if (!grown || blank !== grown.blank) this.changes++;
  }

  #stamped(at: number): void {
    this.#stamp = { at, seen: performance.now(), skew: Math.max(this.#stamp?.skew ?? 0, at - Date.now()) };
  }
}

/** Make a block say exactly this; where it only grew, nothing that is there is touched. */
export function setText(block: Block, text: string): void {
  if (text.startsWith(block.text)) block.grow(text.slice(block.size));
  else block.text = text;
}
