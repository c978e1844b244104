/**
 * What this browser keeps for the page, and what its windows tell each other. Where it keeps nothing, because its storage is
 * full or forbidden, the window does so until it is closed.
 */

type Area = "localStorage" | "sessionStorage";

const inMemory = new Map<string, string>();

export function readStored(key: string, area: Area = "localStorage"): string | null {
  try {
    return inMemory.get(key) ?? window[area].getItem(key);
  } catch {
    return null;
  }
}

/** Keeps a text; an empty one is removed. False where the window alone keeps it. */
export function writeStored(key: string, text: string, area: Area = "localStorage"): boolean {
  inMemory.delete(key);
  try {
    if (text) window[area].setItem(key, text);
    else window[area].removeItem(key);
    return true;
  } catch {
    if (text) inMemory.set(key, text);
    return !text;
  }
}

/** What one window tells the others: a session changed, or the preferences did. */
export interface TabMessage {
  session?: string;
  /** Whether the session is off the list while its deletion can be undone; else nothing is said of that. */
  hidden?: boolean;
  preferences?: boolean;
}

const channel = new BroadcastChannel("thinkaloud");

export function tellOtherTabs(message: TabMessage): void {
  channel.postMessage(message);
}

export function onTabMessage(listener: (message: TabMessage) => void): void {
  channel.addEventListener("message", ({ data }: MessageEvent<TabMessage>) => listener(data));
}
