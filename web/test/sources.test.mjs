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

test("dialectReader keeps calls apart whose requests for approval have no id", () => {
  const feed = new TurnFeed();
  const read = dialectReader(feed);
  for (const toolCallId of ["a", "b"]) read({ type: "tool-input-available", toolCallId, toolName: "rm", input: {} });
  read({ type: "tool-approval-request", toolCallId: "a" });
  read({ type: "tool-output-available", toolCallId: "b", output: "gone" });
  assert.deepEqual(
    feed.turn.blocks.map(({ result }) => result),
    [null, "gone"],
  );
});

test("dialectReader separates the texts of steps, and knows the calls that the last one left", () => {
  const feed = new TurnFeed();
  const read = dialectReader(feed);
  const step = (...messages) => [{ type: "start-step" }, ...messages, { type: "finish-step" }];
  const text = (delta) => ({ type: "text-delta", id: "0", delta });
  const call = (toolCallId) => ({ type: "tool-input-available", toolCallId, toolName: "find", input: {} });
  const result = { type: "tool-output-available", toolCallId: "a", output: 3 };
  for (const message of step(text("I look."), call("a"), result)) read(message);
  for (const message of step(text("Three. "), text("And you?"), call("b"))) read(message);
  read({ type: "finish", finishReason: "tool-calls" });
  assert.equal(feed.turn.answer, "I look.\n\nThree. And you?");
  assert.equal(feed.turn.outcome.ending, "called_tools");
});

