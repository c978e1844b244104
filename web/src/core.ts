/** The element's script: the element itself, and what its own chunks take from it instead of bringing it again. */

export * from "./index.js";
export { hide, make, mark, put, slot, spans, textNodes } from "./dom.js";
export { fold } from "./fold.js";
export { characters, collapse, ELLIPSIS, firstColumns, head, WINDOW } from "./graphemes.js";
export { icon } from "./icons.js";
export { PANEL } from "./opening.js";
export { peek, preview, wordsOf } from "./preview.js";
export { shown, unseen } from "./standing.js";
export { sheetOf } from "./styles.js";
