/**
 * Splits streamed text into reasoning and answer at markers such as `<think>`, as the Python package does
 * (`dialects/tags`). The profiles and the families of models are generated from there.
 *
 * The result does not depend on how the text is chunked. Text that may be the start of a marker is held back, and emitted
 * unchanged if it is no marker.
 */

import type { Kind } from "../../core/events.js";
import { blankText } from "../../core/spaces.js";
import { type Found, LEADING_SPACE, Markers } from "./markers.js";
import { FAMILIES, PROFILE_ROWS } from "./tag-profiles.js";

/** The markers of one way to write reasoning into text. */
export interface TagProfile {
  pairs: [open: string, close: string][];
  /** The chat template has the opening marker, so the text starts inside the reasoning. */
  starts_inside: boolean;
  /** Markers count in the middle of an answer too. */
  anywhere: boolean;
  nesting: "depth" | "first_close";
  /** A closing marker before any reasoning: plain text, or all text before it was reasoning. */
  lone_close: "literal" | "reclassify";
  /** Markers of tool calls, which end the reasoning and stay in the text. */
  end_markers: string[];
  /** Markers around the answer, which are removed. */
  dropped_markers: string[];
  /** If the text has only reasoning, that reasoning is the answer. */
  answer_from_thought: boolean;
  /** The text is in the Harmony format. */
  channels: boolean;
  /** The profile in which a closing marker that nothing opened ends a thought, where in this one it is plain text. */
  either?: string;
}

/** Text of a kind, the start of a call, or a change of what came before. */
export type Piece = { kind: Kind; text: string } | { call: string } | { reclassified: Kind; tail?: number };

export interface Splitter {
  feed(text: string): Piece[];
  close(): Piece[];
  /** Whether the text opened a thought and did not close it yet. */
  readonly inside: boolean;
  /** Whether text is held back that may be the start of a marker. */
  readonly undecided: boolean;
  /** Whether all further text is answer, whatever it contains. */
  readonly inert: boolean;
}

const DEFAULT_PROFILE: TagProfile = {
  pairs: [["<think>", "</think>"]],
  starts_inside: false,
  anywhere: false,
  nesting: "depth",
  lone_close: "literal",
  end_markers: [],
  dropped_markers: [],
  answer_from_thought: false,
  channels: false,
};

export function findProfile(profile: string): TagProfile {
  const row = Object.hasOwn(PROFILE_ROWS, profile) && PROFILE_ROWS[profile];
  if (!row)
    throw new RangeError(
      `Unknown tag profile "${profile}". Use one of: ${Object.keys(PROFILE_ROWS).sort().join(", ")}.`,
    );
  const either = `${profile}_either`;
  const literal = !row.starts_inside && row.lone_close !== "reclassify" && either in PROFILE_ROWS;
  return { ...DEFAULT_PROFILE, ...row, either: literal ? either : "" };
}

/** The profile for a model's text, from a server or `raw` from the model. */
export function profileForModel(model: string, raw: boolean): TagProfile {
  const normal = model
    .toLowerCase()
    .replace(/[\s_:/]+/g, "-")
    .replace(/(?<=\d)p(?=\d)/g, ".");
  const family = FAMILIES.find(([names]) => new RegExp(names).test(normal));
  return findProfile(family ? family[raw ? 2 : 1] : "think");
}

/** Whether a text starts with an opening marker of any profile, or may yet. */
export function opensThought(text: string): "yes" | "maybe" | "no" {
  const start = text.replace(LEADING_SPACE, "");
  const markers = ["<|channel|>", "<|start|>"];
  for (const profile of Object.keys(PROFILE_ROWS))
    for (const [open] of findProfile(profile).pairs) markers.push(open.split("*")[0] as string);
  if (markers.some((marker) => start.startsWith(marker))) return "yes";
  return markers.some((marker) => marker.startsWith(start)) ? "maybe" : "no";
}

export function makeSplitter(profile: TagProfile): Splitter {
  return profile.channels ? new HarmonySplitter() : new TagSplitter(profile);
}

/** Splits one text at the markers of a profile. */
class TagSplitter implements Splitter {
  #profile: TagProfile;
  #pending = "";
  #depth: number;
  #mentions = 0;
  #atStart: boolean;
  #seenThought: boolean;
  #endedEarly = false;
  #seenAnswer = false;
  #sinceInnerClose: number | null = null;
  #pieces: Piece[] = [];
  #kind: Kind = "text";
  #markers = new Markers({});

  constructor(profile: TagProfile) {
    this.#profile = profile;
    this.#depth = profile.starts_inside ? 1 : 0;
    this.#atStart = !!profile.pairs[0];
    this.#seenThought = profile.starts_inside;
    if (profile.starts_inside) this.#enterThought(profile.pairs);
    else this.#enterAnswer();
  }

