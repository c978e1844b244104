/** A turn as markdown, to be copied or saved. */

import type { PanelView } from "../core/thinking.js";
import type { Words } from "../core/words.js";

/** The answer; before it the thoughts, folded, where there are any. */
export function turnMarkdown(answer: string, thoughts: string, view: PanelView | null, words: Words): string {
  if (!thoughts) return answer;
  const title = [words.say("session.thinking"), view?.duration, view?.words_text].filter(Boolean).join(" · ");
  // The fence is longer than any in the thoughts, so that none of them ends it. Of runs of one sign, the longest sorts last.
  const fence = `${["``", ...(thoughts.match(/`+/g) ?? [])].sort().pop()}\``;
  return `<details><summary>${title}</summary>\n\n${fence}\n${thoughts}\n${fence}\n\n</details>\n\n${answer}`;
}
