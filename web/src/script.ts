/** The element's script: the element itself, and what its own chunks take from it instead of bringing it again. */

export { countText, stepLabel, thoughtLabel, timeText } from "./core/labels.js";
export { PANEL } from "./core/open-rule.js";
export { WIDE_LINES, wordCount } from "./core/preview.js";
export { blankText, collapse, ELLIPSIS, SPACE } from "./core/spaces.js";
export { hiddenReason, visible } from "./core/state.js";
export { disclosure } from "./element/disclosure.js";
export { button, fireEvent, hide, make, mark, put, slot, span, textNodes } from "./element/dom.js";
export { styleSheet } from "./element/header-styles.js";
export { addIcons, icon } from "./element/icons.js";
export * from "./index.js";
