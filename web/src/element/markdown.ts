/**
 * Markdown as nodes, appended as it grows: what stands after some text depends on the text alone, never on
 * the pieces it came in.
 *
 * Whole lines are drawn once and never again. The last line, which may still change its meaning, is drawn
 * provisionally and taken back when more of it comes; a very long line is cut into parts, so that taking
 * back has a bound. No HTML is ever parsed, only http, https and mailto links lead anywhere, and no image
 * is ever loaded.
 */

import { button, make, textNodes } from "./dom.js";

/** Something that shows a growing text. */
export interface Renderer {
  feed(text: string): void;
}

/** What the renderer says in the reader's language. */
export type Say = (key: "copy" | "copied" | "image") => string;

type Inside = (ChildNode | string)[];

/** A quote or a list item that is open: how far a line must be indented to be in it, and how much is cut off. */
interface Box {
  node: Element;
  quote: boolean;
  need: number;
  cut: number;
}

/** Where text goes: a paragraph, a heading, a table, or code with what closes it. */
interface Leaf {
  node: Element;
  kind: "p" | "h" | "table" | "code";
  size: number;
  /** The first line, as long as it may turn out to be the head of a table. */
  first: string;
  close: RegExp | null;
  cut: number;
}

/** Where the next line goes; `within` says that it is the rest of a long one. */
interface Place {
  boxes: Box[];
  leaf: Leaf | null;
  section: Element | null;
  /** How much text the section holds. */
  filled: number;
  within: boolean;
}

/** A longer line is drawn in parts of this size. */
const LONG = 2000;
/** A longer paragraph or piece of code goes on in a new node, so that the browser lays out only the last one. */
const TALL = 8000;
/** After so much text a new section begins; what is out of sight in others costs no layout. */
const SECTION = 16000;
const DEEPEST = 8;

const INLINE = new RegExp(
  [
    /\\([!-/:-@[-`{-~])/, // 1 an escaped mark
    /(`+)(?!`)(.*?[^`])\2(?!`)/, // 2, 3 code
    /(!?)\[((?:[^[\]\\]|\\.|\[[^[\]]*\])*)\]\(\s*<?((?:[^\s<>()]|\([^\s<>()]*\))*)>?(?:\s+"[^"]*")?\s*\)/, // 4-6 link, image
    /<((?:https?:\/\/|mailto:)[^\s<>]+)>/, // 7
    /\b(https?:\/\/[^\s<>"'`)\]]*[^\s<>"'`)\].,;:!?*_])/, // 8
    /(?<![\w*])\*\*(?=\S)(.*?\S)\*\*(?!\*)/, // 9
    /(?<![\w*])\*(?=[^\s*])(.*?[^\s*])\*(?![\w*])/, // 10
    /(?<!\w)__(?=\S)(.*?\S)__(?!\w)/, // 11
    /(?<!\w)_(?=[^\s_])(.*?[^\s_])_(?!\w)/, // 12
    /~~(?=\S)(.*?\S)~~/, // 13
  ]
    .map((rule) => rule.source)
    .join("|"),
  "s",
);