  feed(text: string): Piece[] {
    this.#pieces = [];
    this.#read(this.#pending + text);
    return this.#pieces;
  }

  /** Returns the held back text and what the end of the text decides. */
  close(): Piece[] {
    this.#pieces = [];
    const pending = this.#pending;
    this.#pending = "";
    if (pending) {
      // A marker that is a prefix of a longer one counts now.
      const marker = this.#markers.find(pending, 0, true);
      if (marker) this.#handle(marker);
      this.#emit(pending.slice(marker?.end ?? 0));
    }
    if (this.#depth && this.#sinceInnerClose) this.#pieces.push({ reclassified: "text", tail: this.#sinceInnerClose });
    else if (this.#profile.answer_from_thought && !this.#seenAnswer) this.#pieces.push({ reclassified: "text" });
    return this.#pieces;
  }

  get inside(): boolean {
    return this.#depth > 0 && !this.#profile.starts_inside;
  }

  get undecided(): boolean {
    return !!this.#pending;
  }

  get inert(): boolean {
    const { answer_from_thought } = this.#profile;
    const waits = this.#atStart || this.#sinceInnerClose !== null || answer_from_thought || this.#pending;
    return !waits && this.#kind === "text" && this.#markers.none;
  }

  #read(text: string): void {
    let position = this.#atStart ? this.#skipOpening(text) : 0;
    this.#pending = this.#atStart ? text.slice(position) : "";
    if (this.#atStart) return;
    for (;;) {
      const marker = this.#markers.find(text, position);
      if (!marker || this.#markers.unfinishedAt(text, marker.start)) break;
      this.#emit(text.slice(position, marker.start));
      position = marker.end;
      this.#handle(marker);
    }
    const end = this.#markers.unfinishedStart(text, position);
    this.#emit(text.slice(position, end));
    this.#pending = text.slice(end);
  }

  /** Skips white space and an opening marker; it stays at the start while either may still follow. */
  #skipOpening(text: string): number {
    const position = LEADING_SPACE.exec(text)?.[0].length ?? 0;
    this.#emit(text.slice(0, position));
    const openings = new Markers({ open: this.#profile.pairs.map(([open]) => open) });
    if (position === text.length || openings.unfinishedAt(text, position)) return position;
    this.#atStart = false;
    const marker = openings.find(text, position, true);
    if (!marker) return position;
    // Where the template opened the thought already, the marker only says so again.
    if (!this.#profile.starts_inside) this.#handle(marker);
    return marker.end;
  }

  #handle({ role, text }: Found): void {
    if (role === "open" && !this.#depth) {
      this.#depth = 1;
      this.#seenThought = true;
      this.#enterThought(this.#pairsFor(text));
    } else if (role === "open") {
      this.#depth++;
      this.#emit(text);
    } else if (role === "close" && this.#depth) this.#closeThought(text);
    else if (role === "mention" || (role === "close" && this.#mentions)) {
      this.#mentions += role === "mention" ? 1 : -1;
      this.#emit(text);
    } else if (role === "close") {
      // No marker in the answer opened it: the text before it was reasoning.
      this.#pieces.push({ reclassified: "reasoning" });
      this.#endedEarly = false;
      this.#seenThought = true;
      this.#enterAnswer();
    } else if (role === "ends") {
      this.#depth = 0;
      this.#endedEarly = true;
      this.#enterAnswer();
      this.#emit(text);
    }
  }

  #closeThought(marker: string): void {
    this.#depth--;
    if (this.#depth) {
      this.#emit(marker);
      this.#sinceInnerClose = 0;
    } else {
      this.#sinceInnerClose = null;
      this.#enterAnswer();
    }
  }

  #emit(text: string): void {
    if (!text) return;
    if (this.#sinceInnerClose !== null) this.#sinceInnerClose += [...text].length;
    if (this.#kind === "text") this.#seenAnswer ||= !blankText(text);
    this.#pieces.push({ kind: this.#kind, text });
  }

  #pairsFor(marker: string): TagProfile["pairs"] {
    const { pairs } = this.#profile;
    const exact = pairs.filter(([open]) => open === marker);
    return exact[0] ? exact : pairs.filter(([open]) => open.includes("*"));
  }

  #enterThought(pairs: TagProfile["pairs"]): void {
    const { nesting, end_markers } = this.#profile;
    this.#kind = "reasoning";
    this.#markers = new Markers({
      open: nesting === "first_close" ? [] : pairs.map(([open]) => open),
      close: unique(pairs.map(([, close]) => close)),
      ends: end_markers,
    });
  }

  #enterAnswer(): void {
    const { pairs, anywhere, lone_close, dropped_markers } = this.#profile;
    const opens = unique(pairs.map(([open]) => open));
    const mayBeReasoning = lone_close === "reclassify" && !this.#seenThought;
    this.#kind = "text";
    this.#markers = new Markers({
      open: anywhere ? opens : [],
      mention: mayBeReasoning && !anywhere ? opens : [],
      close: this.#endedEarly || mayBeReasoning ? unique(pairs.map(([, close]) => close)) : [],
      drop: dropped_markers,
    });
  }
}

