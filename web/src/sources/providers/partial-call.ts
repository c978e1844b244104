/**
 * Assembles the arguments of a Gemini call that is streamed as values at JSON paths (`partialArgs`). Every value has a path
 * such as `$.city` or `$.days[0].high`; a string may arrive in several pieces.
 */

import { type Fields, isObject, name } from "./fields.js";

const PATH_STEP = /\.([^.[\]]+)|\[(\d+)\]|\[(['"])(.*?)\3\]/g;
/** The most steps of a path: no tool has deeper arguments. */
const MAX_DEPTH = 64;

type Step = string | number;
type Container = Fields | unknown[];

export class PartialCall {
  #name: string;
  #id: string;
  #arguments: Fields;

  constructor(callName: string, id: string, passed: Fields) {
    this.#name = callName;
    this.#id = id;
    this.#arguments = { ...passed };
  }

  /** Whether a part with this name and id, which most parts leave out, continues the call. */
  continuedBy(callName: string, id: string): boolean {
    return (!callName || callName === this.#name) && (!id || id === this.#id);
  }

  /** Sets a value at its path, or appends to the string there; false if the path is too deep. */
  add({ jsonPath, stringValue, numberValue, boolValue }: Fields): boolean {
    const steps: Step[] = Array.from(name(jsonPath).matchAll(PATH_STEP), ([, plain, position, , quoted]) =>
      position === undefined ? ((plain ?? quoted) as string) : Number(position),
    );
    const last = steps.pop();
    if (steps.length >= MAX_DEPTH) return false;
    if (last === undefined) return true;
    let container: Container = this.#arguments;
    steps.forEach((step, position) => {
      container = child(container, step, typeof (steps[position + 1] ?? last) === "number" ? [] : {});
    });
    const value = stringValue ?? numberValue ?? boolValue ?? null;
    const current = get(container, last);
    const grows = typeof current === "string" && typeof value === "string";
    set(container, last, grows ? current + value : value);
    return true;
  }

  /** The arguments so far as JSON. */
  get arguments(): string {
    return JSON.stringify(this.#arguments);
  }
}

function get(container: Container, step: Step): unknown {
  if (Array.isArray(container)) return typeof step === "number" ? container[step] : undefined;
  return Object.hasOwn(container, step) ? container[step] : undefined;
}

/** Values arrive in order, so an index beyond the end of a list is the next one. */
function set(container: Container, step: Step, value: unknown): void {
  if (!Array.isArray(container))
    Object.defineProperty(container, step, { value, writable: true, enumerable: true, configurable: true });
  else if (typeof step === "number" && step < container.length) container[step] = value;
  else container.push(value);
}

/** The object or list at a step of a path; an empty one is added if there is none. */
function child(container: Container, step: Step, empty: Container): Container {
  const known = get(container, step);
  if (isObject(known) || Array.isArray(known)) return known;
  set(container, step, empty);
  return empty;
}
