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

const S0 = {
  content: [{ type: "text", text: "42" }],
  reasoning_content: "Six times seven.",
  reasoning_meta: { model_supports: true, duration_ms: 4200, tokens: 234 },
};

const shown = ({ blocks, outcome, usage }) => [
  blocks.map(({ kind, text }) => [kind, text]),
  outcome?.ending,
  usage.reasoning,
  blocks[0]?.endedMs - blocks[0]?.startedMs,
];
const S0_SHOWN = [
  [
    ["reasoning", "Six times seven."],
    ["text", "42"],
  ],
  "answered",
  234,
  4200,
];

test("TurnFeed takes the JSON of an answer, with its duration", async () => {
  const fed = new TurnFeed();
  await fed.take(S0);
  assert.deepEqual(shown(fed.turn), S0_SHOWN);
  const text = JSON.stringify(S0, null, 2);
  for (const source of [[S0], [text], text.split("")]) {
    const consumed = new TurnFeed();
    await consumed.consume(source, {}, () => undefined);
    assert.deepEqual(shown(consumed.turn), S0_SHOWN);
  }
  const without = new TurnFeed();
  await without.take({ ...S0, reasoning_content: null });
  assert.deepEqual(
    without.turn.blocks.map(({ kind }) => kind),
    ["text"],
  );
});

test("TurnFeed takes the gateway's JSON of a turn: steps, unseen thoughts and the end", async () => {
  const steps = [
    { id: "0", type: "reasoning", content: "", timestamp: 1000 },
    { id: "1", type: "tool_call", content: "Adds numbers.", toolName: "add", toolInput: '{"a":1}', toolResult: "1" },
  ];
  const feed = new TurnFeed();
  await feed.take({
    id: "trn_1",
    state: "completed",
    content: [{ type: "text", text: "One." }],
    reasoning_content: null,
    reasoning_meta: { model_supports: true, duration_ms: 500, tokens: null },
    reasoning_blocks: [{ block: 0, text: "", duration_ms: 500, provenance: "unknown", unseen: "redacted" }],
    thinking_block: { summary: "Added", status: "done", steps },
    outcome: { ending: "refused", cause: "content_filter", message: "" },
    usage: { input: 3, output: 4, reasoning: null },
  });
  const [thought, call] = feed.turn.blocks;
  assert.deepEqual([thought.seals[0].form, thought.startedMs, thought.endedMs], ["redacted", 1000, 1500]);
  assert.deepEqual([call.description, call.text, call.result], ["Adds numbers.", '{"a":1}', "1"]);
  assert.deepEqual([feed.turn.outcome.ending, feed.turn.summary, feed.turn.answer], ["refused", "Added", "One."]);
});

test("recordReader removes the steps that a thinking block does not have any more", () => {
  const feed = new TurnFeed();
  const read = recordReader(feed);
  const step = (id, content) => ({ id, type: "reasoning", content });
  read({ status: "done", steps: [step("a", "One"), step("b", "Two")] });
  read({ status: "done", steps: [step("b", "Two")] });
  assert.deepEqual(
    feed.turn.blocks.map(({ number, text, rewrites }) => [number, text, rewrites]),
    [[0, "Two", 1]],
  );
  read({ status: "done", steps: [] });
  assert.deepEqual(feed.turn.blocks, []);
});

test("recordReader takes the description of a tool, and no repeated input", () => {
  const feed = new TurnFeed();
  const read = recordReader(feed);
  const call = { type: "tool_call", toolName: "add", toolInput: '{ "a":\n 1 }' };
  read({ step: { ...call, id: "a", content: "Adds numbers." } });
  read({ step: { ...call, id: "b", content: '{ "a": 1 }' } });
  read({ step: { ...call, id: "c", content: "add" } });
  assert.deepEqual(
    feed.turn.blocks.map(({ description }) => description),
    ["Adds numbers.", "", ""],
  );
});

test("TurnFeed numbers thoughts without a number by their place", async () => {
  const feed = new TurnFeed();
  await feed.take({ ...S0, reasoning_blocks: [{ text: "Hm." }, { text: "", unseen: "redacted" }] });
  const forms = feed.turn.blocks.map(({ seals }) => seals.map(({ form }) => form));
  assert.deepEqual(forms, [[], ["redacted"], []]);
});

test("TurnFeed takes a turn whose thinking has no steps", async () => {
  const feed = new TurnFeed();
  await feed.take({ ...S0, thinking: {} });
  assert.deepEqual(shown(feed.turn), S0_SHOWN);
});

test("TurnFeed refuses a message that only has a list of parts: its thinking would be lost", async () => {
  const content = [
    { type: "thinking", thinking: "Six times seven." },
    { type: "text", text: "42" },
  ];
  const feed = new TurnFeed();
  await assert.rejects(async () => feed.take({ role: "assistant", content }), /thinking-block cannot read/);
});

test("TurnFeed reports a part of an answer that has no text", async () => {
  const feed = new TurnFeed();
  await feed.take({ ...S0, content: [{ type: "image" }, ...S0.content] });
  assert.deepEqual(shown(feed.turn), S0_SHOWN);
  assert.match(feed.turn.notices[0].text, /image/);
});
