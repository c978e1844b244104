/**
 * Follows a turn's log until its end, over whatever happens on the way.
 *
 * A connection that breaks, or says nothing for longer than the gateway's signs of life allow, is opened
 * again after the last entry that came. Nothing is told twice, and nothing is left out.
 */

import { ApiError, type Entry, request, type State } from "./api.js";

/** Who is told of what comes in the stream. */
export interface TurnListener {
  entry(entry: Entry): void;
  /** The log is another one than before: everything is to be forgotten, all of it follows. */
  reset(): void;
  end(state: State): void;
  /** Whether the connection stands; `since` says how long it has not. */
  connected(stands: boolean): void;
  /** There is nothing to follow, and why. */
  lost(problem: ApiError): void;
  saved(saved: boolean): void;
}

/** The gateway gives a sign of life every 15 s; so much later the connection is taken for dead. */
const SILENT_MS = 40_000;
const FIRST_PAUSE_MS = 300;
const LONGEST_PAUSE_MS = 8_000;

/** Follow a turn after an entry; the function that comes back stops it. */
export function followTurn(turn: string, listener: TurnListener, after = -1): () => void {
  const stop = new AbortController();
  void new Follower(turn, listener, after, stop.signal).run();
  return () => stop.abort();
}

class Follower {
  private ended = false;
  private pause = FIRST_PAUSE_MS;

  constructor(
    private turn: string,
    private listener: TurnListener,
    private last: number,
    private stopped: AbortSignal,
  ) {}

  async run(): Promise<void> {
    while (!this.ended && !this.stopped.aborted) {
      try {
        await this.connect();
      } catch (error) {
        if (error instanceof ApiError && !error.temporary) {
          if (!this.stopped.aborted) this.listener.lost(error);
          return;
        }
      }
      if (this.ended || this.stopped.aborted) return;
      this.listener.connected(false);
      await pauseFor(this.pause, this.stopped);
      this.pause = Math.min(this.pause * 2, LONGEST_PAUSE_MS);
    }
  }

  private async connect(): Promise<void> {
    const dead = new AbortController();
    const signal = AbortSignal.any([this.stopped, dead.signal]);
    const path = `/api/turns/${this.turn}/events${this.last >= 0 ? `?after=${this.last}` : ""}`;
    let watch = setTimeout(() => dead.abort(), SILENT_MS);
    const cut = (): void => dead.abort(); // it may never be told that the other end is gone
    addEventListener("offline", cut);
    try {
      const response = await request(path, { signal });
      if (response.status === 204) return this.finish("done");
      this.listener.connected(true);
      const reader = (response.body as ReadableStream<Uint8Array<ArrayBuffer>>)
        .pipeThrough(new TextDecoderStream())
        .getReader();
      const parse = eventParser((name, data) => this.take(name, data));
      for (let step = await reader.read(); !step.done; step = await reader.read()) {
        clearTimeout(watch);
        watch = setTimeout(() => dead.abort(), SILENT_MS);
        this.pause = FIRST_PAUSE_MS;
        parse(step.value);
        if (this.ended) return void reader.cancel().catch(() => undefined);
      }
    } finally {
      clearTimeout(watch);
      removeEventListener("offline", cut);
    }
  }

  private take(name: string, data: string): void {
    if (this.stopped.aborted || this.ended) return;
    if (name === "message") {
      const entry = JSON.parse(data) as Entry;
      if (entry.seq <= this.last) return;
      this.last = entry.seq;
      this.listener.entry(entry);
    } else if (name === "reset") {
      this.last = -1;
      this.listener.reset();
    } else if (name === "storage") {
      this.listener.saved((JSON.parse(data) as { saved: boolean }).saved);
    } else if (name === "end") {
      this.finish((JSON.parse(data) as { state: State }).state);
    }
  }

  private finish(state: State): void {
    this.ended = true;
    this.listener.end(state);
  }
}

/** Parses server-sent events from text in any pieces; `emit` gets each event once it is complete. */
export function eventParser(emit: (name: string, data: string) => void): (text: string) => void {
  let rest = "";
  let name = "";
  let data: string[] = [];
  return (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() as string;
    for (const line of lines) {
      if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
      else if (line.startsWith("event:")) name = line.slice(6).trim();
      else if (line === "") {
        if (data[0] !== undefined) emit(name || "message", data.join("\n"));
        name = "";
        data = [];
      }
    }
  };
}

/** Wait; less long when the network comes back. */
function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    addEventListener("online", done);
    signal.addEventListener("abort", done);
  });
}
