// Not a test itself: folds the scripts that come on standard input, one JSON object per line, and writes what each comes to: the turn, its
// view, and the entries that were refused. The tests compare it with what Python makes of the same scripts.
import { createInterface } from "node:readline";
import * as core from "../dist/core.js";

/** Members that Python does not have: how the text is kept, and nodes that hold each other. */
const PRIVATE = ["source", "thought", "pieces", "rewrites"];

function foldScript({ entries, policy, locale, now, choices }) {
  const turn = new core.Turn();
  const refused = [];
  for (const entry of entries) {
    try {
      core.apply(turn, entry);
    } catch (error) {
      if (!(error instanceof core.OutOfOrder)) throw error;
      refused.push(entry.seq);
    }
  }
  const words = new core.Words(core.findLocale(locale));
  const view = core.view(turn, core.readPolicy(policy), words, now, new Map(choices));
  // The texts of steps are read now: `block.text` below joins the pieces that they came in.
  const shown = JSON.parse(JSON.stringify(view, withoutPrivate));
  const blocks = turn.blocks.map((block) => ({
    ...block,
    text: block.text,
    blank: block.blank,
    awaitingResult: block.awaitingResult,
  }));
  return { turn: { ...turn, blocks, answer: turn.answer, live: turn.live }, view: shown, refused };
}

const withoutPrivate = (key, value) => (PRIVATE.includes(key) ? undefined : value);

for await (const line of createInterface({ input: process.stdin }))
  console.log(JSON.stringify(foldScript(JSON.parse(line)), withoutPrivate));
