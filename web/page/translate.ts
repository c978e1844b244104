/** What the gateway says, in Portuguese: its template is looked up, and its fields are filled in. */

import type { Wording } from "../src/core/events.js";
import portuguese from "./portuguese.json";

const TABLE = new Map(Object.entries(portuguese));

/** A text with its wording, which it lacks where it has no fields. */
export function translate(text: string, wording?: Wording | null): string {
  const { template, fields = {} } = wording ?? { template: text };
  return (TABLE.get(template) ?? template).replace(/\{(\w+)\}/g, (gap, name: string) => {
    const field = Object.hasOwn(fields, name) ? fields[name] : gap;
    return typeof field === "object" ? translate("", field) : (field ?? gap);
  });
}
