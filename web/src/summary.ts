/**
 * One line on what the thinking was about, without asking any model for it.
 *
 * The twin of the Python package's `view.summary`. In order: the line that an event brought; the bold or
 * heading line that opens the newest thought that has one; the first sentence that says something.
 */

import { firstColumns, head } from "./graphemes.js";
import { countWords, plainLine } from "./preview.js";
import type { Block, Turn } from "./transcript.js";

const SUMMARY_COLUMNS = 120;
/** How much of a thought is read in search of a title or a sentence. */
const READ_AHEAD = 2000;
const FEWEST_WORDS = 3;

const TITLE = /^\s*(?:\*\*([^*\n]+)\*\*|#{1,6}[ \t]+([^\n]+?))[ \t]*(?:\n|$)/;
const SENTENCE_END = /(?<=[.!?…])\s+(?=(?![a-zß-öø-ÿ])[\p{L}\p{Nl}\p{No}]|[\d"'“«([¿¡])|(?<=[。！？])/u;
const FILLER =
  /^(?:(?:okay|ok|alright|all right|hmm+|hm|um+|uh+|oh|ah|hum|tá(?: bom)?)(?![\p{L}\p{N}_])[\s,.:;!…–—-]*|(?:so|well|now|right|sure|wait|great|let(?: me|'?s) (?:think|see)(?: about (?:this|that|it))?|bem|bom|certo|então|agora|espera|vejamos|vamos (?:ver|pensar)|pois bem|(?:deixa eu|deixe-me|me deixa) (?:pensar|ver)(?: (?:nisso|sobre isso))?)(?:[,.:;!…–—]+\s*|\s*$))+/iu;

export type SummaryBy = "model" | "provider" | "extract" | "nobody";

/** The line and who wrote it; empty when there is nothing to read. `seen` are the thoughts on show. */
export function summaryLine(turn: Turn, seen: Block[]): [string, SummaryBy] {
  const told = shortLine(turn.summary);
  if (told) return [told, turn.summaryBy as SummaryBy];
  for (let at = seen.length; at--; ) {
    const title = shortLine(openingTitle((seen[at] as Block).first(READ_AHEAD + 1)));
    if (title) return [title, "provider"];
  }
  const sentence = shortLine(firstSentence(seen.find((block) => !block.blank)?.first(READ_AHEAD + 1) ?? ""));
  return [sentence, sentence ? "extract" : "nobody"];
}

function openingTitle(text: string): string {
  const found = TITLE.exec(head(text, READ_AHEAD));
  return found ? plainLine((found[1] ?? found[2]) as string) : "";
}

function firstSentence(text: string): string {
  const said = head(text, READ_AHEAD)
    .split("\n")
    .flatMap((line) => plainLine(line).split(SENTENCE_END))
    .map((sentence) => withoutFiller(sentence).replace(/(?<!\.)\.$/, ""))
    .filter(Boolean);
  return said.find((sentence) => countWords(sentence) >= FEWEST_WORDS) ?? said[0] ?? "";
}

function withoutFiller(sentence: string): string {
  const said = sentence.replace(FILLER, "");
  return said === sentence ? said : said.replace(/^./u, (first) => first.toUpperCase());
}

function shortLine(text: string): string {
  return firstColumns(plainLine(head(text, READ_AHEAD)), SUMMARY_COLUMNS);
}
