// Generated from Python by `make core`; do not edit.
/**
 * Everything that can happen in a turn, as it stands in a log or on a stream.
 *
 * `type` names each event. A reader passes over a type it does not know, so that an older page survives a newer
 * server.
 */

export type Kind = "reasoning" | "text" | "tool_call" | "assistant_call";
export type Provenance = "unknown" | "raw" | "summary";
export type SealForm = "signature" | "redacted" | "encrypted" | "item" | "message";
export type Finish = "stop" | "length" | "tool_calls" | "refusal" | "cancelled" | "unknown";

/** Opaque data that goes back unread, byte for byte, and only to the dialect and model that issued it. */
export interface Seal {
  dialect: string;
  form: SealForm;
  payload: string;
  model?: string;
}

/**
 * Token counts with one meaning for all providers; null is unknown, never zero.
 *
 * `input` includes what was read from and written to a cache; `output` includes `reasoning`.
 */
export interface Usage {
  input?: number | null;
  output?: number | null;
  reasoning?: number | null;
  cache_read?: number | null;
  cache_write?: number | null;
}

/** The provider (or the agent) began to answer. */
export interface TurnStarted {
  type: "turn.started";
  dialect?: string;
  model?: string;
}

/** A thought, a text, a tool call or a call of an assistant began; `parent` is the call it belongs to. */
export interface BlockStarted {
  type: "block.started";
  block: number;
  kind: Kind;
  name?: string;
  call_id?: string;
  assistant_id?: string;
  parent?: number | null;
  provenance?: Provenance;
}

/** More text of a block: thought, answer, arguments of a tool, task of an assistant. */
export interface BlockGrew {
  type: "block.grew";
  block: number;
  text: string;
}

/** A block got opaque continuation data; this may come after the block ended. */
export interface BlockSealed {
  type: "block.sealed";
  block: number;
  seal: Seal;
}

/**
 * Text told under one kind turned out to be another.
 *
 * Without `tail` the whole block changes its kind. With `tail`, its last `tail` characters (Unicode code points)
 * leave it and become block `into`, which has not been seen before and has ended.
 */
export interface BlockReclassified {
  type: "block.reclassified";
  block: number;
  kind: Kind;
  tail?: number | null;
  into?: number | null;
}

/** A tool or an assistant came back, with a result or with an error. */
export interface ToolFinished {
  type: "tool.finished";
  block: number;
  result?: string;
  error?: string;
}

/** No more text will come; `interrupted` when the provider never said so itself. */
export interface BlockEnded {
  type: "block.ended";
  block: number;
  interrupted?: boolean;
}

/** One line on what the thinking accomplished, and who wrote it. */
export interface SummaryWritten {
  type: "summary.written";
  text: string;
  by?: "provider" | "extract" | "model";
}

/** Counts so far; a later report replaces what it names and leaves the rest. */
export interface UsageReported {
  type: "usage.reported";
  usage: Usage;
}

/** Something a person should know that changes nothing in the turn; `block` is what it is about. */
export interface NoticeGiven {
  type: "notice.given";
  code: string;
  text?: string;
  block?: number | null;
}

/** A call waits until a person lets it run. */
export interface ApprovalAsked {
  type: "approval.asked";
  block: number;
}

/** A person let a call run, or not; `by` is who. */
export interface ApprovalSettled {
  type: "approval.settled";
  block: number;
  granted: boolean;
  by?: string;
}

/**
 * One of several replies that make up a turn came to its end.
 *
 * It holds what a turn of one reply keeps of itself: whose it was, to what request (`prefix`), and what it took.
 * `parent` is the call of the assistant that replied; null is the turn itself.
 */
export interface ReplyEnded {
  type: "reply.ended";
  finish?: Finish;
  said?: string;
  message?: Seal | null;
  usage?: Usage;
  dialect?: string;
  model?: string;
  provider?: string;
  prefix?: string;
  parent?: number | null;
}

/** The turn came to its end: `said` is the provider's word for it, `message` its assistant message. */
export interface TurnEnded {
  type: "turn.ended";
  finish?: Finish;
  said?: string;
  message?: Seal | null;
}

/** The turn broke; everything told before stands. */
export interface TurnFailed {
  type: "turn.failed";
  code: string;
  message?: string;
}

export type Event =
  | TurnStarted
  | BlockStarted
  | BlockGrew
  | BlockSealed
  | BlockReclassified
  | ToolFinished
  | BlockEnded
  | SummaryWritten
  | UsageReported
  | NoticeGiven
  | ApprovalAsked
  | ApprovalSettled
  | ReplyEnded
  | TurnEnded
  | TurnFailed;

/**
 * An event with its place and time. The shell stamps it; the core never reads a clock.
 *
 * `at_ms` counts milliseconds from any fixed moment; null where nobody knows.
 */
export interface Entry {
  seq: number;
  event: Event;
  at_ms?: number | null;
}
