/** A kept message told again as entries, so that a turn from the past and one that streams are drawn by the same code. */

import type { Entry, Event } from "../src/events.js";
import type { Message, Part } from "./api.js";

/** The entries that a kept answer amounts to; what its seals hold is not told to pages. */
export function entriesOf(message: Message): Entry[] {
  const entries: Entry[] = [];
  const tell = (event: Event, at: number | null = null): void => {
    entries.push({ seq: entries.length, event, at_ms: at });
  };
  tell({ type: "turn.started", model: message.model }, message.stamps.request_sent_ms ?? null);
  for (const part of message.parts) tellPart(part, tell);
  tell({ type: "usage.reported", usage: message.usage });
  if (message.summary) tell({ type: "summary.written", text: message.summary });
  for (const notice of message.notices) tell({ ...notice, type: "notice.given" });
  tell(ending(message), message.parts[message.parts.length - 1]?.ended_ms ?? null);
  return entries;
}

function tellPart(part: Part, tell: (event: Event, at?: number | null) => void): void {
  const { number: block, kind, name, call_id, assistant_id, parent, provenance } = part;
  tell({ type: "block.started", block, kind, name, call_id, assistant_id, parent, provenance }, part.started_ms);
  if (part.text) tell({ type: "block.grew", block, text: part.text });
  for (const form of part.sealed) tell({ type: "block.sealed", block, seal: { dialect: "", form, payload: "" } });
  tell({ type: "block.ended", block, interrupted: part.status === "interrupted" }, part.ended_ms);
  if (part.approval) tell({ type: "approval.asked", block });
  if (part.approval === "granted" || part.approval === "denied")
    tell({ type: "approval.settled", block, granted: part.approval === "granted" });
  if (part.result !== null || part.error)
    tell({ type: "tool.finished", block, result: part.result ?? "", error: part.error }, part.ended_ms);
}

function ending({ outcome, state }: Message): Event {
  const { ending: how, cause = "", message = "" } = outcome ?? {};
  if (!how) return { type: "turn.failed", code: state, message: "" };
  if (how === "failed" || (how === "cut_off" && cause === "cut_off")) return { type: "turn.failed", code: cause, message };
  const finishes = { cut_off: "length", refused: "refusal", cancelled: "cancelled", called_tools: "tool_calls" } as const;
  return { type: "turn.ended", finish: finishes[how as keyof typeof finishes] ?? "stop", said: cause };
}
