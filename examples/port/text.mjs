// Words, durations and lines. Written from docs/port.md.

import { readFileSync } from "node:fs";

const WORDS = JSON.parse(readFileSync(new URL("words.json", import.meta.url)));
const MARKS = { "en-US": { decimal: ".", thousands: ",", ones: [1] }, "pt-BR": { decimal: ",", thousands: ".", ones: [0, 1] } };
const segmenter = new Intl.Segmenter("en");

export class Words {
  constructor(locale) {
    Object.assign(this, { words: WORDS[locale], marks: MARKS[locale] });
  }

  say(key, values = {}) {
    const [one, other = one] = this.words[key].split("|");
    const text = this.marks.ones.includes(values.n) ? one : other;
    return text.replace(/\{(\w+)\}/g, (_, name) => (name === "n" ? this.number(values.n) : values[name]));
  }

  number(n) {
    return String(n).replace(/\B(?=(\d{3})+$)/g, this.marks.thousands);
  }

  /** A count with its noun; empty for zero and for unknown. */
  count(key, n) {
    return n ? this.say(key, { n }) : "";
  }

  duration(ms) {
    if (ms < 1000) return `${ms} ms`;
    const tenths = Math.round(ms / 100);
    if (tenths < 600) return `${String(tenths / 10).replace(".", this.marks.decimal)}s`;
    const seconds = Math.round(ms / 1000);
    if (seconds < 3600) return twoUnits(seconds, "m", "s");
    return twoUnits(Math.round(ms / 60_000), "h", "m");
  }
}

function twoUnits(amount, large, small) {
  const rest = amount % 60;
  return `${Math.floor(amount / 60)}${large}${rest ? ` ${rest}${small}` : ""}`;
}

const characters = (text) => Array.from(segmenter.segment(text), ({ segment }) => segment);
const spaces = (text) => text.replace(/\s+/g, " ").trim();
const WIDE = /^(?:[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60]|\p{Emoji_Presentation}|[\s\S]\ufe0f|[\u{20000}-\u{3fffd}])/u;
const width = (character) => (WIDE.test(character) ? 2 : 1);