/** A piece in which no mark begins or ends... */
const QUIET = /^[^\\`*_[\]<>~|/\n\r\t\u202a-\u202e\u2066-\u2069]+$/;
/** ...after a line that has a letter, so that it is known what it is... */
const SETTLED = /^[^|\r]*\p{L}[^|\r]*$/u;
/** ...that ends neither within an address, also where that seemed to be over, nor lets a mark escape. */
const WITHIN = /\\$|[:/]\S*$/;

const ITEM = /^( *)([-*+]|(\d{1,9})[.)])( +|$)/;
const RULE = /^ {0,3}([-*_])(?: *\1){2,} *$/;
const FENCE = /^( *)(`{3,}|~{3,})([^`]*)$/;
const HEADING = /^ {0,3}#{1,6}(?: +(.*?))?(?: +#+)? *$/;
const QUOTE = /^ {0,3}> ?/;
const TABLE_RULE = /^ *\|?(?: *:?-+:? *\|)+(?: *:?-+:?)? *$/;

/** The text as it is. */
export function plain(root: Element): Renderer {
  root.classList.add("plain");
  return new TextRenderer(root, String, { node: root, kind: "code", size: 0, first: "", close: null, cut: 0 });
}

/** The text as markdown. */
export function markdown(root: Element, say: Say): Renderer {
  return new TextRenderer(root, say, null);
}

class TextRenderer implements Renderer {
  /** The last line, which is not whole yet. */
  #pending = "";
  #at: Place;
  /** Where we were before the last line, and what it drew; nothing while whole lines are drawn. */
  #before: Place;
  #drawn: ChildNode[] | null = null;
  #root: Element;
  #say: Say;
  #partClass: string;

  /** `leaf` takes all text as it is; without it, text is read as markdown. */
  constructor(root: Element, say: Say, leaf: Leaf | null) {
    this.#root = root;
    this.#say = say;
    this.#partClass = leaf ? "section" : "code-part";
    this.#at = { boxes: [], leaf, section: null, filled: 0, within: false };
    this.#before = this.#at;
  }

  feed(text: string): void {
    if (this.#growText(text)) return;
    // Take the last line back, draw what is whole now, and try the new last line out.
    for (const node of this.#drawn ?? []) node.remove();
    this.#drawn = null;
    this.#at = this.#before;
    this.#pending += text;
    for (let size = this.#nextSize(); size; size = this.#nextSize()) {
      const whole = this.#pending[size - 1] === "\n";
      this.#readLine(this.#pending.slice(0, whole ? size - 1 : size), whole);
      this.#pending = this.#pending.slice(size);
      this.#at.filled += size;
    }
    this.#before = this.#at;
    const { boxes, leaf } = this.#at;
    this.#at = { ...this.#at, boxes: [...boxes], leaf: leaf && { ...leaf } };
    this.#drawn = [];
    if (this.#pending) this.#readLine(this.#pending, false);
  }

  /** Most pieces only make the last text longer: then nothing has to be taken back. */
  #growText(text: string): boolean {
    const last = this.#drawn?.at(-1);
    const size = this.#pending.length + text.length;
    const simple =
      /^(?:p|code)$/.test(this.#at.leaf?.kind ?? "") &&
      QUIET.test(text) &&
      SETTLED.test(this.#pending) &&
      !WITHIN.test(this.#pending);
    // What may be the beginning of a link is in the last text, for a link that is whole has nodes of its own.
    if (!simple || size > LONG || !(last instanceof Text) || last.data.includes("[")) return false;
    last.appendData(text);
    this.#pending += text;
    return true;
  }

  /** How long the next whole line is, with its end, or the part of one that is too long; 0 when there is none yet. */
  #nextSize(): number {
    // No further than a part may be long: the rest of a very long line is not searched again for each part of it.
    const end = this.#pending.slice(0, LONG + 1).indexOf("\n") + 1;
    if (this.#pending.length <= LONG || end) return end;
    const space = this.#pending.lastIndexOf(" ", LONG - 1) + 1;
    // Cut after the last space, and never inside a character.
    return space > LONG / 2 ? space : LONG - Number(/[\ud800-\udbff]/.test(this.#pending[LONG - 1] as string));
  }

  #readLine(raw: string, whole: boolean): void {
    const line = raw.replace(/\r$/, "");
    const { leaf, within } = this.#at;
    this.#at.within = !whole;
    if (leaf?.kind === "code") this.#writeCode(line, leaf, within, whole ? "\n" : "");
    else if (!within || !leaf) this.#readBlock(line.replace(/^[ \t]+/, (space) => space.replace(/\t/g, "    ")));
    // The rest of a line whose beginning is drawn already.
    else if (leaf.kind === "table")
      this.#add(leaf.node.lastElementChild?.lastElementChild ?? leaf.node, inline(line, this.#say));
    else this.#write(leaf.kind === "p" ? this.#continued(leaf) : leaf, line);
  }

  #readBlock(line: string): void {
    let [rest, depth] = this.#descend(line);
    const lazy = this.#at.leaf?.kind === "p" && !startsBlock(rest);
    if (!rest.trim()) {
      this.#at.leaf = null;
      return;
    }
    if (depth === this.#at.boxes.length || !lazy) {
      if (depth < this.#at.boxes.length) this.#at.leaf = null;
      this.#at.boxes.length = depth;
      rest = this.#openBoxes(rest);
    }
    this.#readLeaf(rest);
  }

  /** How far a line is inside what is open, and what is left of it there. */
  #descend(line: string): [rest: string, depth: number] {
    let rest = line;
    let depth = 0;
    for (const { quote, need, cut } of this.#at.boxes) {
      if (quote ? !QUOTE.test(rest) : rest.trim() && indentOf(rest) < need) break;
      rest = quote ? rest.replace(QUOTE, "") : outdented(rest, cut);
      depth++;
    }
    return [rest, depth];
  }

  /** Open the quotes and list items that a line begins with. */
  #openBoxes(line: string): string {
    let rest = line;
    while (this.#at.boxes.length < DEEPEST && !RULE.test(rest)) {
      const item = ITEM.exec(rest);
      const [mark] = item ?? QUOTE.exec(rest) ?? [];
      if (!mark) break;
      const node = item ? this.#listItem(item[3]) : this.#append(this.#container(), make("blockquote"));
      this.#at.boxes.push({ node, quote: !item, need: (item?.[1] ?? "").length + 2, cut: mark.length });
      this.#at.leaf = null;
      rest = rest.slice(mark.length);
    }
    return rest;
  }

  #listItem(number: string | undefined): Element {
    const tag = number ? "ol" : "ul";
    let list = this.#container().lastElementChild;
    if (list?.localName !== tag) {
      list = this.#append(this.#container(), make(tag));
      if (number) (list as HTMLOListElement).start = Number(number);
    }
    return this.#append(list, make("li"));
  }

  #readLeaf(rest: string): void {
    const { leaf } = this.#at;
    const heading = HEADING.exec(rest);
    const fenced = FENCE.exec(rest);
    if (RULE.test(rest)) {
      this.#append(this.#container(), make("hr"));
      this.#at.leaf = null;
    } else if (heading) {
      this.#write(this.#openLeaf("h", make("p", "heading")), heading[1] ?? "");
    } else if (fenced) {
      this.#openFence(fenced as unknown as string[]);
    } else if (leaf?.kind === "table" && rest.includes("|")) {
      this.#addRow(leaf.node, rest, "td");
    } else if (leaf?.kind !== "p") {
      if (rest) this.#write(this.#openLeaf("p", make("p")), rest).first = rest.includes("|") ? rest : "";
    } else if (leaf.first && !this.#drawn && TABLE_RULE.test(rest)) {
      const table = make("table");
      leaf.node.replaceWith(table);
      this.#addRow(table, leaf.first, "th");
      this.#at.leaf = { ...leaf, node: table, kind: "table" };
    } else {
      this.#write(this.#continued(leaf), `\n${rest}`);
      leaf.first = "";
    }
  }

  #openFence([, indent, marks, info]: string[]): void {
    const text = make("code");
    const lang = (info as string).trim().split(/\s/)[0] as string;
    const copy = button("copy-code", async () => {
      await navigator.clipboard.writeText(text.textContent ?? "");
      copy.textContent = this.#say("copied");
      setTimeout(() => (copy.textContent = this.#say("copy")), 2000);
    });
    copy.textContent = this.#say("copy");
    const bar = make("div", "code-bar", make("span", "code-lang", ...textNodes(lang)), copy);
    const leaf = this.#openLeaf("code", make("div", "code", bar, make("pre", "", text)));
    leaf.node = text;
    leaf.cut = (indent as string).length;
    leaf.close = new RegExp(`^ *${(marks as string)[0]}{${(marks as string).length},} *$`);
  }

  /** Code as it is, in pieces that the browser can lay out apart. */
  #writeCode(line: string, leaf: Leaf, within: boolean, end: string): void {
    let rest = line;
    if (!within) {
      for (const { quote, cut } of this.#at.boxes) rest = quote ? rest.replace(QUOTE, "") : outdented(rest, cut);
      if (leaf.close?.test(rest)) {
        this.#at.leaf = null;
        return;
      }
      rest = outdented(rest, leaf.cut);
    }
    rest += end;
    leaf.size += rest.length;
    if (!this.#drawn && (leaf.size > TALL || !leaf.node.lastElementChild)) {
      leaf.size = rest.length;
      leaf.node.lastElementChild?.classList.add("past");
      leaf.node.append(make("span", this.#partClass));
    }
    const part = leaf.node.lastElementChild ?? leaf.node;
    for (const node of textNodes(rest)) {
      const last = part.lastChild;
      if (!this.#drawn && typeof node === "string" && last instanceof Text) last.appendData(node);
      else this.#add(part, [node]);
    }
  }

  #addRow(table: Element, line: string, tag: "th" | "td"): void {
    const cells = line
      .trim()
      .replace(/^\||\|$/g, "")
      .split("|");
    this.#append(table, make("tr", "", ...cells.map((cell) => make(tag, "", ...inline(cell.trim(), this.#say)))));
  }

  /** The paragraph that text goes to: the same one, or its continuation when it has grown tall. */
  #continued(leaf: Leaf): Leaf {
    if (leaf.size <= TALL) return leaf;
    this.#at.leaf = null; // a long line may go on in another section
    return this.#openLeaf("p", make("p", "more"));
  }

  #openLeaf(kind: Leaf["kind"], node: Element): Leaf {
    this.#at.leaf = { node: this.#append(this.#container(), node), kind, size: 0, first: "", close: null, cut: 0 };
    return this.#at.leaf;
  }

  /** Where the next block goes: into the innermost box, or into the section at hand. */
  #container(): Element {
    const box = this.#at.boxes[this.#at.boxes.length - 1];
    if (box) return box.node;
    if (!this.#at.section || (this.#at.filled > SECTION && !this.#at.leaf)) {
      // A class says what is past: rules on who is last would have the browser look at all of them again.
      if (!this.#drawn) this.#at.section?.classList.add("past");
      this.#at.section = this.#append(this.#root, make("div", "section"));
      this.#at.filled = 0;
    }
    return this.#at.section;
  }

  #write(leaf: Leaf, text: string): Leaf {
    leaf.size += text.length;
    this.#add(leaf.node, inline(text, this.#say));
    return leaf;
  }

  #add(parent: Element, inside: Inside): void {
    for (const node of inside) this.#append(parent, typeof node === "string" ? new Text(node) : node);
  }

  #append<Kind extends ChildNode>(parent: Element, node: Kind): Kind {
    parent.append(node);
    this.#drawn?.push(node);
    return node;
  }
}

/** A line of text with its marks as nodes. */
function inline(text: string, say: Say, depth = 0): Inside {
  const nodes: Inside = [];
  let rest = text;
  for (let found = INLINE.exec(rest); found && depth < DEEPEST; found = INLINE.exec(rest)) {
    nodes.push(...textNodes(rest.slice(0, found.index)), ...marked(found, say, depth + 1));
    rest = rest.slice(found.index + found[0].length);
  }
  return [...nodes, ...textNodes(rest)];
}

function marked(found: RegExpExecArray, say: Say, depth: number): Inside {
  const [all, escaped, , code, image, label, url, angle, bare, strong, em, strong2, em2, struck] = found;
  const address = url ?? angle ?? bare;
  if (escaped) return [escaped];
  if (code !== undefined) return [make("code", "", ...textNodes(code.replace(/^ (.*[^ ].*) $/s, "$1")))];
  if (address === undefined)
    return [
      make(
        (strong ?? strong2) ? "strong" : struck ? "s" : "em",
        "",
        ...inline((strong ?? strong2 ?? em ?? em2 ?? struck) as string, say, depth),
      ),
    ];
  const { host = "", href = "", protocol = "" } = parsed(address);
  if (image) return [make("span", "image", ...textNodes([say("image"), label, host].filter(Boolean).join(" · ")))];
  // Only these lead anywhere; a relative address is none.
  if (!/^(?:https?|mailto):$/.test(protocol)) return textNodes(all);
  const link = make("a", "link", ...(label === undefined ? textNodes(address) : inline(label, say, depth)));
  return [Object.assign(link, { href, title: href, target: "_blank", rel: "noopener noreferrer nofollow" })];
}

function parsed(address: string): Partial<URL> {
  try {
    return new URL(address);
  } catch {
    return {};
  }
}

function indentOf(line: string): number {
  return line.search(/[^ ]|$/);
}

/** A line without as much of its indentation as stands before it anyway. */
function outdented(line: string, most: number): string {
  return line.slice(Math.min(most, indentOf(line)));
}

function startsBlock(rest: string): boolean {
  return [ITEM, RULE, FENCE, HEADING, QUOTE].some((rule) => rule.test(rest));
}
