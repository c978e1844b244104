/** What is neither an entry nor an event: streams in the dialects of others, and records. A chunk of its own. */

import { dialects, type Message } from "./dialects.js";
import type { Core } from "./feed.js";
import { records, type StepRecord } from "./records.js";

export type Other = Message | StepRecord;

/** Reads either, for as long as a turn lasts. */
export function others(core: Core): (message: Other) => void {
  const record = records(core);
  const read = dialects(core);
  return (message) => {
    const said = (message ?? {}) as Partial<Message & { step: object }>;
    if (Array.isArray(said.steps) || said.step || (said.id && typeof said.delta === "string" && !said.type))
      record(message as StepRecord);
    else if (typeof said.type === "string") read(message as Message);
    else
      throw new TypeError(
        `thinking-block cannot read ${JSON.stringify(message)}. Feed it entries, events, messages of the AI SDK or of AG-UI, thinking blocks or steps.`,
      );
  };
}
