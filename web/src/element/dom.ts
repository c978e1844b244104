/** Makes nodes and puts text into them: nodes only, never HTML, and never an invisible change of direction. */

// Marks that change the direction of the text around them; a reader must see that they are there.
const BIDI = /([\u202a-\u202e\u2066-\u2069])/;

/** The text that each node shows. */
const texts = new WeakMap<Node, string>();

/** An element with its parts named, its class the same, and its children in it. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  part = "",
  ...children: (ChildNode | string)[]
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag);
  if (part) {
    mark(node, "part", part);
    node.className = part;
  }
  node.append(...children);
  return node;
}

/** A span with the direction of its own text. */
export function span(part: string): HTMLElement {
  const node = make("span", part);
  node.dir = "auto";
  return node;
}

/** A button and its action. Where the clipboard refuses, nothing was copied, and nothing breaks. */
export function button(part: string, act: () => unknown): HTMLButtonElement {
  const node = make("button", part);
  node.type = "button";
  node.onclick = async () => {
    try {
      await act();
    } catch {
      // The clipboard refused.
    }
  };
  return node;
}

/** A slot that a page may fill. */
export function slot(name: string): HTMLSlotElement {
  const node = make("slot");
  node.name = name;
  return node;
}

/** Shows this text and nothing else; does nothing when it is there already. */
export function put(node: Element, text: string): void {
  if (texts.get(node) === text) return;
  texts.set(node, text);
  node.replaceChildren(...textNodes(text));
  hide(node, !text);
}

export function hide(node: Element, hidden: boolean): void {
  mark(node, "hidden", hidden ? "" : null);
}

/** Sets an attribute or removes it, where that changes anything. */
export function mark(node: Element, name: string, value: string | null): void {
  if (node.getAttribute(name) === value) return;
  if (value === null) node.removeAttribute(name);
  else node.setAttribute(name, value);
}

/** A text as nodes, with every mark of direction made visible. */
export function textNodes(text: string): (ChildNode | string)[] {
  return text
    .split(BIDI)
    .filter(Boolean)
    .map((piece) => (BIDI.test(piece) ? make("span", "bidi", codePointOf(piece)) : piece));
}

function codePointOf(character: string): string {
  return `U+${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

/** Dispatches one of the element's events; false where the page cancelled it. */
export function fireEvent(element: HTMLElement, name: string, detail: unknown = null): boolean {
  const event = new CustomEvent(`thinking-${name}`, { detail, bubbles: true, composed: true, cancelable: true });
  return element.dispatchEvent(event);
}
