/** Making nodes and putting text into them: nodes only, never HTML, and never an unseen change of direction. */

// Marks that change the direction of the text around them; a reader must see that they are there.
const BIDI = /[\u202a-\u202e\u2066-\u2069]/;

const said = new WeakMap<Node, string>();

/** An element with its parts named, its class the same, and its children in it. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  part = "",
  ...children: (ChildNode | string)[]
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag);
  if (part) {
    node.setAttribute("part", part);
    node.className = part;
  }
  node.append(...children);
  return node;
}

/** Show this text and nothing else; does nothing when it is there already. */
export function put(node: HTMLElement, text: string): void {
  if (said.get(node) === text) return;
  said.set(node, text);
  node.replaceChildren(...textNodes(text));
  node.hidden = !text;
}

/** Set an attribute or take it away, where that changes anything. */
export function mark(node: Element, name: string, value: string | boolean | null): void {
  const text = value === true ? "" : value === false ? null : value;
  if (node.getAttribute(name) === text) return;
  if (text === null) node.removeAttribute(name);
  else node.setAttribute(name, text);
}

/** A text as nodes, with every mark of direction made visible. */
export function textNodes(text: string): (ChildNode | string)[] {
  if (!BIDI.test(text)) return text ? [text] : [];
  return text
    .split(/([\u202a-\u202e\u2066-\u2069])/)
    .filter(Boolean)
    .map((piece) => (BIDI.test(piece) ? make("span", "bidi", codeOf(piece)) : piece));
}

function codeOf(character: string): string {
  return `U+${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
