/**
 * Cuts text into frames: the data of one server-sent event, one JSON line, one element of a JSON array, one JSON value, or a
 * run of plain text. The framing is told by the first characters, and the frames do not depend on how the text is chunked.
 *
 * It accepts what the Python package's `wire` accepts: a last event without its blank line, events without blank lines
 * between them, lines of JSON outside of any field, and NaN where JSON has no such number.
 */

/** One unit of a stream. `value` is its JSON; undefined where it is none. */
export interface Frame {
  data: string;
  event: string;
  value: unknown;
}

/** The event of a frame whose data is plain text. */
export const PLAIN_TEXT = "\nplain";

interface Framing {
  feed(text: string): Frame[];
  close(): Frame[];
  /** The start of a frame that the end cut off; known once it is closed. */
  unfinished: string;
}

const SSE_START = /^(?:(?:data|event|id|retry)?:|(?:data|event|id|retry)[\r\n])/;
const FIELD_NAMES = ["data", "event", "id", "retry"];
/** An escape in a JSON string: a surrogate pair, half of one, or any other. */
const JSON_ESCAPE = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|.)/gs;
const STRING_OR_NON_JSON_NUMBER = /"(?:[^"\\]|\\.)*"?|-?Infinity|NaN/gs;

/** The value of a JSON text; undefined where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const repaired = text.replace(STRING_OR_NON_JSON_NUMBER, (token) => (token[0] === '"' ? token : "null"));
    if (repaired === text) return undefined;
    try {
      return JSON.parse(repaired);
    } catch {
      return undefined;
    }
  }
}

export function makeFrame(data: string, event = ""): Frame {
  // Half of a surrogate pair is no character; every screen shows another sign for it.
  const json = data.includes("\\u") ? data.replace(JSON_ESCAPE, (token, half) => (half ? "\\ufffd" : token)) : data;
  return { data, event, value: parseJson(json) };
}

/** Cuts one stream into frames. */
export class FrameDecoder {
  #head = "";
  #framing: Framing | undefined;
  #frameCount = 0;

