/**
 * Markdown as nodes, appended as it grows: what stands after some text depends on the text alone, never on
 * the pieces it came in.
 *
 * Whole lines are drawn once and never again. The last line, which may still change its meaning, is drawn
 * provisionally and taken back when more of it comes; a very long line is cut into parts, so that taking
 * back has a bound. No HTML is ever parsed, only http, https and mailto links lead anywhere, and no image
 * is ever loaded.
 */

import { make, textNodes } from "./dom.js";

/** Something that shows a growing text. */
export interface Renderer {
  feed(text: string): void;
}

/** What the renderer says in the reader's language. */
export interface Labels {
  copy: string;
  copied: string;
  image: string;
}

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

const ITEM = /^( *)([-*+]|(\d{1,9})[.)])( +|$)/;
const RULE = /^ {0,3}([-*_])(?: *\1){2,} *$/;
const FENCE = /^( *)(`{3,}|~{3,})([^`]*)$/;
const HEADING = /^ {0,3}#{1,6}(?: +(.*?))?(?: +#+)? *$/;
const TABLE_RULE = /^ *\|?(?: *:?-+:? *\|)+(?: *:?-+:?)? *$/;

export class Markdown implements Renderer {
  #pending = "";
  #at: Place = { boxes: [], leaf: null, section: null, filled: 0, within: false };
  /** Where we were before the last line, and what it drew; nothing while whole lines are drawn. */
  #before: Place | null = null;
  #drawn: ChildNode[] | null = null;
  #root: Element;
  #labels: Labels;

  constructor(root: Element, labels: Labels) {
    this.#root = root;
    this.#labels = labels;
  }

  feed(text: string): void {
    this.#takeBack();
    this.#pending += text;
    for (let part = this.#next(); part !== null; part = this.#next()) this.#at.filled += part;
    this.#tryOut();
  }

  /** Draw one whole line, or the part of a long one, and say how long it was; null when there is none yet. */
  #next(): number | null {
    const pending = this.#pending;
    const end = pending.indexOf("\n");
    const long = pending.length > LONG && (end < 0 || end > LONG);
    if (end < 0 && !long) return null;
    const size = long ? partOf(pending) : end;
    this.#pending = pending.slice(long ? size : size + 1);
    this.#read(pending.slice(0, size), !long);
    return size;
  }

  /** Draw the last line as it stands, and remember what to take back. */
  #tryOut(): void {
    this.#before = this.#at;
    const { boxes, leaf } = this.#at;
    this.#at = { ...this.#at, boxes: [...boxes], leaf: leaf && { ...leaf } };
    this.#drawn = [];
    if (this.#pending) this.#read(this.#pending, false);
  }

  #takeBack(): void {
    this.#drawn?.forEach((node) => node.remove());
    this.#drawn = null;
    if (this.#before) this.#at = this.#before;
  }