function unique(markers: string[]): string[] {
  return [...new Set(markers)];
}

const HEADER_STARTS = ["<|start|>", "<|channel|>", "<|message|>", "to="];
const LONGEST_HEADER_START = 11;
const LONGEST_HEADER = 512;

/**
 * Splits Harmony text: messages with a header that names their channel and recipient. The channel `analysis` and messages
 * to itself are reasoning, a message to a function is a tool call, and everything else is answer.
 */
class HarmonySplitter implements Splitter {
  readonly inert = false;
  #kind: Kind = "text";
  #betweenMessages = true;
  #header: string | null = null;
  #pending = "";
  #headerMarkers = new Markers({ message: ["<|message|>"] });
  #bodyMarkers = new Markers({
    end: ["<|end|>", "<|call|>", "<|return|>", "<|eom|>", "<|eot|>"],
    start: ["<|start|>", "<|channel|>"],
  });

  feed(text: string): Piece[] {
    const pieces: Piece[] = [];
    const whole = this.#pending + text;
    this.#pending = "";
    for (let position: number | null = 0; position !== null; ) {
      if (this.#betweenMessages && !this.#lookForHeader(whole, position)) {
        this.#pending = whole.slice(position);
        break;
      }
      position =
        this.#header === null ? this.#readBody(whole, position, pieces) : this.#readHeader(whole, position, pieces);
    }
    return pieces;
  }

  get inside(): boolean {
    return this.#kind === "reasoning";
  }

  get undecided(): boolean {
    return !!(this.#pending || this.#header);
  }

  /** An incomplete header is answer text. */
  close(): Piece[] {
    const text = (this.#header ?? "") + this.#pending;
    return text ? [{ kind: this.#kind, text }] : [];
  }

  /** Reads a message up to its end marker; returns the position after it, null at the end of the text. */
  #readBody(text: string, position: number, pieces: Piece[]): number | null {
    const marker = this.#bodyMarkers.find(text, position);
    const end = marker?.start ?? this.#bodyMarkers.unfinishedStart(text, position);
    if (end > position) pieces.push({ kind: this.#kind, text: text.slice(position, end) });
    this.#pending = marker ? "" : text.slice(end);
    if (!marker) return null;
    this.#kind = "text";
    this.#betweenMessages = marker.role === "end";
    this.#header = this.#betweenMessages ? null : marker.text;
    return marker.end;
  }

  /** Reads a header up to its message. A header over the maximum length is answer text after all. */
  #readHeader(text: string, position: number, pieces: Piece[]): number | null {
    const header = this.#header ?? "";
    const limit = position + LONGEST_HEADER + 1 - header.length;
    const marker = this.#headerMarkers.find(text.slice(0, limit + LONGEST_HEADER_START - 1), position);
    if (marker) {
      this.#startMessage(header + text.slice(position, marker.start), pieces);
      return marker.end;
    }
    const end = this.#headerMarkers.unfinishedStart(text, position);
    if (end >= limit) {
      this.#header = null;
      pieces.push({ kind: "text", text: header + text.slice(position, limit) });
      return limit;
    }
    this.#header = header + text.slice(position, end);
    this.#pending = text.slice(end);
    return null;
  }

  /** Decides whether a header or plain text follows a message; false while that is undecided. */
  #lookForHeader(text: string, position: number): boolean {
    const space = LEADING_SPACE.exec(text.slice(position, position + LONGEST_HEADER + 1))?.[0].length ?? 0;
    const start = text.slice(position + space, position + space + LONGEST_HEADER_START);
    const fits = space <= LONGEST_HEADER;
    if (fits && HEADER_STARTS.some((header) => header.startsWith(start) && header !== start)) return false;
    this.#betweenMessages = false;
    this.#header = fits && HEADER_STARTS.some((header) => start.startsWith(header)) ? "" : null;
    return true;
  }

  #startMessage(header: string, pieces: Piece[]): void {
    this.#header = null;
    const recipient = /to=(?:functions\.)?([^\s<]+)/.exec(header)?.[1];
    if (/<\|channel\|>\s*analysis|to=self\b/.test(header)) this.#kind = "reasoning";
    else if (recipient && recipient !== "user" && recipient !== "all") {
      this.#kind = "tool_call";
      pieces.push({ call: recipient });
    } else this.#kind = "text";
  }
}
