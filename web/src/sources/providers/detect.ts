/** Tells the dialect of a response by the fields of a frame, as the Python package does (`core/dialects/registry.py`). */

import type { Frame } from "../frames.js";
import { type Fields, index, isObject, name, typeName } from "./fields.js";

export type Dialect = "anthropic_messages" | "openai_responses" | "gemini" | "openai_chat" | "ollama" | "text";

const ANTHROPIC_TYPES = [
  "message_start",
  "message_delta",
  "message_stop",
  "content_block_start",
  "content_block_delta",
  "message",
];
/** Names of server-sent events that say nothing about the dialect. */
const COMMON_EVENTS = ["message", "error"];

/** The dialect of an answer, or of a part of one; null if the frame does not show it. */
export function detectDialect({ value, event }: Frame): Dialect | null {
  if (!isObject(value)) return null;
  const type = typeName(value.type) || (COMMON_EVENTS.includes(event) ? "" : event);
  if (ANTHROPIC_TYPES.includes(type) || (Array.isArray(value.content) && value.stop_reason != null))
    return "anthropic_messages";
  if (
    value.object === "response" ||
    Array.isArray(value.output) ||
    type.startsWith("response.") ||
    (type === "error" && index(value.sequence_number) !== null)
  )
    return "openai_responses";
  if (value.choices == null && hasCandidates(value)) return "gemini";
  if (value.choices != null) return "openai_chat";
  if ((value.done ?? value.created_at) != null && (value.message ?? value.response) != null) return "ollama";
  return value.text != null && (value.token ?? value.generation_tokens) != null ? "text" : null;
}

/** The dialect of an error; those of different providers look more alike than their answers. */
export function detectError({ value }: Frame): Dialect | null {
  if (!isObject(value)) return null;
  const { error } = value;
  if (value.object != null && value.object !== "error") return null; // it names another format
  if (error == null) return value.object === "error" ? "openai_chat" : null;
  if (value.type === "error") return "anthropic_messages";
  return isObject(error) && name(error.status) ? "gemini" : "openai_chat";
}

function hasCandidates({ candidates, usageMetadata, promptFeedback, response }: Fields): boolean {
  return (candidates ?? usageMetadata ?? promptFeedback) != null || (isObject(response) && hasCandidates(response));
}
