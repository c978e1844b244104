/** The text that a page wrote inside the element: for readers without script, or by a framework as it grows. */

import { ownText } from "./attributes.js";

export class OwnText {
  #host: Element;
  #observer: MutationObserver;
  #take: (text: string) => void;

  /** `take` gets the text where there is any, and again whenever it may have changed. */
  constructor(host: Element, take: (text: string) => void) {
    this.#host = host;
    this.#take = take;
    this.#observer = new MutationObserver(() => this.#read());
  }

  observe(): void {
    this.#observer.observe(this.#host, { childList: true, characterData: true, subtree: true });
    this.#read();
  }

  disconnect(): void {
    this.#observer.disconnect();
  }

  #read(): void {
    const text = ownText(this.#host);
    if (text) this.#take(text);
  }
}
