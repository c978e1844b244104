/** How a turn ended without a whole answer, as a card below what came of it, where the text breaks off. */

import { notice } from "../src/core/notices.js";
import { findLocale, Words } from "../src/core/words.js";
import { errorCard, needsOtherModel, type Remedy } from "./error-card.js";
import type { Exchange } from "./exchange.js";
import { currentLanguage, t } from "./words.js";

/** The sentence on how the turn ended; empty where it ended with an answer. */
export function outcomeText({ turn }: Exchange): string {
  const text = notice(turn, new Words(findLocale(currentLanguage())));
  return text || (turn.outcome?.ending === "failed" ? t("failed") : "");
}

/** The card that says it. */
export function outcomeCard(exchange: Exchange, text: string): HTMLElement {
  const { ending } = exchange.turn.outcome ?? {};
  const failed = ending === "failed" || exchange.state === "interrupted" || exchange.turn.outcome?.cause === "cut_off";
  return errorCard(text, remedies(exchange), !failed);
}

function remedies({ turn, thoughts, prompt, attached, host, state }: Exchange): Remedy[] {
  const { ending = "", cause = "" } = turn.outcome ?? {};
  const again = { name: t("retry"), act: () => host.askAgain(prompt, attached) };
  if (ending === "reasoning_only") {
    const draft = lastParagraph(thoughts.map(({ text }) => text));
    return [again, { name: t("as_draft"), act: () => host.draft(draft) }];
  }
  if (needsOtherModel(cause)) return [{ name: t("connect.choose"), act: () => host.pickAnswerer() }];
  // Where something of an answer is there the model can go on with it; a thought alone it does not get back.
  if (ending === "cut_off" || state === "interrupted")
    return [
      {
        name: t("resume"),
        act: () => (turn.answer ? host.askAgain(t("resume.prompt")) : host.askAgain(prompt, attached)),
      },
    ];
  return [again];
}

/** Where the thinking had got to: its last paragraph, or all of it where there is but one. */
function lastParagraph(thoughts: string[]): string {
  const paragraphs = thoughts.join("\n\n").split(/\n\s*\n/);
  return (
    paragraphs
      .map((one) => one.trim())
      .filter(Boolean)
      .pop() ?? ""
  );
}
