// Writes the types of the element for templates of React, Vue, Svelte and Solid, from the manifest. Each is an entry of the
// package, which registers the element as well: `import "thinking-block/react"`.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const WEB = new URL("..", import.meta.url);
const FOLDER = new URL("dist/frameworks/", WEB);

const { modules } = JSON.parse(readFileSync(new URL("custom-elements.json", WEB), "utf8"));
const element = modules.flatMap(({ declarations }) => declarations).find(({ tagName }) => tagName);
const tags = modules
  .flatMap(({ exports }) => exports)
  .filter(({ kind }) => kind === "custom-element-definition")
  .map(({ name }) => name);

const list = (lines) => lines.map((line) => `  ${line}\n`).join("");
const described = ({ description }) => (description ? `/** ${description} */ ` : "");
/** A template may write a number as text, and a boolean attribute as an empty one. */
const WIDER = { number: "number | string", boolean: 'boolean | ""' };
const settable = element.members.filter(
  ({ kind, privacy, readonly, static: ofClass }) => kind === "field" && !privacy && !readonly && !ofClass,
);
const attributes = element.attributes
  .filter(({ name }) => !settable.some((property) => property.name === name))
  .map((one) => ({ ...one, type: WIDER[one.type.text] ?? one.type.text }));
const properties = `Partial<Pick<ThinkingBlockElement, ${settable.map(({ name }) => `"${name}"`).join(" | ")}>>`;

/** The handlers of all events, under the names that a framework gives them. */
const handlers = (nameOf) =>
  list(
    element.events.map(
      (event) => `${described(event)}"${nameOf(event.name)}"?: (event: ThinkingEvents["${event.name}"]) => void;`,
    ),
  );
const camelCase = (name) => name.replace(/(?:^|-)(\w)/g, (_, letter) => letter.toUpperCase());

const HEAD = "// Generated from custom-elements.json; do not edit.\n";
const OWN_TYPES = 'import type { ThinkingBlockElement, ThinkingEvents } from "../lib/index.js";\n';
const SHARED = 'import type { BlockAttributes, BlockProperties } from "./attributes.js";\n';
const AGAIN = 'export * from "../lib/index.js";\n';

/** The declaration of each tag inside the interface of a framework. */
const tagLines = (indent, type) => tags.map((tag) => `${indent}"${tag}": ${type};\n`).join("");

const files = {
  attributes: `import type { ThinkingBlockElement } from "../lib/index.js";

/** The attributes of the element. */
export interface BlockAttributes {
${list(attributes.map((one) => `${described(one)}"${one.name}"?: ${one.type};`))}}

/** The properties of the element that a template may set. */
export type BlockProperties = ${properties};
`,
  react: `import type { HTMLAttributes, RefAttributes } from "react";
${OWN_TYPES}${SHARED}
interface BlockEvents {
${handlers((name) => `on${name}`)}}

/** React 19 sets properties and hears events of custom elements by itself. */
type BlockProps = Omit<HTMLAttributes<ThinkingBlockElement>, keyof BlockAttributes> &
  RefAttributes<ThinkingBlockElement> &
  BlockAttributes &
  BlockProperties &
  BlockEvents;

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
${tagLines("      ", "BlockProps")}    }
  }
}

${AGAIN}`,
  vue: `import type { HTMLAttributes, PublicProps } from "vue";
import type { ThinkingEvents } from "../lib/index.js";
${SHARED}
interface BlockEvents {
${handlers((name) => `on${camelCase(name)}`)}}

type BlockProps = Omit<HTMLAttributes, keyof BlockAttributes> & PublicProps & BlockAttributes & BlockProperties & BlockEvents;

declare module "vue" {
  interface GlobalComponents {
${tagLines("    ", "new () => { $props: BlockProps }")}  }
}

${AGAIN}`,
  svelte: `import type { HTMLAttributes } from "svelte/elements";
${OWN_TYPES}${SHARED}
interface BlockEvents {
${handlers((name) => `on${name}`)}}

type BlockProps = Omit<HTMLAttributes<ThinkingBlockElement>, keyof BlockAttributes> & BlockAttributes & BlockProperties & BlockEvents;

declare module "svelte/elements" {
  interface SvelteHTMLElements {
${tagLines("    ", "BlockProps")}  }
}

${AGAIN}`,
  solid: `import type { JSX } from "solid-js";
${OWN_TYPES}${SHARED}
interface BlockEvents {
${handlers((name) => `on:${name}`)}}

/** Solid sets what a template writes on a custom element as properties: attributes have \`attr:\` before their names. */
type NamedAttributes = { [Name in keyof BlockAttributes as \`attr:\${Name}\`]: BlockAttributes[Name] };

type BlockProps = Omit<JSX.HTMLAttributes<ThinkingBlockElement>, keyof BlockAttributes> & NamedAttributes & BlockProperties & BlockEvents;

declare module "solid-js" {
  namespace JSX {
    interface IntrinsicElements {
${tagLines("      ", "BlockProps")}    }
  }
}

${AGAIN}`,
};

mkdirSync(FOLDER, { recursive: true });
for (const [name, text] of Object.entries(files)) writeFileSync(new URL(`${name}.d.ts`, FOLDER), `${HEAD}${text}`);
