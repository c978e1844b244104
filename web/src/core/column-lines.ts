/** Lines for a surface of fixed columns, to the letter of the Python package. */

import { firstColumns, foot, head, lastColumns } from "./graphemes.js";
import { makeLines } from "./preview.js";

export const COLUMN_LINES = /* @__PURE__ */ makeLines({ head, foot, firstColumns, lastColumns });
