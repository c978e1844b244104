// Streams of other protocols and records, fed into a turn.
import assert from "node:assert/strict";
import { test } from "node:test";
import { dialectReader, recordReader, TurnFeed } from "../dist/core.js";

test("dialectReader reads the AI SDK's UI message stream", () => {
  const feed = new TurnFeed();
  const read = dialectReader(feed);
  read({ type: "start" });
  read({ type: "reasoning-delta", id: "0", delta: "Hm." });
  read({ type: "reasoning-end", id: "0" });
  read({ type: "text-delta", id: "1", delta: "42" });
  read({ type: "finish", finishReason: "stop" });
  assert.equal(feed.turn.answer, "42");
  assert.equal(feed.turn.outcome.ending, "answered");
});

test("dialectReader ends a call that asks for approval, and takes a denial", () => {
  const feed = new TurnFeed();
  const read = dialectReader(feed);
  read({ type: "tool-input-start", toolCallId: "c", toolName: "rm" });
  read({ type: "tool-approval-request", toolCallId: "c" });
  assert.equal(feed.turn.blocks[0].approval, "asked");
  read({ type: "tool-output-denied", toolCallId: "c" });
  assert.equal(feed.turn.blocks[0].approval, "denied");
});

test("recordReader appends what grew of a step", () => {
  const feed = new TurnFeed();
  const read = recordReader(feed);
  read({ step: { id: "a", type: "reasoning", content: "One" } });
  read({ step: { id: "a", type: "reasoning", content: "One, two" } });
  assert.equal(feed.turn.blocks[0].text, "One, two");
  assert.equal(feed.turn.blocks[0].rewrites, 0);
});

test("recordReader times a step that arrives at work, and no other", () => {
  const feed = new TurnFeed();
  let now = 1_790_000_000_000;
  feed.clock = () => now;
  const read = recordReader(feed);
  const block = (status, content) => ({ status, steps: [{ id: "a", type: "reasoning", content }] });
  read(block("thinking", "One"));
  now += 3000;
  read(block("done", "One, two"));
  assert.equal(feed.turn.blocks[0].endedMs - feed.turn.blocks[0].startedMs, 3000);
  const complete = new TurnFeed();
  recordReader(complete)(block("done", "One"));
  assert.equal(complete.turn.blocks[0].startedMs, null);
});

test("TurnFeed stops what runs without a connection, and continues with one", () => {
  const feed = new TurnFeed();
  feed.take({ seq: 0, at_ms: 0, event: { type: "turn.started" } });
  feed.take({ seq: 1, at_ms: 0, event: { type: "block.started", block: 0, kind: "reasoning" } });
  feed.take({ seq: 2, at_ms: 0, event: { type: "block.grew", block: 0, text: "Hm" } });
  feed.setConnected(false);
  assert.equal(feed.turn.outcome.ending, "cut_off");
  assert.notEqual(feed.turn.blocks[0].status, "running");
  feed.setConnected(true);
  assert.equal(feed.turn.live, true);
  assert.equal(feed.turn.endedMs, null);
  feed.take({ seq: 3, at_ms: 9, event: { type: "block.grew", block: 0, text: "." } });
  assert.equal(feed.turn.blocks[0].text, "Hm.");
});
