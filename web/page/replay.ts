/**
 * A finished turn played again by the stamps of its entries: play, pause, any moment, any speed.
 *
 * A longer pause counts for `MAX_GAP_MS`, as in the gateway's own replay.
 */

import { MAX_GAP_MS } from "../src/core/limits.js";
import { Answer } from "./answer.js";
import { type Entry, request } from "./api.js";
import { addDialogWords } from "./dialog-words.js";
import { button, h, icon, say } from "./dom.js";
import type { Exchange } from "./exchange.js";
import { notify } from "./toasts.js";
import { eventParser } from "./turn-stream.js";
import { currentLanguage, t } from "./words.js";

addDialogWords();

const SPEEDS = [0.5, 1, 2, 4, 8];

/** An entry with its time since the beginning of the replay. */
interface Frame {
  entry: Entry;
  at: number;
}

/** Plays the turn of an exchange in the place of its reply. */
export async function openReplay(exchange: Exchange): Promise<void> {
  const back = document.activeElement as HTMLElement | null;
  const frames = await loadFrames(exchange.id);
  const total = frames[frames.length - 1]?.at ?? 0;
  if (!total) return void notify(t("replay.none"));
  if (exchange.reply.isConnected) new Player(exchange, frames, total, back).open(); // else it plays already, or was left
}

async function loadFrames(turn: string): Promise<Frame[]> {
  const frames: Frame[] = [];
  let last: number | null = null;
  let at = 0;
  const parse = eventParser((name, data) => {
    if (name !== "message") return;
    const entry = JSON.parse(data) as Entry;
    if (entry.at_ms != null) {
      at += last === null ? 0 : Math.min(Math.max(entry.at_ms - last, 0), MAX_GAP_MS);
      last = entry.at_ms;
    }
    frames.push({ entry, at });
  });
  parse(await (await request(`/api/turns/${turn}/events`)).text());
  return frames;
}

class Player {
  private block;
  private answer = new Answer();
  private next = 0;
  private at = 0;
  private speed = 1;
  private playing = 0;
  private before = 0;
  private end: () => void = () => undefined;
  private slider: HTMLInputElement;
  private time = h("span", { class: "replay-time" });
  private toggle: HTMLButtonElement;

  constructor(
    private exchange: Exchange,
    private frames: Frame[],
    private total: number,
    private back: HTMLElement | null,
  ) {
    this.block = exchange.createBlock();
    this.block.clock = () => this.gatewayTime();
    this.slider = h("input", { type: "range", min: 0, max: total, step: 50, "aria-label": t("replay.place") });
    this.toggle = button(t("replay.pause"), "pause", () => this.run(!this.playing), {
      bare: true,
      class: "primary round",
    });
    const speed = h(
      "select",
      { class: "chip", "aria-label": t("replay.speed") },
      ...SPEEDS.map((one) => h("option", { value: one, selected: one === 1 }, `${one}×`)),
    );
    speed.addEventListener("change", () => (this.speed = Number(speed.value)));
    this.slider.addEventListener("input", () => {
      this.run(false);
      this.seek(Number(this.slider.value));
    });
    const close = button(t("replay.close"), "close", () => this.close(), { bare: true, class: "quiet" });
    const deck = h(
      "div",
      { class: "replay", role: "group", "aria-label": t("replay.label") },
      this.toggle,
      this.slider,
      this.time,
      speed,
      close,
    );
    this.end = exchange.replaceReply(deck, this.block, this.answer.node);
  }

  open(): void {
    this.exchange.host.stopFollowing();
    this.seek(0);
    this.run(true);
    this.toggle.focus();
  }

  private close(): void {
    this.run(false);
    this.end();
    this.back?.focus();
  }

  private run(on: boolean): void {
    cancelAnimationFrame(this.playing);
    this.playing = 0;
    this.toggle.replaceChildren(icon(on ? "pause" : "play"));
    this.toggle.title = t(on ? "replay.pause" : "replay.play");
    this.toggle.ariaLabel = this.toggle.title;
    if (!on) return;
    if (this.at >= this.total) this.seek(0);
    this.before = performance.now();
    this.playing = requestAnimationFrame((now) => this.tick(now));
  }

  private tick(now: number): void {
    this.seek(Math.min(this.total, this.at + (now - this.before) * this.speed));
    this.before = now;
    if (this.at >= this.total || !this.toggle.isConnected) this.run(false);
    else this.playing = requestAnimationFrame((later) => this.tick(later));
  }

  /** Shows the turn as it was at this time of the replay. */
  private seek(at: number): void {
    if (at < this.at) {
      this.block.reset();
      this.next = 0;
    }
    this.at = at;
    for (let frame = this.frames[this.next]; frame && frame.at <= at; frame = this.frames[++this.next])
      this.block.feed(frame.entry);
    const { turn } = this.block;
    this.answer.set(turn.answer, turn.live);
    this.slider.value = String(at);
    this.slider.ariaValueText = `${formatClock(at)} / ${formatClock(this.total)}`;
    say(this.time, `${formatClock(at)} / ${formatClock(this.total)}`);
  }

  /** The gateway's clock at this time of the replay. */
  private gatewayTime(): number | null {
    const last = this.frames[this.next - 1];
    return last?.entry.at_ms == null ? null : last.entry.at_ms + Math.max(0, this.at - last.at);
  }
}

/** Minutes and seconds of a replay: 0:04.2. */
function formatClock(ms: number): string {
  const tenths = Math.floor(ms / 100);
  const seconds = ((tenths % 600) / 10).toLocaleString(currentLanguage(), {
    minimumFractionDigits: 1,
    minimumIntegerDigits: 2,
  });
  return `${Math.floor(tenths / 600)}:${seconds}`;
}
