/**
 * What can happen in a turn: the canonical events as they stand in a log or on a stream.
 *
 * The same closed set as the Python package's `canon.events`; `type` names each on the wire. A reader
 * passes over a type it does not know, so that an older page survives a newer server.
 */

export type Kind = "reasoning" | "text" | "tool_call" | "assistant_call";
export type Provenance = "unknown" | "raw" | "summary" | "generated";
export type SealForm = "signature" | "redacted" | "encrypted" | "item" | "message";
export type Finish = "stop" | "length" | "tool_calls" | "refusal" | "cancelled" | "unknown";

/** Opaque data of a provider. The page never looks inside; its form tells a person what it means. */
export interface Seal {
  dialect: string;
  form: SealForm;
  payload: string;
  model?: string;
}

/** Token counts; a missing one is unknown, never zero. */
export interface Usage {
  input?: number | null;
  output?: number | null;
  reasoning?: number | null;
  cache_read?: number | null;
  cache_write?: number | null;
}

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

export interface BlockReclassified {
  type: "block.reclassified";
  block: number;
  kind: Kind;
  /** How many code points leave the block; without it, all of the block changes its kind. */
  tail?: number | null;
  into?: number | null;
}

export interface TurnEnded {
  type: "turn.ended";
  finish?: Finish;
  said?: string;
  message?: Seal | null;
}

export interface TurnFailed {
  type: "turn.failed";
  code: string;
  message?: string;
}

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

export interface NoticeGiven {
  type: "notice.given";
  code: string;
  text?: string;
  block?: number | null;
}

export type Event =
  | { type: "turn.started"; dialect?: string; model?: string }
  | BlockStarted
  | { type: "block.grew"; block: number; text: string }
  | { type: "block.sealed"; block: number; seal: Seal }
  | BlockReclassified
  | { type: "tool.finished"; block: number; result?: string; error?: string }
  | { type: "block.ended"; block: number; interrupted?: boolean }
  | { type: "summary.written"; text: string; by?: "provider" | "extract" | "model" }
  | { type: "usage.reported"; usage: Usage }
  | NoticeGiven
  | { type: "approval.asked"; block: number }
  | { type: "approval.settled"; block: number; granted: boolean; by?: string }
  | ReplyEnded
  | TurnEnded
  | TurnFailed;

/** An event with its place and time; `at_ms` counts from any fixed moment, and is null where nobody knows. */
export interface Entry {
  seq: number;
  event: Event;
  at_ms?: number | null;
}
