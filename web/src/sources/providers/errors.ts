/**
 * What providers share in their errors. An error may be an object with a message and a code or a bare string, and it may
 * arrive in a stream that began well.
 */

import type { Frame } from "../frames.js";
import type { TurnEmitter } from "./emitter.js";
import { type Fields, isObject, name, object, text } from "./fields.js";

const KEEP_ALIVES = ["ping", "heartbeat", "keepalive", "keep-alive", "keep_alive"];

type CodeAndMessage = [code: string, message: string];

/** Whether an `error` field has an error: anything that is not empty, or a number as high as an HTTP status. */
export function hasError(error: unknown): boolean {
  if (typeof error === "number") return /^\d{3}$/.test(String(error));
  // `text` is empty for an empty object and an empty list; `true` and `false` say nothing.
  return typeof error !== "boolean" && text(error) !== "";
}

/** The code and the message of an error of any shape; without a message, its JSON. */
export function parseError(error: unknown): CodeAndMessage {
  if (!isObject(error)) return ["provider_error", text(error)];
  const metadata = object(error.metadata);
  const known = text(error.message);
  const cause = known && text(metadata.raw);
  const code = name(error.status) || (typeof error.code === "string" ? error.code : "") || name(error.type);
  let message = known || JSON.stringify(error);
  if (cause) message += `: ${cause}`;
  const from = text(metadata.provider_name);
  if (from) message = `${message.trim()} (from ${from})`;
  return [code || name(error.code) || "provider_error", message];
}

/** Whether a frame says nothing and only keeps the connection open. */
export function keepAlive({ event, data, value }: Frame): boolean {
  if (KEEP_ALIVES.includes(event)) return true;
  if (!event && (value === null || ["{}", "ping"].includes(data.trim()))) return true;
  return isObject(value) && data.length < 100 && KEEP_ALIVES.includes(name(value.type));
}

/** The code and message of a frame that calls itself an error. */
export function findError({ event, value }: Frame): CodeAndMessage | null {
  if (!isObject(value)) return event === "error" ? parseError(value) : null;
  if (hasError(value.error)) return parseError(value.error);
  const exception = Object.keys(value).find((field) => field.endsWith("Exception"));
  if (exception) return [exception, parseError(value[exception])[1]];
  return event === "error" || value.type === "error" ? parseError(value) : null;
}

/**
 * Fails the turn if the frame is an error; else it is told at the end, unless it only keeps the connection open.
 * `closeText` emits the text that was held back, before the turn fails.
 */
export function readUnknownFrame(emitter: TurnEmitter, frame: Frame, closeText: () => void): void {
  const error = findError(frame);
  if (error) {
    closeText();
    emitter.fail(...error);
  } else if (!keepAlive(frame)) emitter.addOdd(`A frame is no part of a response in ${emitter.dialect}`, frame.data);
}

/** The fields of a frame; a fault of the turn where it has none. */
export function fieldsOf(emitter: TurnEmitter, frame: Frame): Fields | null {
  if (isObject(frame.value)) return frame.value;
  if (!keepAlive(frame))
    emitter.addFault(`${emitter.dialect} sent a frame that cannot be decoded: ${frame.data.slice(0, 80)}`);
  return null;
}
