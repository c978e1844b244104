/**
 * Emits the events of one reply and keeps their order for all dialects: a block starts before it grows and ends before
 * the turn, and the turn ends once. A dialect names its blocks by any key: an index, an item id, a word.
 *
 * Text of one block that follows text of the same block becomes one event; `flush` sends what was kept back for that.
 */

import type { Event, Finish, Kind, Provenance, SealForm, Usage } from "../../core/events.js";

export type Key = string | number;

export class TurnEmitter {
  ended = false;
  /** Whether the response is one JSON value, to which nothing can be missing; known at its end. */
  wholeBody = false;
  /** The start of a frame that the end of the stream cut off. */
  unfinished = "";
  #started = false;
  #numbers = new Map<Key, number>();
  #open = new Map<Key, Kind>();
  #pendingKey: Key = "";
  #pendingText = "";
  #fault: [code: string, message: string] | undefined;
  #odd = new Map<string, number>();
  #target: (event: Event) => void;
  #nextNumber: number;

  /** `blockCount` is how many blocks the turn has already: this may not be its first reply. */
  constructor(
    target: (event: Event) => void,
    blockCount: number,
    public dialect = "",
    public model = "",
  ) {
    this.#target = target;
    this.#nextNumber = blockCount;
  }

  /** Whether this reply has any block. */
  get hasBlocks(): boolean {
    return this.#numbers.size > 0;
  }

  /** Starts the turn with the model's name; without a name, the first event starts it. */
  startTurn(model: string): void {
    if (!model || this.#started) return;
    this.model = model;
    this.#start();
  }

  hasOpen(key: Key): boolean {
    return this.#open.has(key);
  }

  openKind(key: Key): Kind | undefined {
    return this.#open.get(key);
  }

  /** Whether a block with this key was ever started. */
  hasBlock(key: Key): boolean {
    return this.#numbers.has(key);
  }

  /** Starts a block, unless one with this key is open. */
  startBlock(key: Key, kind: Kind, { provenance = "unknown", callName = "", callId = "" }: BlockDetails = {}): void {
    if (this.#open.has(key) || this.ended) return;
    const block = this.#nextNumber++;
    this.#emit({ type: "block.started", block, kind, name: callName, call_id: callId, provenance });
    this.#numbers.set(key, block);
    this.#open.set(key, kind);
  }

  /** Appends text to an open block. */
  append(key: Key, text: string): void {
    if (!text || !this.#open.has(key)) return;
    if (this.#pendingKey !== key) this.flush();
    this.#pendingKey = key;
    this.#pendingText += text;
  }

  /**
   * Appends text, and starts the block first if the provider did not. Text of another kind than the open block's
   * starts a block of its own, so that thought and answer are never mixed.
   */
  appendOrStart(key: Key, kind: Kind, text: string, provenance: Provenance = "unknown"): void {
    if (!text) return;
    if (this.#open.get(key) !== kind) {
      this.endBlock(key);
      this.startBlock(key, kind, { provenance });
    }
    this.append(key, text);
  }

  /** Says that the latest block with this key, ended or not, has opaque data. */
  seal(key: Key, form: SealForm, payload: string): void {
    const block = this.#numbers.get(key);
    if (block === undefined || !payload || this.ended) return;
    this.#emit({ type: "block.sealed", block, seal: { dialect: this.dialect, form, payload, model: this.model } });
  }

  /** The result of a tool that the provider ran itself. */
  finishTool(key: Key, result: string, error: string): void {
    const block = this.#numbers.get(key);
    if (block !== undefined && !this.ended) this.#emit({ type: "tool.finished", block, result, error });
  }

  /**
   * Ends a block and changes its kind, or that of its last `tail` characters. A block that changes as a whole can then be
   * sealed by its `newKey`.
   */
  reclassify(key: Key, kind: Kind, tail?: number, newKey?: Key): void {
    const block = this.#numbers.get(key);
    if (block === undefined || this.ended) return;
    if (tail === undefined) {
      this.#emit({ type: "block.reclassified", block, kind });
      if (newKey !== undefined) this.#numbers.set(newKey, block);
    } else this.#emit({ type: "block.reclassified", block, kind, tail, into: this.#nextNumber++ });
    this.endBlock(key);
  }

  endBlock(key: Key): void {
    if (!this.#open.delete(key)) return;
    this.#emit({ type: "block.ended", block: this.#numbers.get(key) as number });
  }

  endAllBlocks(exceptKey?: Key): void {
    for (const key of [...this.#open.keys()]) if (key !== exceptKey) this.endBlock(key);
  }

  /** Reports token counts; those that are null are unknown. */
  reportUsage(usage: Usage): void {
    const known = Object.fromEntries(Object.entries(usage).filter(([, count]) => count !== null));
    if (Object.keys(known)[0] && !this.ended) this.#emit({ type: "usage.reported", usage: known });
  }

  addNotice(code: string, text: string): void {
    if (!this.ended) this.#emit({ type: "notice.given", code, text });
  }

  /** Notes something that is no part of a response, to be told at the end. */
  addOdd(what: string, text: string): void {
    const message = `${what}: ${text.slice(0, 60)}`;
    this.#odd.set(message, (this.#odd.get(message) ?? 0) + 1);
  }

  /** Makes the turn end as failed, and keeps what still arrives until then; the first fault counts. */
  addFault(message: string): void {
    this.#fault ??= ["bad_frame", message];
  }

  finish(finish: Finish, said = ""): void {
    if (this.#fault) this.fail(...this.#fault);
    if (this.ended) return;
    this.endAllBlocks();
    if (this.unfinished) this.addOdd("The last frame is not complete", this.unfinished);
    this.#giveOddNotices();
    this.#emit({ type: "turn.ended", finish, said });
    this.ended = true;
  }

  /** Marks open blocks as interrupted and ends the turn as failed; a fault before is the reason. */
  fail(code: string, message: string): void {
    if (this.ended) return;
    const [faultCode, faultMessage] = this.#fault ?? [code, message];
    for (const key of this.#open.keys())
      this.#emit({ type: "block.ended", block: this.#numbers.get(key) as number, interrupted: true });
    this.#open.clear();
    this.#giveOddNotices();
    this.#emit({ type: "turn.failed", code: faultCode, message: faultMessage });
    this.ended = true;
  }

  /** Fails the turn because the stream ended before `expected`, the provider's end of a turn. */
  failCutOff(expected: string): void {
    this.fail("cut_off", `The ${this.dialect} response is incomplete: it stopped before ${expected}.`);
  }

  /** Sends the text that waits for more. */
  flush(): void {
    const text = this.#pendingText;
    if (!text) return;
    this.#pendingText = "";
    this.#target({ type: "block.grew", block: this.#numbers.get(this.#pendingKey) as number, text });
  }

  #giveOddNotices(): void {
    for (const [text, times] of this.#odd)
      this.#emit({ type: "notice.given", code: "odd_field", text: times > 1 ? `${text} (${times} times)` : text });
  }

  #start(): void {
    if (this.#started) return;
    this.#started = true;
    this.#target({ type: "turn.started", dialect: this.dialect, model: this.model });
  }

  #emit(event: Event): void {
    this.flush();
    this.#start();
    this.#target(event);
  }
}

/** What is known of a block when it starts. */
export interface BlockDetails {
  provenance?: Provenance;
  callName?: string;
  callId?: string;
}
