/**
 * A turn in a notebook: the block, and the answer below it. The Python package puts this behind the element's script.
 *
 * The model of the widget holds the entries in numbered batches of lines. Each is sent once and stays in the model, so that
 * a view which begins late, or again, reads all of them, and one that is there reads only the newest.
 */

import type { Entry } from "./core/events.js";
import { EN_US } from "./core/locales.js";
import { PT_BR } from "./core/portuguese.js";
import { apply } from "./core/reducer.js";
import { Turn } from "./core/turn.js";
import { Words } from "./core/words.js";
import { make } from "./element/dom.js";
import { styleSheet } from "./element/header-styles.js";
import { markdown, type Renderer } from "./element/markdown.js";

/** As much of the model of a widget as is needed. */
interface Model {
  get(name: string): unknown;
  on(event: string, listener: () => void): void;
  off(event: string, listener: () => void): void;
}

/** One text of the answer, and how much of it is drawn. */
interface Section {
  number: number;
  rewrites: number;
  renderer: Renderer;
  size: number;
}

const answerStyles = styleSheet(`
:host{display:block;margin-block:.75em;overflow-wrap:anywhere}
.section,.code-part{display:block}
p,ul,ol,table,.code,blockquote,hr{margin:.5em 0}
.heading{font-size:1.1em}
.heading,th{font-weight:650}
table{border-collapse:collapse}
th,td{border:1px solid color-mix(in srgb,currentColor 25%,transparent);padding:.25em .6em;text-align:start}
blockquote{border-inline-start:3px solid color-mix(in srgb,currentColor 25%,transparent);padding-inline-start:.75em}
.code{border:1px solid color-mix(in srgb,currentColor 15%,transparent);border-radius:.4em;padding:.4em .75em}
.code-bar{display:flex;justify-content:space-between;font-size:.8em;opacity:.75}
button{font:inherit;color:inherit;background:none;border:0;cursor:pointer}
pre{white-space:pre-wrap;margin:.25em 0}
`);

/** The texts of a turn, each drawn as markdown as it grows, away from the styles of the page. */
class Answer {
  readonly node = make("div");
  #root = this.node.attachShadow({ mode: "open" });
  #turn = new Turn();
  #sections: Section[] = [];
  #words: Words;

  constructor(lang: string) {
    this.#words = new Words(lang.startsWith("pt") ? PT_BR : EN_US);
    this.#root.adoptedStyleSheets = [answerStyles(document)];
  }

  take(entry: Entry): void {
    if (entry.seq > this.#turn.seq) apply(this.#turn, entry);
  }

  /** Draws what is new. Where a text became a thought, or lost its end to one, all is drawn again. */
  draw(): void {
    const texts = this.#turn.ownBlocks("text").filter((block) => !block.blank);
    const kept = this.#sections.every(({ number, rewrites }, index) => {
      const block = texts[index];
      return block?.number === number && block.rewrites === rewrites;
    });
    if (!kept) {
      this.#sections = [];
      this.#root.replaceChildren();
    }
    for (const [index, block] of texts.entries()) {
      this.#sections[index] ??= this.#begin(block.number, block.rewrites);
      const section = this.#sections[index];
      const text = block.since(section.size);
      if (text) section.renderer.feed(text);
      section.size = block.size;
    }
  }

  #begin(number: number, rewrites: number): Section {
    const root = make("div", "text");
    this.#root.append(root);
    return { number, rewrites, renderer: markdown(root, (key) => this.#words.say(key)), size: 0 };
  }
}

/** Block and answer of one turn, in one place of the page. */
class TurnView {
  readonly node = make("div", "thinkaloud-turn");
  #block = document.createElement("thinking-block");
  #answer: Answer;
  #next = 0;
  /** How far the block is scrolled: a node that is taken out of the page forgets it. */
  #scrolled = 0;

  constructor(model: Model) {
    const attributes = model.get("attributes") as Record<string, string>;
    for (const [name, value] of Object.entries(attributes)) this.#block.setAttribute(name, value);
    this.#block.policy = model.get("policy") as object;
    this.#answer = new Answer(attributes.lang ?? "");
    this.node.append(this.#block, this.#answer.node);
    this.#block.addEventListener("thinking-first-paint", () => this.#watchScrolling(), { once: true });
  }

  /** Reads the batches that were not there the last time. */
  read(model: Model): void {
    for (;;) {
      const lines = model.get(`batch_${this.#next}`);
      if (typeof lines !== "string") break;
      this.#next++;
      for (const line of lines.split("\n")) if (line) this.#take(JSON.parse(line) as Entry);
    }
    this.#answer.draw();
  }

  #take(entry: Entry): void {
    this.#block.feed(entry);
    this.#answer.take(entry);
  }

  /** Goes to a place in the page, as it stands: what is open stays open, at the line where the reader was. */
  moveTo(place: Element): void {
    place.replaceChildren(this.node);
    if (this.#content) this.#content.scrollTop = this.#scrolled;
  }

  get #content(): HTMLElement | null {
    return this.#block.shadowRoot?.querySelector<HTMLElement>(".body") ?? null;
  }

  #watchScrolling(): void {
    const content = this.#content;
    content?.addEventListener("scroll", () => {
      if (content.isConnected) this.#scrolled = content.scrollTop;
    });
  }
}

/** The views of each turn in this page. */
class Views {
  #views = new Map<string, TurnView[]>();

  /** A view that stands nowhere: its place is being drawn again. Else a new one. */
  place(model: Model, place: Element): TurnView {
    const id = model.get("turn_id") as string;
    const views = this.#views.get(id) ?? [];
    this.#views.set(id, views);
    let view = views.find(({ node }) => !node.isConnected);
    if (!view) {
      view = new TurnView(model);
      views.push(view);
    }
    view.read(model);
    view.moveTo(place);
    return view;
  }

  /** Puts the view in the place of the HTML that a notebook keeps. Without one, a saved notebook was opened. */
  adopt(id: string, place: Element): void {
    const views = this.#views.get(id) ?? [];
    (views.find(({ node }) => !node.isConnected) ?? views[0])?.moveTo(place);
  }
}

const VIEWS = Symbol.for("thinkaloud.views");
const page = globalThis as { [VIEWS]?: Views };
page[VIEWS] ??= new Views();
const views = page[VIEWS];

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const view = views.place(model, el);
  const read = (): void => view.read(model);
  model.on("change:batch_count", read);
  return () => model.off("change:batch_count", read);
}

export default { render };
