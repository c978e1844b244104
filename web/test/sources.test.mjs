// Streams of other protocols and records, fed into a turn.
import assert from "node:assert/strict";
import { test } from "node:test";
import { dialectReader, messages, recordReader, TurnFeed } from "../dist/core.js";

test("messages reads server-sent events and lines of JSON in any chunks", async () => {
  const text = 'data: {"type":"a"}\n\n{"type":"b"}\n: comment\n';
  const found = [];
  for await (const message of messages([text.slice(0, 9), text.slice(9)])) found.push(message.type);
  assert.deepEqual(found, ["a", "b"]);
});

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