  feed(text: string): Frame[] {
    if (this.#framing) return this.#counted(this.#framing.feed(text));
    // White space keeps a connection open, for as long as a model thinks: before a body, and after an array's bracket.
    // A byte-order mark counts as white space here.
    this.#head = (this.#head + text).trimStart();
    if (this.#head[0] === "[") this.#head = `[${this.#head.slice(1).trimStart()}`;
    return this.#start(false);
  }

  close(): Frame[] {
    const frames = this.#framing ? [] : this.#start(true);
    return [...frames, ...this.#counted(this.#framing?.close() ?? [])];
  }

  get unfinished(): string {
    return this.#framing?.unfinished ?? "";
  }

  /** Whether all there was is one JSON value. */
  get wholeBody(): boolean {
    return this.#frameCount === 1 && (this.#framing instanceof JsonBody || this.#framing instanceof JsonLines);
  }

  #start(final: boolean): Frame[] {
    const head = this.#head;
    this.#framing = sniff(head, final);
    if (!this.#framing) return [];
    this.#head = "";
    return this.#counted(this.#framing.feed(head));
  }

  #counted(frames: Frame[]): Frame[] {
    this.#frameCount += frames.length;
    return frames;
  }
}

/** The framing of a text that starts like this; undefined while more than one fits, and for nothing at all. */
function sniff(body: string, final: boolean): Framing | undefined {
  if (!body) return undefined;
  if (body[0] === "{") {
    const end = body.indexOf("\n");
    if (end < 0) return final ? new JsonBody() : undefined;
    return parseJson(body.slice(0, end)) === undefined ? new JsonBody() : new JsonLines();
  }
  if (SSE_START.test(body)) return new ServerSentEvents();
  if (/^\[[{\]]/.test(body)) return new JsonArray();
  const undecided = FIELD_NAMES.some((field) => field.startsWith(body)) || body === "[";
  return undecided && !final ? undefined : new PlainText();
}

/** LF, CRLF and CR all end a line; a CR may end one chunk and its LF begin the next. */
class Lines {
  #rest: string[] = [];
  #afterCr = false;

  feed(chunk: string): string[] {
    let text = chunk;
    if (this.#afterCr && text) {
      this.#afterCr = false;
      if (text[0] === "\n") text = text.slice(1);
    }
    if (!/[\r\n]/.test(text)) {
      this.#rest.push(text);
      return [];
    }
    this.#afterCr = text.endsWith("\r");
    const lines = (this.take() + text).split(/\r\n|\r|\n/);
    this.#rest = [lines.pop() as string];
    return lines;
  }

  /** The unfinished line. */
  take(): string {
    const line = this.#rest.join("");
    this.#rest = [];
    return line;
  }
}

class ServerSentEvents implements Framing {
  unfinished = "";
  #lines = new Lines();
  #event = "";
  #data: string[] = [];

  feed(text: string): Frame[] {
    return this.#parse(this.#lines.feed(text));
  }

  /** The last event is complete without its blank line if its data is. */
  close(): Frame[] {
    const complete = [...this.#data];
    const event = this.#event;
    const last = this.#lines.take();
    const frames = last ? this.#parse([last]) : [];
    for (const lines of [this.#data, complete]) {
      const events = splitEvents(lines).filter(Boolean);
      if (!events.every(completeData)) continue;
      this.unfinished = lines === this.#data ? "" : (this.#data.at(-1) ?? "");
      return [...events.map((data) => makeFrame(data, event)), ...frames];
    }
    this.unfinished = this.#data.join("\n");
    return frames;
  }

  #parse(lines: string[]): Frame[] {
    const frames: Frame[] = [];
    for (const line of lines) {
      const [, field = "", value = ""] = /^(data|event)(?:: ?(.*))?$/s.exec(line) ?? [];
      if (!line) frames.push(...this.#dispatch());
      else if (field === "data") this.#data.push(value);
      else if (field === "event") this.#event = value;
      else frames.push(...strayObject(line));
    }
    return frames;
  }

  #dispatch(): Frame[] {
    const event = this.#event;
    const events = splitEvents(this.#data).filter(Boolean);
    this.#data = [];
    this.#event = "";
    return events.map((data) => makeFrame(data, event));
  }
}

/** A line of JSON outside of any field: proxies and servers report their failures so. */
function strayObject(line: string): Frame[] {
  const [, field = "", object = ""] = /^\s*(?:(\w+):\s*)?(\{.*)$/s.exec(line) ?? [];
  if (!object || field === "id" || field === "retry" || parseJson(object) === undefined) return [];
  return [makeFrame(object, field === "error" ? "error" : "")];
}

function completeData(data: string): boolean {
  return data === "[DONE]" || parseJson(data) !== undefined;
}

/** Joins the lines of an event, unless only each of them is JSON: then no blank line parted the events. */
function splitEvents(lines: string[]): string[] {
  const data = lines.join("\n");
  const filled = lines.filter(Boolean);
  if (!filled[1] || parseJson(data) !== undefined) return [data];
  return filled.every((line) => completeData(line) && (line[0] === "{" || line === "[DONE]")) ? filled : [data];
}

/** One value per line; the last line needs no line end if its value is complete. */
class JsonLines implements Framing {
  unfinished = "";
  #lines = new Lines();

  feed(text: string): Frame[] {
    return this.#lines
      .feed(text)
      .filter((line) => line.trim())
      .map((line) => makeFrame(line));
  }

  close(): Frame[] {
    const frame = makeFrame(this.#lines.take().trim());
    if (frame.value !== undefined) return [frame];
    this.unfinished = frame.data;
    return [];
  }
}

/** One value, complete at the end. */
class JsonBody implements Framing {
  unfinished = "";
  #pieces: string[] = [];

  feed(text: string): Frame[] {
    this.#pieces.push(text);
    return [];
  }

  close(): Frame[] {
    const frame = makeFrame(this.#pieces.join("").trim());
    if (frame.value !== undefined) return [frame];
    this.unfinished = frame.data;
    return [];
  }
}

/** The elements of an array, each when its last character arrives. */
class JsonArray implements Framing {
  unfinished = "";
  #depth = 0;
  #inString = false;
  #escaped = false;
  #element: string[] = [];

  feed(text: string): Frame[] {
    const frames: Frame[] = [];
    const token = /["{}[\]\\]/g;
    let start = 0;
    if (this.#escaped && text) {
      token.lastIndex = 1;
      this.#escaped = false;
    }
    for (let match = token.exec(text); match; match = token.exec(text)) {
      const [character] = match;
      if (character === "\\") {
        // The escaped character may be the first of the next chunk.
        this.#escaped = token.lastIndex === text.length;
        token.lastIndex++;
      } else if (character === '"') this.#inString = !this.#inString;
      else if (this.#inString) continue;
      else if (character === "{" || character === "[") {
        if (this.#depth === 1) start = match.index;
        this.#depth++;
      } else {
        this.#depth--;
        if (this.#depth !== 1) continue;
        frames.push(makeFrame(this.#element.join("") + text.slice(start, token.lastIndex)));
        this.#element = [];
      }
    }
    if (this.#depth > 1) this.#element.push(text.slice(start));
    return frames;
  }

  close(): Frame[] {
    this.unfinished = this.#element.join("");
    return [];
  }
}

class PlainText implements Framing {
  unfinished = "";

  feed(data: string): Frame[] {
    return data ? [{ data, event: PLAIN_TEXT, value: undefined }] : [];
  }

  close(): Frame[] {
    return [];
  }
}