test("TurnFeed does not put its time forward with events that have no stamp", (t) => {
  let elapsed = 0.6;
  t.mock.method(performance, "now", () => elapsed);
  const feed = new TurnFeed();
  feed.take({ type: "block.started", block: 0, kind: "reasoning" });
  const began = feed.now();
  for (let count = 0; count < 20_000; count++) {
    elapsed += 0.3;
    feed.take({ type: "block.grew", block: 0, text: "a" });
  }
  assert.ok(Math.abs(feed.now() - began - 6000) <= 1, `${feed.now() - began} ms instead of 6000`);
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

/** A message of the AI SDK as it grows: a thought, a call of a tool, the answer. */
const GROWTH = [
  [],
  [{ type: "step-start" }, { type: "reasoning", text: "Look it ", state: "streaming" }],
  [{ type: "step-start" }, { type: "reasoning", text: "Look it up.", state: "done" }],
  [
    { type: "step-start" },
    { type: "reasoning", text: "Look it up.", state: "done" },
    { type: "tool-search", toolCallId: "c", state: "input-streaming", rawInput: '{"q":' },
  ],
  [
    { type: "step-start" },
    { type: "reasoning", text: "Look it up.", state: "done" },
    { type: "tool-search", toolCallId: "c", state: "input-available", input: { q: "cats" } },
  ],
  [
    { type: "step-start" },
    { type: "reasoning", text: "Look it up.", state: "done" },
    { type: "tool-search", toolCallId: "c", state: "output-available", input: { q: "cats" }, output: ["3 cats"] },
  ],
  [
    { type: "step-start" },
    { type: "reasoning", text: "Look it up.", state: "done" },
    { type: "tool-search", toolCallId: "c", state: "output-available", input: { q: "cats" }, output: ["3 cats"] },
    { type: "step-start" },
    { type: "text", text: "Three.", state: "done" },
  ],
];

function readMessages(...messages) {
  const feed = new TurnFeed();
  const read = recordReader(feed);
  for (const parts of messages) read({ id: "m", role: "assistant", parts });
  return feed;
}

test("a message of the AI SDK that grows is appended to, and is live until its answer is there", () => {
  const feed = new TurnFeed();
  let now = 1_790_000_000_000;
  feed.clock = () => now;
  const read = recordReader(feed);
  const endings = GROWTH.map((parts) => {
    now += 1000;
    read({ id: "m", role: "assistant", parts });
    return feed.turn.outcome?.ending ?? "live";
  });
  assert.deepEqual(endings, ["live", "live", "live", "live", "live", "live", "answered"]);
  const [thought, call, text] = feed.turn.blocks;
  assert.deepEqual([thought.text, thought.rewrites], ["Look it up.", 0]);
  assert.equal(thought.endedMs - thought.startedMs, 1000);
  assert.deepEqual([call.name, call.text, call.result], ["search", '{"q":"cats"}', '["3 cats"]']);
  assert.equal(call.endedMs - call.startedMs, 2000);
  assert.equal(text.text, "Three.");
});

test("a message of the AI SDK that arrives complete is over, and nobody knows how long it took", () => {
  const { turn } = readMessages(GROWTH.at(-1));
  assert.equal(turn.outcome.ending, "answered");
  assert.equal(turn.blocks[0].startedMs, null);
  assert.equal(readMessages(GROWTH.at(-2)).turn.outcome.ending, "reasoning_only");
});

test("a message of the AI SDK that was seen at work is not over between two steps, nor with a text that says nothing", () => {
  const said = [...GROWTH[2], { type: "text", text: "I look.", state: "done" }];
  const between = readMessages(GROWTH[1], [...said, { type: "step-start" }]);
  const blank = readMessages(GROWTH[1], [...GROWTH[5], { type: "text", text: "\n", state: "done" }]);
  assert.deepEqual([between.turn.live, blank.turn.live], [true, true]);
  const again = readMessages(GROWTH[1], said, [...said, ...GROWTH[3].slice(2)]);
  assert.deepEqual([again.turn.live, again.turn.endedMs], [true, null]);
});

test("an output that comes again with a message of the AI SDK is not written again", () => {
  let written = 0;
  const output = { toJSON: () => `${++written} cats` };
  const feed = new TurnFeed();
  const read = recordReader(feed);
  const call = { type: "tool-search", toolCallId: "c", state: "output-available", input: {}, output };
  for (const text of ["Th", "Three."]) read({ id: "m", parts: [{ ...call }, { type: "text", text }] });
  assert.deepEqual([written, feed.turn.blocks[0].result], [1, '"1 cats"']);
  read({
    id: "m",
    parts: [
      { ...call, output: ["4 cats"] },
      { type: "text", text: "Four." },
    ],
  });
  assert.equal(feed.turn.blocks[0].result, '["4 cats"]');
});

test("a message of the AI SDK that loses its last step keeps the others", () => {
  const wrong = { type: "reasoning", text: "Wrong.", state: "streaming" };
  const { turn } = readMessages(GROWTH[5], [...GROWTH[5], { type: "step-start" }, wrong], GROWTH[5]);
  assert.deepEqual(
    turn.blocks.map(({ kind, rewrites }) => [kind, rewrites]),
    [
      ["reasoning", 0],
      ["tool_call", 0],
    ],
  );
});

test("another message of the AI SDK begins another turn", () => {
  const feed = new TurnFeed();
  const read = recordReader(feed);
  read({ id: "one", parts: [{ type: "reasoning", text: "One." }] });
  read({ id: "two", parts: [{ type: "reasoning", text: "Two." }] });
  assert.deepEqual(
    feed.turn.blocks.map(({ text }) => text),
    ["Two."],
  );
});

test("texts of several steps of a message are separated", () => {
  const text = (text) => ({ type: "text", text, state: "done" });
  const { turn } = readMessages([{ type: "step-start" }, text("One."), { type: "step-start" }, text("Two.")]);
  assert.equal(turn.answer, "One.\n\nTwo.");
});

test("calls of a message are asked about, denied, failed, and only preliminary", () => {
  const call = (fields) => ({ type: "dynamic-tool", toolName: "rm", toolCallId: "c", input: {}, ...fields });
  const states = [
    call({ state: "approval-requested", approval: { id: "a" } }),
    call({ state: "approval-responded", approval: { id: "a", approved: true } }),
    call({ state: "output-denied", approval: { id: "a", approved: false } }),
    call({ state: "output-error", errorText: "no such file" }),
    call({ state: "output-available", output: "half", preliminary: true }),
  ].map((part) => {
    const { turn } = readMessages([part]);
    const [{ approval, status, error, result }] = turn.blocks;
    return [approval, status, error, result, turn.live];
  });
  assert.deepEqual(states, [
    ["asked", "running", "", null, true],
    ["granted", "running", "", null, true],
    ["denied", "done", "", "", false],
    ["", "error", "no such file", "no such file", false],
    ["", "running", "", null, true],
  ]);
});

test("the page may say that a message of the AI SDK is over", () => {
  const feed = readMessages(GROWTH[5].slice(0, 2), GROWTH[1]);
  assert.equal(feed.turn.live, true);
  feed.applyStatus("aborted", null);
  assert.equal(feed.turn.outcome.ending, "cancelled");
  const done = readMessages(GROWTH[1], GROWTH[5]);
  done.applyStatus("done", null);
  assert.equal(done.turn.outcome.ending, "reasoning_only");
});

test("dialectReader takes a step of the AI SDK back that begins again", () => {
  const feed = new TurnFeed();
  const read = dialectReader(feed);
  read({ type: "start-step" });
  read({ type: "reasoning-delta", id: "0", delta: "One." });
  read({ type: "reasoning-end", id: "0" });
  read({ type: "start-step" });
  read({ type: "reasoning-delta", id: "0", delta: "Wrong." });
  read({ type: "reset-step" });
  read({ type: "custom", kind: "a.b" });
  read({ type: "reasoning-file", url: "data:,", mediaType: "image/png" });
  read({ type: "steering-message", id: "s", parts: [] });
  read({ type: "reasoning-delta", id: "1", delta: "Right." });
  assert.deepEqual(
    feed.turn.blocks.map(({ text, rewrites }) => [text, rewrites]),
    [
      ["One.", 0],
      ["Right.", 1],
    ],
  );
});

test("dialectReader takes an answer to a request for approval, and waits for more than a preliminary result", () => {
  const feed = new TurnFeed();
  const read = dialectReader(feed);
  read({ type: "tool-input-available", toolCallId: "c", toolName: "rm", input: {} });
  read({ type: "tool-approval-request", approvalId: "a", toolCallId: "c" });
  read({ type: "tool-approval-response", approvalId: "a", approved: true });
  const [block] = feed.turn.blocks;
  assert.equal(block.approval, "granted");
  read({ type: "tool-output-available", toolCallId: "c", output: "half", preliminary: true });
  assert.equal(block.result, null);
  read({ type: "tool-output-available", toolCallId: "c", output: "all" });
  assert.equal(block.result, "all");
});
