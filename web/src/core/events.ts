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

/**
 * An English text with `{name}` for each of its fields. A field may be a wording itself.
 *
 * `str()` gives the English text. As JSON it is `{"template": ..., "fields": {...}}`.
 */
export interface Wording {
  template: string;
  fields?: Record<string, string | Wording>;
}

/**
 * Opaque continuation data.
 *
 * It is sent back unread, byte for byte, and only to the dialect and model that issued it.
 */
export interface Seal {
  dialect: string;
  form: SealForm;
  payload: string;
  model?: string;
}

/**
 * Token counts with one meaning for all providers; null is unknown, never zero.
 *
 * `input` includes tokens read from and written to a cache; `output` includes `reasoning`.
 */
export interface Usage {
  input?: number | null;
  output?: number | null;
  reasoning?: number | null;
  cache_read?: number | null;
  cache_write?: number | null;
}

/** An image in a message or in a tool result, as base64. */
export interface Image {
  media_type: string;
  data: string;
}

/** The provider, or the agent, started to respond. */
export interface TurnStarted {
  type: "turn.started";
  dialect?: string;
  model?: string;
}

/**
 * A reasoning, text, tool call or assistant call block started; `parent` is the call it belongs to.
 *
 * `description` says in one line what the called tool does.
 */
export interface BlockStarted {
  type: "block.started";
  block: number;
  kind: Kind;
  name?: string;
  call_id?: string;
  assistant_id?: string;
  parent?: number | null;
  provenance?: Provenance;
  description?: string;
}

/** A block got more text: reasoning, answer, tool arguments or the task of an assistant. */
export interface BlockGrew {
  type: "block.grew";
  block: number;
  text: string;
}

/** A block got opaque continuation data; this may happen after the block ended. */
export interface BlockSealed {
  type: "block.sealed";
  block: number;
  seal: Seal;
}

/**
 * Text that was emitted as one kind turned out to be another.
 *
 * Without `tail` the whole block changes its kind. With `tail`, its last `tail` characters (Unicode code points)
 * move to a new block numbered `into`, which is already ended.
 */
export interface BlockReclassified {
  type: "block.reclassified";
  block: number;
  kind: Kind;
  tail?: number | null;
  into?: number | null;
}

/** A tool or an assistant returned a result or an error; `result` says where its images belong. */
export interface ToolFinished {
  type: "tool.finished";
  block: number;
  result?: string;
  error?: string;
  images?: Image[];
}

/** A block got its last text; `interrupted` if the provider did not end the block itself. */
export interface BlockEnded {
  type: "block.ended";
  block: number;
  interrupted?: boolean;
}

/** A one-line summary of the thinking was written; `by` is its author. */
export interface SummaryWritten {
  type: "summary.written";
  text: string;
  by?: "provider" | "extract" | "model";
}

/** The provider reported cumulative counts; a later report replaces only the counts it contains. */
export interface UsageReported {
  type: "usage.reported";
  usage: Usage;
}

/** The user should know something that does not change the turn; `block` is the block it is about. */
export interface NoticeGiven {
  type: "notice.given";
  code: string;
  text?: string;
  block?: number | null;
  wording?: Wording | null;
}

/** A call waits until a person approves it. */
export interface ApprovalAsked {
  type: "approval.asked";
  block: number;
}

/** A person approved or denied a call; `by` is the person. */
export interface ApprovalSettled {
  type: "approval.settled";
  block: number;
  granted: boolean;
  by?: string;
}

/**
 * One reply ended in a turn of several replies.
 *
 * It holds the data that a single-reply turn holds itself: the dialect, model and provider, the hash of the request
 * (`prefix`), and the usage. `said` is the provider's own stop reason. `parent` is the call of the assistant that
 * replied; null is the turn itself.
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

/** The turn ended: `said` is the provider's own stop reason, `message` its assistant message. */
export interface TurnEnded {
  type: "turn.ended";
  finish?: Finish;
  said?: string;
  message?: Seal | null;
}

/** The turn failed; all earlier events remain valid. `status` is the HTTP status of a refusal, else 0. */
export interface TurnFailed {
  type: "turn.failed";
  code: string;
  message?: string;
  status?: number;
  after_ms?: number | null;
  wording?: Wording | null;
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
 * An event with its sequence number and time. The caller stamps it; the core never reads a clock.
 *
 * `at_ms` counts milliseconds from any fixed moment; null is unknown.
 */
export interface Entry {
  seq: number;
  event: Event;
  at_ms?: number | null;
}
