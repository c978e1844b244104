/**
 * Drives one contender: lets a text grow, waits until each piece is drawn, counts frames.
 *
 * Nothing is timed here; the time of the main thread is read from outside, before and after.
 */

import { marks, trace } from "./trace.js";

/** Something that shows a growing text. */
export interface Contender {
  /** An empty block, open or closed, in place of what was there. */
  begin(open: boolean): void;
  grow(text: string): void;
  /** So many blocks that are finished and closed. */
  rest(texts: string[]): void;
  /** Where its nodes are. */
  root(): Node;
  /** The text of the thinking that is in the document. */
  shown(): string;
}

const DELTA = 24;
/** What a model says at a time, where pieces come by the clock. */
const TOKEN = 4;
const LONGEST = 1_200_000;
const FRAME_MS = 1000 / 60;
/** A piece that changes nothing on the screen is taken for drawn after so many frames. */
const PATIENCE = 6;

const text = trace(LONGEST);

const frame = (): Promise<number> => new Promise((resolve) => requestAnimationFrame(resolve));

/** A task of its own, as the next chunk from a network is. */
const task = (): Promise<void> =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => resolve();
    port2.postMessage(null);
  });

/** The end of the next frame, its layout included. */
async function frameOver(): Promise<void> {
  await frame();
  await task();
}

/** What is called from outside. */
export interface Stage {
  clear(): void;
  /** So much text at once, in the pieces that it was streamed in. */
  fill(size: number, open: boolean): Promise<void>;
  /** One piece after the other, each when the one before is drawn. */
  stream(count: number): Promise<void>;
  /** More pieces than frames, each in a task of its own. */
  burst(frames: number, each: number): Promise<void>;
  /** Pieces by the clock, as from a network: what is late comes together. How many of them came. */
  pace(perSecond: number, seconds: number): Promise<number>;
  /** The same, but all that came within `everyMs` comes at once, as behind a throttle. How often something came. */
  throttle(perSecond: number, seconds: number, everyMs: number): Promise<number>;
  /** The clock alone, with nothing said. */
  tick(perSecond: number, seconds: number): Promise<number>;
  /** The same, with every frame watched. */
  watch(perSecond: number, seconds: number): Promise<{ frames: number; dropped: number; longest: number }>;
  /** So many finished blocks of that size. */
  rest(count: number, size: number): Promise<void>;
  /** Empty if everything that was said is there in its order, and nothing of it where it is closed. */
  right(): Promise<string>;
}

export function stage(contender: Contender): Stage {
  let at = 0;
  let open = true;

  /** Where it is closed there is nothing to wait for: the next frame is when it would be drawn. */
  async function drawn(act: () => void): Promise<void> {
    let changed = !open;
    const watch = new MutationObserver(() => (changed = true));
    watch.observe(contender.root(), { subtree: true, childList: true, characterData: true });
    act();
    for (let waited = 0; !changed && waited < PATIENCE; waited++) await frame();
    watch.disconnect();
    await frameOver();
  }

  function more(size = DELTA): void {
    contender.grow(text.slice(at, at + size));
    at += size;
  }

  /** Do something by the clock, as often as a model says a token, until it is stopped. */
  function run(perSecond: number, act: () => void): () => void {
    let done = 0;
    const began = performance.now();
    const clock = setInterval(() => {
      for (; done * TOKEN < ((performance.now() - began) * perSecond) / 1000; done++) act();
    }, (TOKEN * 1000) / perSecond);
    return () => clearInterval(clock);
  }

  /** How often it was done in so many seconds. */
  async function paced(perSecond: number, seconds: number, act: () => void): Promise<number> {
    let count = 0;
    const stop = run(perSecond, () => {
      count++;
      act();
    });
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    stop();
    await frameOver();
    return count;
  }

  return {
    clear() {
      at = 0;
      contender.begin(true);
    },

    async fill(size, wanted) {
      open = wanted;
      at = 0;
      contender.begin(open);
      await frameOver();
      await drawn(() => {
        while (at < size) more();
      });
    },

    async stream(count) {
      for (let told = 0; told < count; told++) await drawn(() => more());
    },

    async burst(frames, each) {
      for (let shown = 0; shown < frames; shown++) {
        for (let told = 0; told < each; told++) {
          more();
          await task();
        }
        await frameOver();
        await frameOver();
      }
    },

    pace: (perSecond, seconds) => paced(perSecond, seconds, () => more(TOKEN)),

    async throttle(perSecond, seconds, everyMs) {
      let count = 0;
      const clock = setInterval(() => {
        count++;
        more(Math.round((perSecond * everyMs) / 1000));
      }, everyMs);
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
      clearInterval(clock);
      await frameOver();
      return count;
    },

    tick: (perSecond, seconds) => paced(perSecond, seconds, () => undefined),

    async watch(perSecond, seconds) {
      const began = performance.now();
      const stop = run(perSecond, () => more(TOKEN));
      const gaps: number[] = [];
      for (let last = await frame(), now = last; now - began < seconds * 1000; last = now) gaps.push((now = await frame()) - last);
      stop();
      const dropped = gaps.reduce((sum, gap) => sum + Math.max(0, Math.round(gap / FRAME_MS) - 1), 0);
      return { frames: gaps.length, dropped, longest: Math.max(...gaps) };
    },

    async rest(count, size) {
      contender.rest(Array.from({ length: count }, (_, number) => text.slice(number * 97, number * 97 + size)));
      await frameOver();
    },

    async right() {
      for (let waited = 0; waited < PATIENCE; waited++) await frame();
      const said = marks(text.slice(0, open ? at - DELTA : 0)).join();
      const shown = marks(contender.shown()).join();
      return shown.startsWith(said) && (open || !shown) ? "" : `said …${said.slice(-60)}, shown …${shown.slice(-60)}`;
    },
  };
}

declare global {
  interface Window {
    stage: Stage;
  }
}
