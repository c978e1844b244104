/**
 * What this browser keeps for the page. Where it keeps nothing, because its storage is full or forbidden, the
 * window does so until it is left.
 */

type Where = "localStorage" | "sessionStorage";

const held = new Map<string, string>();

export function kept(key: string, where: Where = "localStorage"): string | null {
  try {
    return held.get(key) ?? window[where].getItem(key);
  } catch {
    return null;
  }
}

/** Keep a text; an empty one is forgotten. */
export function keep(key: string, text: string, where: Where = "localStorage"): void {
  held.delete(key);
  try {
    if (text) window[where].setItem(key, text);
    else window[where].removeItem(key);
  } catch {
    if (text) held.set(key, text);
  }
}
