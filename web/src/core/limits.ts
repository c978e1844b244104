// Generated from Python by `make core`; do not edit.
/** The sizes and times that decide what is shown, the same on every surface. */

export const BURST_MS = 50;
export const CALL_COLUMNS = 120;
export const CODE_POINTS_PER_COLUMN = 16;
export const FEWEST_PEEK_CHARACTERS = 10;
export const INPUT_LIMIT = 4000;
export const MAX_GAP_MS = 5000;
export const PEEK_COLUMNS = 80;
export const PREVIEW_COLUMNS = 40;
export const READ_AHEAD = 2000;
export const RESULT_LIMIT = 280;
export const SUMMARY_COLUMNS = 120;
