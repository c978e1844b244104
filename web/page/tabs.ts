/** The other windows of this browser that show the page. */

/** What one window tells the others: a session changed, or the preferences did. */
export interface TabMessage {
  session?: string;
  preferences?: boolean;
}

const channel = new BroadcastChannel("thinkaloud");

export function tellOtherTabs(message: TabMessage): void {
  channel.postMessage(message);
}

export function onTabMessage(listener: (message: TabMessage) => void): void {
  channel.addEventListener("message", ({ data }: MessageEvent<TabMessage>) => listener(data));
}
