/**
 * Everything a block can be fed with becomes one turn: entries, events, other dialects, records, plain text.
 *
 * This is the shell of the pure half: the only place of it that reads a clock. An event that nobody stamped
 * happens when it comes.
 */

import { messages, type Source } from "./consume.js";
import { type Message, Reader } from "./dialects.js";
import type { Entry, Event, TurnEnded, TurnFailed } from "./events.js";
import { type BlockStatus, Records, settled, type ThinkingBlock } from "./records.js";
import { apply, type Block, stopped, Turn } from "./transcript.js";

/** Stamps above this count from 1970, so the reader's own clock goes on from them. */
const EPOCH_MS = 1e11;

/** The step of a block that is fed with plain text. */
const OWN = "";

export class Feed {
  readonly turn = new Turn();
  readonly records = new Records(this.turn);
  /** The server's time in milliseconds; without it the time goes on from the newest stamp. */
  clock: (() => number | null) | null = null;
  /** When something came last, by the page's own time. */
  heard = 0;
  #reader = new Reader(this.turn, (event, at) => this.tell(event, at));
  #stamp: { at: number; seen: number; skew: number } | null = null;
  #lost: number[] = [];

  /** Take one entry, event, message of another dialect, or thinking block. */
  take(message: unknown): void {
    const said = message as Entry & Message & ThinkingBlock;
    if (Array.isArray(said.steps)) this.records.take(said);
    else if (said.event) this.#entry(said);
    else if (said.type.includes(".")) this.tell(said as unknown as Event);
    else this.#reader.read(said);
    this.heard = performance.now();
  }

  /** Take everything that a stream brings; one that just stops has lost its connection. */
  async consume(source: Source, signal: AbortSignal | undefined, drawn: () => void): Promise<void> {
    let end: TurnEnded | TurnFailed = { type: "turn.failed", code: "cut_off" };
    try {
      for await (const message of messages(source, signal)) {
        this.take(message);
        drawn();
      }
    } catch (error) {
      end = { ...end, message: String(error) };
    }
    if (signal?.aborted) end = { type: "turn.ended", finish: "cancelled" };
    this.#lost = this.turn.blocks.filter((block) => block.status === "running").map((block) => block.number);
    for (const event of stopped(this.turn, end)) this.tell(event);
    drawn();
  }

  /** An event that nobody stamped. */
  tell(event: Event, at = this.now() ?? Date.now()): void {
    if (this.turn.outcome) return;
    this.#stamped(at);
    apply(this.turn, { seq: this.turn.seq + 1, event, at_ms: at });
  }

  /** The one thought of a block that is fed with plain text, begun now if it is not there. */
  own(startedAt: number | null): Block {
    const began = !this.turn.blocks[0];
    const block = this.records.block(OWN, "reasoning", null);
    if (began) {
      block.startedMs = startedAt ?? Date.now();
      this.#stamped(Date.now());
    }
    this.heard = performance.now();
    return block;
  }

  /** Bring the turn to where a status word says it is. */
  settle(status: BlockStatus, startedAt: number | null): void {
    if (status === "pending") this.turn.startedMs ??= startedAt ?? Date.now();
    if (status === "redacted") this.own(startedAt).seals.push({ dialect: "", form: "redacted", payload: "" });
    for (const event of settled(this.turn, status)) this.tell(event);
  }

  now(): number | null {
    if (this.clock) return this.clock();
    if (!this.#stamp) return null;
    const { at, seen, skew } = this.#stamp;
    return at > EPOCH_MS ? Date.now() + skew : at + performance.now() - seen;
  }

  /** What was told before is passed over; what comes after a lost connection goes on where it broke off. */
  #entry({ seq, event, at_ms }: Entry): void {
    const { turn } = this;
    if (this.#lost.length) {
      for (const number of this.#lost.splice(0)) Object.assign(turn.blocks[number] ?? {}, { status: "running", endedMs: null });
      turn.outcome = null;
      turn.seq = seq - 1;
    }
    if (seq <= turn.seq) return;
    if (at_ms != null) this.#stamped(at_ms);
    apply(turn, { seq, event, at_ms });
  }

  #stamped(at: number): void {
    this.#stamp = { at, seen: performance.now(), skew: Math.max(this.#stamp?.skew ?? 0, at - Date.now()) };
  }
}