  #read(raw: string, whole: boolean): void {
    const line = raw.replace(/\r$/, "");
    const { leaf, within } = this.#at;
    this.#at.within = !whole;
    if (leaf?.kind === "code") this.#code(line, leaf, within, whole ? "\n" : "");
    else if (within && leaf) this.#goOn(line, leaf);
    else this.#block(untabbed(line));
  }

  /** The rest of a line whose beginning is drawn already. */
  #goOn(text: string, leaf: Leaf): void {
    if (leaf.kind !== "table") this.#say(leaf.kind === "p" ? this.#more(leaf) : leaf, text);
    else this.#say({ ...leaf, node: leaf.node.lastElementChild?.lastElementChild ?? leaf.node }, text);
  }

  #block(line: string): void {
    let [rest, depth] = this.#descend(line);
    if (!rest.trim()) {
      this.#at.leaf = null;
      return;
    }
    const lazy = this.#at.leaf?.kind === "p" && depth < this.#at.boxes.length && !startsBlock(rest);
    if (!lazy) {
      if (depth < this.#at.boxes.length) this.#at.leaf = null;
      this.#at.boxes.length = depth;
      rest = this.#enter(rest);
    }
    this.#leafOf(rest);
  }

  /** How far a line is inside what is open, and what is left of it there. */
  #descend(line: string): [rest: string, depth: number] {
    let rest = line;
    let depth = 0;
    for (const box of this.#at.boxes) {
      const indent = rest.search(/[^ ]|$/);
      if (box.quote) {
        if (!/^ {0,3}>/.test(rest)) break;
        rest = rest.replace(/^ *> ?/, "");
      } else if (rest.trim()) {
        if (indent < box.need) break;
        rest = rest.slice(Math.min(indent, box.cut));
      }
      depth++;
    }
    return [rest, depth];
  }

  /** Open the quotes and list items that a line begins with. */
  #enter(line: string): string {
    let rest = line;
    while (this.#at.boxes.length < DEEPEST && !RULE.test(rest)) {
      const item = ITEM.exec(rest);
      const quote = /^ {0,3}> ?/.exec(rest);
      if (!item && !quote) break;
      const found = (item ?? quote) as RegExpExecArray;
      const node = item ? this.#item(item) : this.#add(this.#home(), make("blockquote"));
      this.#at.boxes.push({ node, quote: !item, need: (item?.[1] ?? "").length + 2, cut: found[0].length });
      this.#at.leaf = null;
      rest = rest.slice(found[0].length);
    }
    return rest;
  }

  #item(found: RegExpExecArray): Element {
    const tag = found[3] ? "ol" : "ul";
    const home = this.#home();
    let list = home.lastElementChild;
    if (list?.localName !== tag) {
      list = this.#add(home, make(tag));
      if (found[3]) (list as HTMLOListElement).start = Number(found[3]);
    }
    return this.#add(list, make("li"));
  }

  #leafOf(rest: string): void {
    const { leaf } = this.#at;
    const heading = HEADING.exec(rest);
    const fence = FENCE.exec(rest);
    if (RULE.test(rest)) {
      this.#add(this.#home(), make("hr"));
      this.#at.leaf = null;
    } else if (heading) {
      this.#say(this.#open("h", make("p", "heading")), heading[1] ?? "");
    } else if (fence) {
      this.#fence(fence as unknown as string[]);
    } else if (leaf?.kind === "table" && rest.includes("|")) {
      this.#row(leaf.node, rest, "td");
    } else if (leaf?.kind === "p" && leaf.first && !this.#drawn && TABLE_RULE.test(rest)) {
      this.#table(leaf);
    } else if (leaf?.kind === "p") {
      this.#say(this.#more(leaf), `\n${rest}`);
      leaf.first = "";
    } else if (rest) {
      this.#say(this.#open("p", make("p")), rest);
      if (rest.includes("|")) (this.#at.leaf as unknown as Leaf).first = rest;
    }
  }

  #fence([, indent, marks, info]: string[]): void {
    const code = make("code");
    const lang = (info as string).trim().split(/\s/)[0] as string;
    const copy = make("button", "copy-code", this.#labels.copy);
    copy.type = "button";
    copy.onclick = () => void this.#copy(copy, code.textContent ?? "");
    const bar = make("div", "code-bar", make("span", "code-lang", ...textNodes(lang)), copy);
    const leaf = this.#open("code", make("div", "code", bar, make("pre", "", code)));
    leaf.node = code;
    leaf.cut = (indent as string).length;
    leaf.close = new RegExp(`^ *${(marks as string)[0]}{${(marks as string).length},} *$`);
  }

  #code(line: string, leaf: Leaf, within: boolean, end: string): void {
    let rest = line;
    if (!within)
      for (const box of this.#at.boxes) rest = box.quote ? rest.replace(/^ {0,3}> ?/, "") : outdented(rest, box.cut);
    if (!within && leaf.close?.test(rest)) this.#at.leaf = null;
    else this.#write(leaf, (within ? rest : outdented(rest, leaf.cut)) + end);
  }

  #table(leaf: Leaf): void {
    const table = make("table");
    leaf.node.replaceWith(table);
    this.#row(table, leaf.first, "th");
    this.#at.leaf = { ...leaf, node: table, kind: "table", first: "" };
  }

  #row(table: Element, line: string, tag: "th" | "td"): void {
    const cells = line.trim().replace(/^\||\|$/g, "").split("|");
    this.#add(table, make("tr", "", ...cells.map((cell) => make(tag, "", ...this.#inline(cell.trim())))));
  }

  /** The paragraph that text goes to: the same one, or its continuation when it has grown tall. */
  #more(leaf: Leaf): Leaf {
    if (leaf.size > TALL) return this.#open("p", make("p", "more"));
    return leaf;
  }

  #open(kind: Leaf["kind"], node: Element): Leaf {
    this.#at.leaf = { node: this.#add(this.#home(), node), kind, size: 0, first: "", close: null, cut: 0 };
    return this.#at.leaf;
  }

  /** Where the next block goes: into the innermost box, or into the section at hand. */
  #home(): Element {
    const box = this.#at.boxes[this.#at.boxes.length - 1];
    if (box) return box.node;
    if (!this.#at.section || (this.#at.filled > SECTION && !this.#at.leaf)) {
      this.#at.section = this.#add(this.#root, make("div", "section"));
      this.#at.filled = 0;
    }
    return this.#at.section;
  }

  #say(leaf: Leaf, text: string): void {
    leaf.size += text.length;
    for (const node of this.#inline(text)) this.#add(leaf.node, typeof node === "string" ? new Text(node) : node);
  }

  /** Code as it is, in pieces that the browser can lay out apart. */
  #write(leaf: Leaf, text: string): void {
    leaf.size += text.length;
    if (!this.#drawn && (leaf.size > TALL || !leaf.node.lastElementChild)) {
      leaf.size = text.length;
      leaf.node.append(make("span", "code-part"));
    }
    const home = leaf.node.lastElementChild ?? leaf.node;
    for (const node of textNodes(text)) {
      const last = home.lastChild;
      if (!this.#drawn && typeof node === "string" && last instanceof Text) last.appendData(node);
      else this.#add(home, typeof node === "string" ? new Text(node) : node);
    }
  }

  #add<Kind extends ChildNode>(home: Element, node: Kind): Kind {
    home.append(node);
    this.#drawn?.push(node);
    return node;
  }

  #inline(text: string, depth = 0): (ChildNode | string)[] {
    const nodes: (ChildNode | string)[] = [];
    let rest = text;
    for (let found = INLINE.exec(rest); found && depth < DEEPEST; found = INLINE.exec(rest)) {
      nodes.push(...(textNodes(rest.slice(0, found.index))));
      nodes.push(...this.#marked(found, depth + 1));
      rest = rest.slice(found.index + found[0].length);
    }
    return [...nodes, ...(textNodes(rest))];
  }

  #marked(found: RegExpExecArray, depth: number): (ChildNode | string)[] {
    const [all, escaped, , code, image, label, url, angle, bare, strong, em, strong2, em2, struck] = found;
    if (escaped) return [escaped];
    if (code !== undefined) return [make("code", "", ...textNodes(code.replace(/^ (.*[^ ].*) $/s, "$1")))];
    if (image) return [this.#image(label as string, url as string)];
    const href = safe(url ?? angle ?? bare ?? "");
    if (url !== undefined || angle || bare) {
      const inside = label === undefined ? textNodes((angle ?? bare) as string) : this.#inline(label, depth);
      return href ? [link(href, inside)] : (textNodes(all));
    }
    const inside = this.#inline((strong ?? strong2 ?? em ?? em2 ?? struck) as string, depth);
    return [make(strong ?? strong2 ? "strong" : struck ? "s" : "em", "", ...inside)];
  }

  #image(alt: string, url: string): ChildNode {
    let host = "";
    try {
      host = new URL(url).host;
    } catch {
      // A picture from nowhere has no host to name.
    }
    return make("span", "image", ...textNodes([this.#labels.image, alt, host].filter(Boolean).join(" · ")));
  }

  async #copy(button: HTMLElement, text: string): Promise<void> {
    await navigator.clipboard.writeText(text);
    button.textContent = this.#labels.copied;
    setTimeout(() => (button.textContent = this.#labels.copy), 2000);
  }
}

/** The text as it is. */
export class Plain implements Renderer {
  #run: Element | null = null;
  #size = 0;
  #root: Element;

  constructor(root: Element) {
    this.#root = root;
    root.classList.add("plain");
  }

  feed(text: string): void {
    for (const line of text.split(/(?<=\s)/)) {
      if (!this.#run) this.#root.append((this.#run = make("span", "section")));
      for (const node of textNodes(line)) {
        const last = this.#run.lastChild;
        if (typeof node === "string" && last instanceof Text) last.appendData(node);
        else this.#run.append(node);
      }
      this.#size += line.length;
      if (this.#size < TALL || !/\s$/.test(line)) continue;
      this.#run = null;
      this.#size = 0;
    }
  }
}

function untabbed(line: string): string {
  return line.replace(/^[ \t]+/, (space) => space.replace(/\t/g, "    "));
}

/** A line without as much of its indentation as stands before it anyway. */
function outdented(line: string, most: number): string {
  return line.slice(Math.min(most, line.search(/[^ ]|$/)));
}

/** Where to cut a line that is too long: after its last space, and never inside a character. */
function partOf(text: string): number {
  const space = text.lastIndexOf(" ", LONG - 1) + 1;
  if (space > LONG / 2) return space;
  return /[\ud800-\udbff]/.test(text[LONG - 1] as string) ? LONG - 1 : LONG;
}

function startsBlock(rest: string): boolean {
  return ITEM.test(rest) || RULE.test(rest) || FENCE.test(rest) || HEADING.test(rest) || /^ {0,3}>/.test(rest);
}

/** The address of a link that may lead somewhere; empty for all others, relative ones among them. */
function safe(url: string): string {
  try {
    const { protocol, href } = new URL(url);
    return /^(?:https?|mailto):$/.test(protocol) ? href : "";
  } catch {
    return "";
  }
}

function link(href: string, inside: (ChildNode | string)[]): ChildNode {
  const node = make("a", "link", ...inside);
  Object.assign(node, { href, title: href, target: "_blank", rel: "noopener noreferrer nofollow" });
  return node;
}