/** A text without what only markdown needs, in one line; again until nothing is left to take out. */
export function plainLine(text) {
  const line = spaces(
    text
      .replace(/[\x00-\x08\x0e-\x1b\x7f\u202a-\u202e\u2066-\u2069]/g, "")
      .replace(/^[ \t]*(?:```[\w+-]*|[-*_]{3,})[ \t]*$/gm, "")
      .replace(/^[ \t]*(?:(?:[-*+•>]|#{1,6})[ \t]+)+/gm, "")
      .replace(/`+|(?<![\w*])\*+(?=[^\s*])|(?<=[^\s*])\*+(?![\w*])/g, "")
      .replace(/!?\[([^[\]]*)\]\([^()]*\)/g, "$1"),
  );
  return line === text ? line : plainLine(line);
}

/** How many characters fit beside the ellipsis; all of them if they fit without one. */
function fitting(all, columns) {
  let used = 0;
  const ends = all.map((character) => (used += width(character)));
  return used <= columns ? all.length : ends.findIndex((end) => end > columns - 1);
}

export function firstColumns(line, columns) {
  const all = characters(line);
  const kept = fitting(all, columns);
  if (kept === all.length) return line;
  let text = all.slice(0, kept).join("");
  const space = text.lastIndexOf(" ");
  if (all[kept] !== " " && space * 2 >= text.length) text = text.slice(0, space);
  return `${text.replace(/[ .,;:*]+$/, "")}…`;
}

export function lastColumns(line, columns) {
  const all = characters(line);
  const kept = fitting([...all].reverse(), columns);
  if (kept === all.length) return line;
  let text = all.slice(-kept).join("");
  const start = text.indexOf(" ") + 1;
  if (all[all.length - kept - 1] !== " " && start * 2 <= text.length) text = text.slice(start);
  return `…${text.replace(/^[ ,;:*]+/, "")}`;
}

export function firstCharacters(text, limit) {
  const all = characters(text);
  return all.length <= limit ? text : `${all.slice(0, limit).join("")}…`;
}

export const preview = (text) => firstColumns(plainLine(text), 40);

const FEWEST_CHARACTERS = 10;
const OPEN_LINK = /(?<!\w)!?\[([^[\]]*)\]?(?:\([^()]*)?$/;
const OPEN_MARKS = /(?:^|(?<=[ \t]))[*_~#>`+-]+[ \t]*$/;

/** The newest line that can be read; one that has just begun is a fragment. */
export function newestLine(text) {
  const lines = text.split("\n").map(liveLine);
  const readable = lines.filter((line) => /[\p{L}\p{Nl}\p{No}]/u.test(line));
  const long = readable.findLast((line) => [...line].length >= FEWEST_CHARACTERS);
  const grows = readable.at(-1) === lines.at(-1) && !/[.!?…。！？]$/.test(lines.at(-1));
  const whole = grows ? readable.slice(0, -1) : readable;
  return lastColumns(long ?? whole.at(-1) ?? "", 80);
}

/** A line that may still grow as plain text, without the marks of tables and of what is not closed yet. */
function liveLine(text) {
  let line = text;
  if (/^[ \t]*\|/.test(line)) {
    const cells = line.split("|").map((cell) => cell.trim());
    line = cells.filter((cell) => cell && !/^:?-+:?$/.test(cell)).join(" · ");
  }
  return plainLine(line.replace(OPEN_LINK, "$1").replace(OPEN_MARKS, ""));
}

const CJK = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{3ffff}";
const WORD = new RegExp(`[${CJK}]|[\\p{L}\\p{N}_][^\\s${CJK}]*`, "gu");
export const countWords = (text) => text.match(WORD)?.length ?? 0;

/** What a call was given in one line, and all of it where that is more. */
export function callInput(text) {
  const fields = text.length > 4000 ? null : jsonFields(text);
  const line = firstColumns(spaces(fields?.join(", ") ?? text), 120);
  const whole = firstCharacters(fields?.join("\n") ?? text, 4000);
  return { text: line, input: line && whole !== line ? whole : "" };
}

/** The fields of a JSON object; null for any other text. Values that are no texts stay as they were written. */
function jsonFields(text) {
  try {
    if (!text.trim().startsWith("{")) return null;
    JSON.parse(text);
  } catch {
    return null; // not complete, or no JSON: it is shown as it is
  }
  const fields = [];
  const read = (value) => (value.startsWith('"') ? JSON.parse(value) : value);
  let depth = 0;
  let [name, value] = ["", ""];
  for (const token of text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^"{}[\],:]+/g)) {
    if (depth === 1 && token === ":") [name, value] = [value.trim(), ""];
    else if (depth === 1 && (token === "," || token === "}")) {
      if (value.trim()) fields.push(`${read(name)}: ${read(value.trim())}`);
      value = "";
    } else if (depth > 0) value += token;
    depth += { "{": 1, "[": 1, "}": -1, "]": -1 }[token] ?? 0;
  }
  return fields;
}

const FILLERS = /^(?:(?:okay|ok|hmm+|so|well|now|right|bem|bom|então)\b[\s,.:;!…–—-]+)+/i;
const INTENTION = /^(?:(?:now|so|then|agora|então),? )?(?:let me|let's|i'll|i will|i should|i need to|vou|vamos|preciso|devo)\b/i;
const TITLE = /^\s*(?:\*\*([^*\n]+)\*\*|#{1,6}[ \t]+([^\n]+?))[ \t]*(?:\n|$)/;

export function titleOf(text) {
  const found = TITLE.exec(text);
  return found ? plainLine(found[1] ?? found[2]) : "";
}

export function sentenceOf(text, first) {
  const lines = text.split("\n").map(plainLine);
  const parts = lines.flatMap((line) => line.split(/(?<=[.!?…])\s+(?=[\p{Lu}\d"'“(])|(?<=[。！？])/u));
  const sentences = parts.map((part) => withoutFiller(part).replace(/(?<!\.)\.$/, "")).filter(Boolean);
  const long = sentences.filter((sentence) => countWords(sentence) >= 3);
  if (first) return long[0] ?? sentences[0] ?? "";
  return long.findLast((sentence) => !INTENTION.test(sentence)) ?? long.at(-1) ?? sentences.at(-1) ?? "";
}

function withoutFiller(sentence) {
  const rest = sentence.replace(FILLERS, "");
  return rest === sentence ? sentence : rest.charAt(0).toUpperCase() + rest.slice(1);
}
