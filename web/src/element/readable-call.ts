/** What a call came back with, as a person reads it: fields by name, rows as a table, the rest as it is. */

import { jsonFields, parsedJson } from "../core/excerpts.js";
import { make, textNodes } from "./dom.js";

/** Longer texts are not taken apart: nobody reads them as fields. */
const LONGEST = 20_000;
const MOST_ROWS = 50;

type Fields = Record<string, unknown>;

/** The result of a call: a table of JSON rows, fields, JSON with line breaks, or the text itself. */
export function resultNodes(result: string, shortened: string): (ChildNode | string)[] {
  const value = result.length > LONGEST ? null : parsedJson(result);
  if (Array.isArray(value) && value[0] && value.length <= MOST_ROWS && value.every(flat)) return [table(value)];
  if (flat(value)) return textNodes((jsonFields(result) ?? []).join("\n") || result);
  if (value && typeof value === "object") return [make("pre", "code", JSON.stringify(value, null, 2))];
  return textNodes(shortened);
}

/** Whether a text has code between fences or a table in it; other marks may mean something else in what a tool returns. */
export function hasMarkup(text: string): boolean {
  return /^ *```|^ *\|(?: *:?-+:? *\|)+ *$/m.test(text);
}

function table(rows: Fields[]): HTMLElement {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cells = (tag: "th" | "td", values: string[]): HTMLElement =>
    make("tr", "", ...values.map((value) => make(tag, "", ...textNodes(value))));
  return make(
    "table",
    "",
    make("thead", "", cells("th", names)),
    make(
      "tbody",
      "",
      ...rows.map((row) =>
        cells(
          "td",
          names.map((name) => text(row[name] ?? "")),
        ),
      ),
    ),
  );
}

function fields(value: unknown): value is Fields {
  return !!value && typeof value === "object" && !Array.isArray(value);
}

/** An object without objects in it. */
function flat(value: unknown): value is Fields {
  return fields(value) && Object.values(value).every((field) => field === null || typeof field !== "object");
}

function text(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
