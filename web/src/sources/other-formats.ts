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
    const { steps, step, id, delta, type } = (message ?? {}) as Partial<Message & { step: object }>;
    if (Array.isArray(steps) || step || (id && typeof delta === "string" && !type)) readRecord(message as StepRecord);
    else if (typeof type === "string") readMessage(message as Message);
    else
      throw new TypeError(
        `thinking-block cannot read ${JSON.stringify(message)}. Feed it entries, events, messages of the AI SDK or of AG-UI, thinking blocks or steps; a provider's own response is read by consume().`,
      );
  };
}
