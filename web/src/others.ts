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
    if ("type" in message && !Array.isArray(message.steps)) read(message);
    else record(message as StepRecord);
  };
}
