/**
 * Markdown as nodes, appended as it grows: what stands after some text depends on the text alone, never on
 * the pieces it came in.
 *
 * Whole lines are drawn once and never again. The last line, which may still change its meaning, is drawn
 * provisionally and taken back when more of it comes; a very long line is cut into parts, so that taking
 * back has a bound. No HTML is ever parsed, only http, https and mailto links lead anywhere, and no image
 * is ever loaded.
 */

import { button } from "./button.js";
import { make, textNodes } from "./dom.js";

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
  return draw(root, String, { node: root, kind: "code", size: 0, first: "", close: null, cut: 0 });
}

/** The text as markdown. */
export function markdown(root: Element, say: Say): Renderer {
  return draw(root, say, null);
}

function draw(root: Element, say: Say, start: Leaf | null): Renderer {
  let pending = "";
  let at: Place = { boxes: [], leaf: start, section: null, filled: 0, within: false };
  /** Where we were before the last line, and what it drew; nothing while whole lines are drawn. */
  let before = at;
  let drawn: ChildNode[] | null = null;

  function feed(text: string): void {
    if (grown(text)) return;
    // Take the last line back, draw what is whole now, and try the new last line out.
    for (const node of drawn ?? []) node.remove();
    drawn = null;
    at = before;
    pending += text;
    for (let size = next(); size; size = next()) {
      const whole = pending[size - 1] === "\n";
      read(pending.slice(0, whole ? size - 1 : size), whole);
      pending = pending.slice(size);
      at.filled += size;
    }
    before = at;
    at = { ...at, boxes: [...at.boxes], leaf: at.leaf && { ...at.leaf } };
    drawn = [];
    if (pending) read(pending, false);
  }

  /** Most pieces only make the last text longer: then nothing has to be taken back. */
  function grown(text: string): boolean {
    const last = drawn?.at(-1);
    const size = pending.length + text.length;
    const simple =
      /^(?:p|code)$/.test(at.leaf?.kind ?? "") && QUIET.test(text) && SETTLED.test(pending) && !WITHIN.test(pending);
    // What may be the beginning of a link is in the last text, for a link that is whole has nodes of its own.
    if (!simple || size > LONG || !(last instanceof Text) || last.data.includes("[")) return false;
    last.appendData(text);
    pending += text;
    return true;
  }

  /** How long the next whole line is, with its end, or the part of one that is too long; 0 when there is none yet. */
  function next(): number {
    // No further than a part may be long: the rest of a very long line is not searched again for each part of it.
    const end = pending.slice(0, LONG + 1).indexOf("\n") + 1;
    if (pending.length <= LONG || end) return end;
    const space = pending.lastIndexOf(" ", LONG - 1) + 1;
    // Cut after the last space, and never inside a character.
    return space > LONG / 2 ? space : LONG - Number(/[\ud800-\udbff]/.test(pending[LONG - 1] as string));
  }

  function read(raw: string, whole: boolean): void {
    const line = raw.replace(/\r$/, "");
    const { leaf, within } = at;
    at.within = !whole;
    if (leaf?.kind === "code") code(line, leaf, within, whole ? "\n" : "");
    else if (!within || !leaf) block(line.replace(/^[ \t]+/, (space) => space.replace(/\t/g, "    ")));
    // The rest of a line whose beginning is drawn already.
    else if (leaf.kind === "table") add(leaf.node.lastElementChild?.lastElementChild ?? leaf.node, inline(line));
    else write(leaf.kind === "p" ? more(leaf) : leaf, line);
  }

  function block(line: string): void {
    let [rest, depth] = descend(line);
    const lazy = at.leaf?.kind === "p" && !startsBlock(rest);
    if (!rest.trim()) {
      at.leaf = null;
      return;
    }
    if (depth === at.boxes.length || !lazy) {
      if (depth < at.boxes.length) at.leaf = null;
      at.boxes.length = depth;
      rest = enter(rest);
    }
    leafOf(rest);
  }

  /** How far a line is inside what is open, and what is left of it there. */
  function descend(line: string): [rest: string, depth: number] {
    let rest = line;
    let depth = 0;
    for (const { quote, need, cut } of at.boxes) {
      if (quote ? !QUOTE.test(rest) : rest.trim() && indentOf(rest) < need) break;
      rest = quote ? rest.replace(QUOTE, "") : outdented(rest, cut);
      depth++;
    }
    return [rest, depth];
  }

  /** Open the quotes and list items that a line begins with. */
  function enter(line: string): string {
    let rest = line;
    while (at.boxes.length < DEEPEST && !RULE.test(rest)) {
      const item = ITEM.exec(rest);
      const [mark] = item ?? QUOTE.exec(rest) ?? [];
      if (!mark) break;
      const node = item ? listItem(item[3]) : append(home(), make("blockquote"));
      at.boxes.push({ node, quote: !item, need: (item?.[1] ?? "").length + 2, cut: mark.length });
      at.leaf = null;
      rest = rest.slice(mark.length);
    }
    return rest;
  }

  function listItem(number: string | undefined): Element {
    const tag = number ? "ol" : "ul";
    let list = home().lastElementChild;
    if (list?.localName !== tag) {
      list = append(home(), make(tag));
      if (number) (list as HTMLOListElement).start = Number(number);
    }
    return append(list, make("li"));
  }

  function leafOf(rest: string): void {
    const { leaf } = at;
    const heading = HEADING.exec(rest);
    const fenced = FENCE.exec(rest);
    if (RULE.test(rest)) {
      append(home(), make("hr"));
      at.leaf = null;
    } else if (heading) {
      write(open("h", make("p", "heading")), heading[1] ?? "");
    } else if (fenced) {
      fence(fenced as unknown as string[]);
    } else if (leaf?.kind === "table" && rest.includes("|")) {
      row(leaf.node, rest, "td");
    } else if (leaf?.kind !== "p") {
      if (rest) write(open("p", make("p")), rest).first = rest.includes("|") ? rest : "";
    } else if (leaf.first && !drawn && TABLE_RULE.test(rest)) {
      const table = make("table");
      leaf.node.replaceWith(table);
      row(table, leaf.first, "th");
      at.leaf = { ...leaf, node: table, kind: "table" };
    } else {
      write(more(leaf), `\n${rest}`);
      leaf.first = "";
    }
  }

  function fence([, indent, marks, info]: string[]): void {
    const text = make("code");
    const lang = (info as string).trim().split(/\s/)[0] as string;
    const copy = button("copy-code", async () => {
      await navigator.clipboard.writeText(text.textContent ?? "");
      copy.textContent = say("copied");
      setTimeout(() => (copy.textContent = say("copy")), 2000);
    });
    copy.textContent = say("copy");
    const bar = make("div", "code-bar", make("span", "code-lang", ...textNodes(lang)), copy);
    const leaf = open("code", make("div", "code", bar, make("pre", "", text)));
    leaf.node = text;
    leaf.cut = (indent as string).length;
    leaf.close = new RegExp(`^ *${(marks as string)[0]}{${(marks as string).length},} *$`);
  }

  /** Code as it is, in pieces that the browser can lay out apart. */
  function code(line: string, leaf: Leaf, within: boolean, end: string): void {
    let rest = line;
    if (!within) {
      for (const { quote, cut } of at.boxes) rest = quote ? rest.replace(QUOTE, "") : outdented(rest, cut);
      if (leaf.close?.test(rest)) {
        at.leaf = null;
        return;
      }
      rest = outdented(rest, leaf.cut);
    }
    rest += end;
    leaf.size += rest.length;
    if (!drawn && (leaf.size > TALL || !leaf.node.lastElementChild)) {
      leaf.size = rest.length;
      leaf.node.lastElementChild?.classList.add("past");
      leaf.node.append(make("span", start ? "section" : "code-part"));
    }
    const part = leaf.node.lastElementChild ?? leaf.node;
    for (const node of textNodes(rest)) {
      const last = part.lastChild;
      if (!drawn && typeof node === "string" && last instanceof Text) last.appendData(node);
      else add(part, [node]);
    }
  }

  function row(table: Element, line: string, tag: "th" | "td"): void {
    const cells = line
      .trim()
      .replace(/^\||\|$/g, "")
      .split("|");
    append(table, make("tr", "", ...cells.map((cell) => make(tag, "", ...inline(cell.trim())))));
  }

  /** The paragraph that text goes to: the same one, or its continuation when it has grown tall. */
  function more(leaf: Leaf): Leaf {
    if (leaf.size <= TALL) return leaf;
    at.leaf = null; // a long line may go on in another section
    return open("p", make("p", "more"));
  }

  function open(kind: Leaf["kind"], node: Element): Leaf {
    at.leaf = { node: append(home(), node), kind, size: 0, first: "", close: null, cut: 0 };
    return at.leaf;
  }

  /** Where the next block goes: into the innermost box, or into the section at hand. */
  function home(): Element {
    const box = at.boxes[at.boxes.length - 1];
    if (box) return box.node;
    if (!at.section || (at.filled > SECTION && !at.leaf)) {
      // A class says what is past: rules on who is last would have the browser look at all of them again.
      if (!drawn) at.section?.classList.add("past");
      at.section = append(root, make("div", "section"));
      at.filled = 0;
    }
    return at.section;
  }

  function write(leaf: Leaf, text: string): Leaf {
    leaf.size += text.length;
    add(leaf.node, inline(text));
    return leaf;
  }

  function add(home: Element, inside: Inside): void {
    for (const node of inside) append(home, typeof node === "string" ? new Text(node) : node);
  }

  function append<Kind extends ChildNode>(home: Element, node: Kind): Kind {
    home.append(node);
    drawn?.push(node);
    return node;
  }

  function inline(text: string, depth = 0): Inside {
    const nodes: Inside = [];
    let rest = text;
    for (let found = INLINE.exec(rest); found && depth < DEEPEST; found = INLINE.exec(rest)) {
      nodes.push(...textNodes(rest.slice(0, found.index)), ...marked(found, depth + 1));
      rest = rest.slice(found.index + found[0].length);
    }
    return [...nodes, ...textNodes(rest)];
  }

  function marked(found: RegExpExecArray, depth: number): Inside {
    const [all, escaped, , code, image, label, url, angle, bare, strong, em, strong2, em2, struck] = found;
    const address = url ?? angle ?? bare;
    if (escaped) return [escaped];
    if (code !== undefined) return [make("code", "", ...textNodes(code.replace(/^ (.*[^ ].*) $/s, "$1")))];
    if (address === undefined)
      return [
        make(
          (strong ?? strong2) ? "strong" : struck ? "s" : "em",
          "",
          ...inline((strong ?? strong2 ?? em ?? em2 ?? struck) as string, depth),
        ),
      ];
    const { host = "", href = "", protocol = "" } = parsed(address);
    if (image) return [make("span", "image", ...textNodes([say("image"), label, host].filter(Boolean).join(" · ")))];
    // Only these lead anywhere; a relative address is none.
    if (!/^(?:https?|mailto):$/.test(protocol)) return textNodes(all);
    const link = make("a", "link", ...(label === undefined ? textNodes(address) : inline(label, depth)));
    return [Object.assign(link, { href, title: href, target: "_blank", rel: "noopener noreferrer nofollow" })];
  }

  return { feed };
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
