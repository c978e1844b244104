// The fold of entries into a turn. What holds for any turn is compared with Python in tests/web/test_parity.py.
import assert from "node:assert/strict";
import { test } from "node:test";
import { apply, OutOfOrder, Turn } from "../dist/core.js";

/** The turn of some events, one after the other. */
function fold(...events) {
  const turn = new Turn();
  events.forEach((event, seq) => {
    apply(turn, { seq, event, at_ms: seq });
  });
  return turn;
}

const block = (number, kind, text, more = {}) => [
  { type: "block.started", block: number, kind, ...more },
  { type: "block.grew", block: number, text },
  { type: "block.ended", block: number },
];
const replyEnded = (more = {}) => ({ type: "reply.ended", finish: "tool_calls", ...more });

test("answer puts a blank line between the replies of a turn", () => {
  const turn = fold(
    ...block(0, "text", "Let me look."),
    ...block(1, "tool_call", "{}"),
    replyEnded(),
    { type: "tool.finished", block: 1, result: "42" },
    ...block(2, "text", "It is 42."),
    replyEnded({ finish: "stop" }),
    { type: "turn.ended", finish: "stop" },
  );
  assert.equal(turn.answer, "Let me look.\n\nIt is 42.");
});

test("answer joins the texts of one reply without anything in between", () => {
  const turn = fold(...block(0, "text", "It is "), ...block(1, "reasoning", "Hm."), ...block(2, "text", "42."));
  assert.equal(turn.answer, "It is 42.");
});

test("outcome ignores a call that its reply broke off", () => {
  const turn = fold(
    { type: "block.started", block: 0, kind: "tool_call" },
    { type: "block.ended", block: 0, interrupted: true },
    replyEnded({ finish: "unknown" }),
    ...block(1, "reasoning", "Again."),
    replyEnded({ finish: "stop" }),
    { type: "turn.ended", finish: "stop" },
  );
  assert.equal(turn.outcome.ending, "reasoning_only");
});

test("outcome of a single reply counts every call without a result", () => {
  const turn = fold(...block(0, "tool_call", "{}"), { type: "turn.ended", finish: "tool_calls" });
  assert.equal(turn.outcome.ending, "called_tools");
});

test("apply refuses an approval of a call that does not wait for one", () => {
  assert.throws(
    () => fold(...block(0, "tool_call", "{}"), { type: "approval.settled", block: 0, granted: true }),
    OutOfOrder,
  );
});

test("apply passes over events of a type that it does not know", () => {
  assert.equal(fold({ type: "block.painted", block: 7 }, ...block(0, "text", "Hi.")).answer, "Hi.");
});
