/**
 * Fields of a provider's JSON, whatever type a server gave them.
 *
 * A value of the wrong type is converted where its meaning is clear, as the Python package does (`core/dialects/lenient.py`), and
 * left out otherwise.
 */

export type Fields = Record<string, unknown>;

/** An object; of anything else nothing is known. */
export function object(value: unknown): Fields {
  return isObject(value) ? value : {};
}

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An object with a text, in whose place some servers send the text alone. */
export function textObject(value: unknown): Fields {
  return typeof value === "string" ? { text: value } : object(value);
}

/** A name, an id or a reason. */
export function name(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

/** The name of a type; empty where the field holds something else, which other fields then tell. */
export function typeName(value: unknown): string {
  return typeof value === "string" && /^\p{L}/u.test(value) ? value : "";
}

/** Text of the model; anything else in its place is its JSON, so that no word is lost. */
export function text(value: unknown): string {
  if (typeof value === "string") return value;
  const json = value == null ? "" : JSON.stringify(value);
  return json === "{}" || json === "[]" ? "" : json;
}

/** The text in a value: a list is the texts of its items, an object the text in it or else its JSON. */
export function looseText(value: unknown): string {
  if (Array.isArray(value))
    return value.map((item) => (isObject(item) && textIn(item) == null ? "" : looseText(item))).join("");
  if (!isObject(value)) return text(value);
  const inner = textIn(value);
  return inner == null ? text(value) : looseText(inner);
}

/** A string as it is, any other value as JSON. */
export function stringOrJson(value: unknown): string {
  return typeof value === "string" ? value : json(value);
}

/** The JSON of a value; empty where it is missing. */
export function json(value: unknown): string {
  return value == null ? "" : JSON.stringify(value);
}

/** An index; what is no whole number says nothing. */
export function index(value: unknown): number | null {
  return Number.isInteger(value) ? (value as number) : null;
}

/** A number of tokens, which some servers send as a text. */
export function count(value: unknown): number | null {
  const number = typeof value === "string" && value.trim() ? Number(value) : value;
  return Number.isInteger(number) ? (number as number) : null;
}

export function flag(value: unknown): boolean {
  return /^(?:true|1|yes)$/i.test(String(value));
}

/** A list; a single value in its place is a list of it. */
export function list(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.filter((item) => item !== null);
  return isObject(value) || typeof value === "string" ? [value] : [];
}

/** The sum of counts; unknown if the first is, while missing others count as nothing. */
export function addCounts(first: number | null, ...others: (number | null)[]): number | null {
  return first === null ? null : others.reduce<number>((sum, other) => sum + (other ?? 0), first);
}

function textIn(value: Fields): unknown {
  return value.text ?? value.value;
}
