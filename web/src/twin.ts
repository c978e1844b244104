/** The pure half, without any DOM: events in, words out. For the element, for tests and for other surfaces. */

export * from "./consume.js";
export * from "./dialects.js";
export type * from "./events.js";
export * from "./feed.js";
export { firstCharacters } from "./graphemes.js";
export * from "./locales.js";
export * from "./opening.js";
export { countWords, peek, plainLine, preview } from "./preview.js";
export * from "./records.js";
export * from "./standing.js";
export * from "./summary.js";
export * from "./transcript.js";
export * from "./view.js";
export * from "./words.js";
