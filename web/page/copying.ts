/** Copying, also where the page is not served over an encrypted connection. */

import { Problem } from "./api.js";
import { h } from "./dom.js";
import { learnMore } from "./more-words.js";
import { complain, note } from "./saying.js";
import { t } from "./words.js";

learnMore();

/** Copy a text, and say so. */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    note(t("copied"));
  } catch {
    const area = h("textarea", { class: "sr", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    if (copied) note(t("copied"));
    else complain(new Problem(0, "copy", t("copy.failed")));
  }
}
