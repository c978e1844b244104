/** What is neither an entry nor an event: messages of other dialects, and records. A chunk of its own. */

import { dialectReader, type Message } from "./dialects.js";
import { recordReader, type StepRecord } from "./records.js";
import type { FeedTarget } from "./turn-feed.js";

export type OtherMessage = Message | StepRecord;

/** Reads either kind, for as long as a turn lasts. */
export function otherFormats(target: FeedTarget): (message: OtherMessage) => void {
  const readRecord = recordReader(target);
  const readMessage = dialectReader(target);
  return (message) => {
    const fields = (message ?? {}) as Partial<Message & { step: object }>;
    const { parts, steps, step, id, delta, type, content, reasoning_content, reasoning_meta } = fields;
    // Without thinking, an answer has these fields too, and they are null.
    const answerKeys = Array.isArray(content) && reasoning_content !== undefined && reasoning_meta !== undefined;
    const wholeTurn = !type && (answerKeys || (reasoning_content ?? reasoning_meta) != null);
    const uiMessage = Array.isArray(parts) && !type;
    const record = uiMessage || Array.isArray(steps) || step || wholeTurn || (id && typeof delta === "string" && !type);
    if (record) readRecord(message as StepRecord);
    else if (typeof type === "string") readMessage(message as Message);
    else
      throw new TypeError(
        `thinking-block cannot read ${JSON.stringify(message)}. Feed it entries, events, messages of the AI SDK or of AG-UI, turns of the gateway, thinking blocks or steps; a provider's own response is read by consume().`,
      );
  };
}
