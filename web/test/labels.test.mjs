// The words of a view.
import assert from "node:assert/strict";
import { test } from "node:test";
import { apply, EN_US, PT_BR, readPolicy, Turn, view, Words } from "../dist/core.js";

function viewOf(events, locale = EN_US) {
  const turn = new Turn();
  events.forEach((event, seq) => {
    apply(turn, { seq, event, at_ms: 0 });
  });
  return view(turn, readPolicy(), new Words(locale), 0);
}

const waiting = [
  { type: "block.started", block: 0, kind: "tool_call", name: "delete_file" },
  { type: "block.ended", block: 0 },
  { type: "approval.asked", block: 0 },
];

test("a call that waits for approval is labelled so", () => {
  assert.equal(viewOf(waiting).steps[0].label, "delete_file waits for approval");
  assert.equal(viewOf(waiting, PT_BR).steps[0].label, "delete_file aguarda aprovação");
});

test("a call that was approved is labelled with its name", () => {
  const events = [...waiting, { type: "approval.settled", block: 0, granted: true }];
  assert.equal(viewOf(events).steps[0].label, "delete_file");
});
