/**
 * Errors of the gateway in the reader's language. The gateway writes them in English; each known sentence is found by
 * its fixed words, as on the command line (`surfaces/chat/error_words.py`). A provider's own words stay as they are.
 */

import { currentLanguage } from "./words.js";

export async function translateError(text: string): Promise<string> {
  if (!text || currentLanguage() !== "pt-BR") return text;
  // Where the gateway is gone, the table cannot be had: the sentence in English is better than none.
  const table = await import("./portuguese-errors.js").catch(() => null);
  return (table?.PORTUGUESE_ERRORS ?? []).reduce(
    (sentence, [english, portuguese]) =>
      sentence.replace(pattern(english), (_, ...gaps: string[]) => portuguese.replace(/{}/g, () => gaps.shift() ?? "")),
    text,
  );
}

function pattern(english: string): RegExp {
  const fixed = english.split("{}").map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(fixed.join("(.+?)") + (english.endsWith("{}") ? "$" : ""), "gs");
}
