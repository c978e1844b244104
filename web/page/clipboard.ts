/** Copying, also where the page is not served over an encrypted connection. */

import { ApiError } from "./api.js";
import { addDialogWords } from "./dialog-words.js";
import { h } from "./dom.js";
import { notify, showError } from "./toasts.js";
import { t } from "./words.js";

addDialogWords();

/** Copy a text, and say so. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify(t("copied"));
  } catch {
    const area = h("textarea", { class: "sr", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    if (copied) notify(t("copied"));
    else showError(new ApiError(0, "copy", t("copy.failed")));
  }
}
