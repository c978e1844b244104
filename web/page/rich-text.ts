/**
 * Answers as nodes: GitHub's markdown and mathematics, read by `marked`'s lexer and built by hand.
 *
 * No HTML is ever made from text: raw HTML is shown as it was written, links go to the web and to mail only,
 * and no image is fetched. While an answer grows, blocks that are complete are left alone and only the last
 * one is drawn again.
 */

import { Marked, type Token, type Tokens, type TokensList } from "marked";
import { textNodes } from "../src/element/dom.js";
import { copyText } from "./clipboard.js";
import { button, h } from "./dom.js";
import { t } from "./words.js";

interface Maths extends Tokens.Generic {
  type: "math";
  text: string;
  display: boolean;
}

const DISPLAY = /^(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])[ \t]*(?:\n|$)/;
const INLINE = /^(?:\$\$([^$\n]+?)\$\$|\\\((.+?)\\\)|\$(?!\s)((?:\\.|[^$\\\n])*?[^\s\\$])\$(?!\d))/;
const LINK = /^(?:https?:\/\/|mailto:)/i;
const REFERENCE = /^ {0,3}\[[^\]\n]+\]:/m;

const marked = new Marked({
  gfm: true,
  extensions: [
    {
      name: "math",
      level: "block",
      start: (text) => text.match(/^(?:\$\$|\\\[)/m)?.index,
      tokenizer: (text) => maths(DISPLAY.exec(text), true),
    },
    {
      name: "math",
      level: "inline",
      start: (text) => text.match(/\$|\\\(/)?.index,
      tokenizer: (text) => maths(INLINE.exec(text), false),
    },
  ],
});

function maths(found: RegExpExecArray | null, display: boolean): Maths | undefined {
  if (!found) return undefined;
  const text = (found[1] ?? found[2] ?? found[3] ?? "").trim();
  return { type: "math", raw: found[0], text, display: display || found[1] !== undefined };
}

/** An answer in a node. */
export class RichText {
  private text = "";
  private done = 0;
  private tail: Node[] = [];

  constructor(private root: HTMLElement) {
    this.clear();
  }

  clear(): void {
    this.text = "";
    this.done = 0;
    this.tail = [];
    this.root.replaceChildren();
  }

  update(given: string, live: boolean): void {
    const text = given.replace(/\r\n?/g, "\n");
    if (!text.startsWith(this.text) || (!live && REFERENCE.test(text))) this.clear();
    this.text = text;
    for (const node of this.tail) node.parentNode?.removeChild(node);
    this.tail = [];
    const tokens = lexed(text.slice(this.done));
    const last = live ? lastWord(tokens) : tokens.length;
    const settled: Node[] = [];
    tokens.forEach((token, at) => {
      const nodes = block(token).map((node) =>
        typeof node === "string" ? document.createTextNode(node) : this.inOrder(node),
      );
      this.root.append(...nodes);
      if (at < last) this.done += token.raw.length;
      (at < last ? settled : this.tail).push(...nodes);
    });
    finish(settled);
  }

  /** A heading goes one level below the one before it at the most, as those need who are read a list of them. */
  private inOrder(node: Node): Node {
    if (!(node instanceof HTMLHeadingElement)) return node;
    const before =
      [...this.root.children].reverse().find((one) => one instanceof HTMLHeadingElement)?.localName ?? "h2";
    const most = `h${Number(before[1]) + 1}` as "h3";
    return node.localName <= most ? node : h(most, { dir: "auto" }, ...node.childNodes);
  }
}

/** Colours and mathematics, for what will not change any more. */
function finish(nodes: Node[]): void {
  for (const node of nodes) {
    if (!(node instanceof HTMLElement)) continue;
    const wanting = [...node.querySelectorAll<HTMLElement>("[data-lang],[data-math]")];
    if (node.dataset.lang || node.dataset.math) wanting.push(node);
    for (const one of wanting) void dress(one);
  }
}

/** Where the last block begins that may still change: blank lines after it belong to it. */
function lastWord(tokens: Token[]): number {
  let at = tokens.length - 1;
  while (at > 0 && tokens[at]?.type === "space") at--;
  return Math.max(at, 0);
}

function lexed(text: string): TokensList | Token[] {
  try {
    return marked.lexer(text);
  } catch {
    return [{ type: "unread", raw: text }]; // nested beyond all reason
  }
}

async function dress(node: HTMLElement): Promise<void> {
  const { lang, math } = node.dataset;
  delete node.dataset.lang;
  delete node.dataset.math;
  try {
    if (lang) (await import("./code-colors.js")).colour(node, lang);
    else if (math) (await import("./math.js")).typeset(node, math === "display");
  } catch {
    // It can be read as it is.
  }
}

function block(token: Token): (Node | string)[] {
  try {
    return blockOf(token);
  } catch {
    return [h("p", { class: "raw" }, token.raw)];
  }
}

function blockOf(token: Token): (Node | string)[] {
  switch (token.type) {
    case "space":
    case "def":
      return [];
    case "heading":
      return [
        h(`h${Math.min(6, (token as Tokens.Heading).depth + 2)}` as "h3", { dir: "auto" }, ...inline(token.tokens)),
      ];
    case "paragraph":
      return [h("p", { dir: "auto" }, ...inline(token.tokens))];
    case "text":
      return token.tokens ? inline(token.tokens) : shown((token as Tokens.Text).text);
    case "blockquote":
      return [h("blockquote", { dir: "auto" }, ...(token.tokens ?? []).flatMap(block))];
    case "hr":
      return [h("hr")];
    case "code":
      return [code(token as Tokens.Code)];
    case "list":
      return [list(token as Tokens.List)];
    case "table":
      return [table(token as Tokens.Table)];
    case "math":
      return [formula(token as Maths)];
    case "html":
      return [h("p", { class: "raw", dir: "auto" }, ...shown(token.raw.trimEnd()))];
    default:
      return [h("p", { class: "raw", dir: "auto" }, ...shown(token.raw))];
  }
}

function inline(tokens: Token[] | undefined): (Node | string)[] {
  return (tokens ?? []).flatMap((token): (Node | string)[] => {
    switch (token.type) {
      case "strong":
        return [h("strong", null, ...inline(token.tokens))];
      case "em":
        return [h("em", null, ...inline(token.tokens))];
      case "del":
        return [h("del", null, ...inline(token.tokens))];
      case "codespan":
        return [h("code", { dir: "ltr" }, ...shown((token as Tokens.Codespan).text))];
      case "br":
        return [h("br")];
      case "link":
        return link(token as Tokens.Link);
      case "image":
        return [picture(token as Tokens.Image)];
      case "math":
        return [formula(token as Maths)];
      case "html":
        return /^<br\s*\/?>$/i.test(token.raw) ? [h("br")] : shown(token.raw);
      case "escape":
        return shown((token as Tokens.Escape).text);
      case "text":
        return token.tokens ? inline(token.tokens) : shown(characters((token as Tokens.Text).text));
      default:
        return shown(token.raw);
    }
  });
}

function shown(text: string): (Node | string)[] {
  return textNodes(text);
}

function link({ href, tokens, raw }: Tokens.Link): (Node | string)[] {
  const to = characters(href).trim();
  if (!LINK.test(to)) return raw.startsWith("[") ? inline(tokens) : shown(raw);
  return [h("a", { href: to, target: "_blank", rel: "noopener noreferrer nofollow", title: to }, ...inline(tokens))];
}

/** An image of somebody else's would tell them who reads this, so it is named and not fetched. */
function picture({ href, text }: Tokens.Image): HTMLElement {
  const to = characters(href).trim();
  const host = LINK.test(to) && URL.canParse(to) ? new URL(to).host : "";
  const name = `${text || "image"}${host && ` (${host})`}`;
  const props = { class: "image", title: to.slice(0, 300) };
  if (!/^https?:/i.test(to)) return h("span", props, name);
  return h("a", { ...props, href: to, target: "_blank", rel: "noopener noreferrer nofollow" }, name);
}

function code({ text, lang }: Tokens.Code): HTMLElement {
  const name = (lang ?? "").split(/\s/)[0]?.toLowerCase() ?? "";
  const body = h("code", { "data-lang": name || null }, ...shown(text));
  return h(
    "div",
    { class: "code" },
    h(
      "div",
      { class: "code-head" },
      h("span", null, name),
      button(t("copy.code"), "copy", () => void copyText(text), { bare: true, class: "quiet" }),
    ),
    h("pre", { dir: "ltr", tabindex: 0, role: "group", "aria-label": name || "code" }, body),
  );
}

function list({ ordered, start, items, loose }: Tokens.List): HTMLElement {
  const node = ordered ? h("ol", { start: start === 1 ? null : start }) : h("ul");
  for (const item of items) {
    // Some versions tell the box of a task as a token of its own as well.
    const tokens = item.tokens.filter((token) => (token.type as string) !== "checkbox");
    const children = tokens.flatMap((token) =>
      loose && token.type === "text" ? [h("p", { dir: "auto" }, ...inline(token.tokens))] : block(token),
    );
    const box =
      item.task &&
      h("input", { type: "checkbox", disabled: true, checked: !!item.checked, "aria-label": item.text.slice(0, 100) });
    node.append(h("li", { class: item.task ? "task" : null, dir: "auto" }, box, ...children));
  }
  return node;
}

function table({ header, rows, align }: Tokens.Table): HTMLElement {
  const cell = (tag: "th" | "td", { tokens }: Tokens.TableCell, at: number): HTMLElement =>
    h(
      tag,
      { class: align[at] ? `to-${align[at]}` : null, scope: tag === "th" ? "col" : null, dir: "auto" },
      ...inline(tokens),
    );
  const head = h("thead", null, h("tr", null, ...header.map((one, at) => cell("th", one, at))));
  const body = h("tbody", null, ...rows.map((row) => h("tr", null, ...row.map((one, at) => cell("td", one, at)))));
  return h(
    "div",
    {
      class: "table",
      tabindex: 0,
      role: "group",
      "aria-label":
        header
          .map(({ text }) => text)
          .join(", ")
          .slice(0, 100) || "table",
    },
    h("table", null, head, body),
  );
}

function formula({ text, display }: Maths): HTMLElement {
  return h(
    display ? "div" : "span",
    { class: display ? "math display" : "math", dir: "ltr", "data-math": display ? "display" : "inline" },
    text,
  );
}

const NAMED: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
  copy: "©",
  reg: "®",
  trade: "™",
  hellip: "…",
  mdash: "—",
  ndash: "–",
  lsquo: "‘",
  rsquo: "’",
  ldquo: "“",
  rdquo: "”",
  times: "×",
  divide: "÷",
  deg: "°",
  plusmn: "±",
  rarr: "→",
  larr: "←",
  le: "≤",
  ge: "≥",
  ne: "≠",
  infin: "∞",
  euro: "€",
};

/** Characters that were written by name or number. */
function characters(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,8}));/gi,
    (all, decimal?: string, hex?: string, name?: string) => {
      if (name) return Object.hasOwn(NAMED, name) ? (NAMED[name] as string) : all;
      const point = decimal ? Number(decimal) : parseInt(hex as string, 16);
      return point > 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff)
        ? String.fromCodePoint(point)
        : "\ufffd";
    },
  );
}
