// What `consume` takes: every manner of stream, garbage, and what it says where it cannot read something.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { TurnFeed } from "../dist/core.js";

const CHUNKS = [
  { model: "deepseek-r1", choices: [{ index: 0, delta: { reasoning_content: "Eight, " } }] },
  { model: "deepseek-r1", choices: [{ index: 0, delta: { reasoning_content: "then." } }] },
  { model: "deepseek-r1", choices: [{ index: 0, delta: { content: "42" }, finish_reason: "stop" }] },
];
const SSE = [...CHUNKS.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), "data: [DONE]\n\n"].join("");

async function consume(source, options = {}, feed = new TurnFeed()) {
  await feed.consume(source, options, () => undefined);
  const { blocks, outcome } = feed.turn;
  return [blocks.map(({ kind, text }) => [kind, text]), outcome.ending];
}

const EXPECTED = [
  [
    ["reasoning", "Eight, then."],
    ["text", "42"],
  ],
  "answered",
];

const bytes = new TextEncoder().encode(SSE);
const SOURCES = {
  "parsed objects": () => CHUNKS,
  "an asynchronous iterable of objects, as an SDK returns it": async function* () {
    yield* CHUNKS;
  },
  "pieces of text": () => [SSE.slice(0, 30), SSE.slice(30)],
  "one text": () => SSE,
  "an ArrayBuffer": () => [bytes.buffer],
  "a response of fetch": () => new Response(SSE),
  "a stream": () => new Response(SSE).body,
};
for (const [name, source] of Object.entries(SOURCES))
  test(`consume reads ${name}`, async () => assert.deepEqual(await consume(source()), EXPECTED));

const CALL = { choices: [{ index: 0, message: { content: "42", reasoning_content: "Eight, then." } }] };
const LINES = [
  { message: { thinking: "Eight, then.", content: "42" }, done: false },
  { message: { content: "" }, done: true, done_reason: "stop" },
];
const BODIES = {
  "one JSON value": JSON.stringify(CALL),
  "JSON lines": LINES.map((line) => `${JSON.stringify(line)}\n`).join(" \t".repeat(600)),
  "server-sent events": SSE,
  "raw text": "<think>Eight, then.</think>42",
};
for (const [name, body] of Object.entries(BODIES))
  for (const size of [1, 1023, 1024, 5_000, 3_000_000])
    test(`consume drops ${size} characters of white space before ${name}`, async () => {
      const kept = "\n \r\n\t".repeat(size).slice(0, size) + body;
      for (const length of [1, 1_000, kept.length]) {
        if (kept.length / length > 10_000) continue;
        const pieces = Array.from({ length: Math.ceil(kept.length / length) }, (_, index) =>
          kept.slice(index * length, (index + 1) * length),
        );
        assert.deepEqual((await consume(pieces))[0], EXPECTED[0]);
      }
    });

test("consume reads an EventSource, also events with a name", async () => {
  const source = new EventTarget();
  const reading = consume(source);
  const send = (type, data) => source.dispatchEvent(new MessageEvent(type, { data: JSON.stringify(data) }));
  send("message_start", { type: "message_start", message: { model: "claude" } });
  const block = { type: "thinking", thinking: "" };
  send("content_block_start", { type: "content_block_start", index: 0, content_block: block });
  const delta = { type: "thinking_delta", thinking: "Hm." };
  send("content_block_delta", { type: "content_block_delta", index: 0, delta });
  send("content_block_stop", { type: "content_block_stop", index: 0 });
  send("message_delta", { type: "message_delta", delta: { stop_reason: "end_turn" } });
  send("message_stop", { type: "message_stop" });
  assert.deepEqual(await reading, [[["reasoning", "Hm."]], "reasoning_only"]);
});

test("consume reads entries and messages of the AI SDK as before, in any chunks", async () => {
  const entries = [
    { seq: 0, event: { type: "turn.started" } },
    { seq: 1, event: { type: "block.started", block: 0, kind: "reasoning" } },
    { seq: 2, event: { type: "block.grew", block: 0, text: "Hm." } },
    { seq: 3, event: { type: "block.ended", block: 0 } },
    { seq: 4, event: { type: "turn.ended", finish: "stop" } },
  ];
  const text = entries.map((entry) => `id: ${entry.seq}\ndata: ${JSON.stringify(entry)}\n\n`).join("");
  const target = new EventTarget();
  const reading = consume(target);
  for (const entry of entries) target.dispatchEvent(new MessageEvent("message", { data: JSON.stringify(entry) }));
  assert.deepEqual(await reading, [[["reasoning", "Hm."]], "reasoning_only"]);
  for (const source of [entries, [...text]])
    assert.deepEqual(await consume(source), [[["reasoning", "Hm."]], "reasoning_only"]);
  const messages = [
    { type: "start" },
    { type: "start-step" },
    { type: "reasoning-delta", id: "0", delta: "Hm." },
    { type: "finish-step" },
    { type: "finish" },
  ];
  const stream = `${messages.map((message) => `data: ${JSON.stringify(message)}\n\n`).join("")}data: [DONE]\n\n`;
  assert.deepEqual(await consume([stream]), [[["reasoning", "Hm."]], "reasoning_only"]);
});

test("consume continues a turn with the next reply of a loop of tool calls", async () => {
  const feed = new TurnFeed();
  await consume([{ choices: [{ delta: { reasoning: "Look." }, finish_reason: "tool_calls" }] }], {}, feed);
  const [blocks] = await consume(CHUNKS, {}, feed);
  assert.deepEqual(blocks, [["reasoning", "Look."], ...EXPECTED[0]]);
});

test("consume takes the tag profile of a model that the response does not name", async () => {
  const answer = [{ choices: [{ delta: { content: "[THINK]Hm.[/THINK]42" }, finish_reason: "stop" }] }];
  assert.deepEqual(await consume(answer, { model: "magistral-small" }), [
    [
      ["reasoning", "Hm."],
      ["text", "42"],
    ],
    "answered",
  ]);
  assert.deepEqual((await consume(answer, { tags: "off" }))[0], [["text", "[THINK]Hm.[/THINK]42"]]);
  await assert.rejects(consume(answer, { tags: "no such" }), /Unknown tag profile "no such". Use one of: .*think/);
});

const UNREADABLE = {
  "a page of HTML": ["<!doctype html>\n<title>502 Bad Gateway</title>"],
  "a sentence": ["Upstream connect error"],
  "objects of no known format": [{ hello: 1 }],
  "events of another protocol": ['event: thread.run.created\ndata: {"id":"run_1","object":"thread.run"}\n\n'],
  "JSON that is cut": ['{"hello": '],
};
for (const [name, source] of Object.entries(UNREADABLE))
  test(`consume rejects ${name}, and says what came and what it reads`, async () => {
    const feed = new TurnFeed();
    const problem = /cannot read this stream: it starts with ".+". It reads responses of OpenAI .*Anthropic, Gemini/;
    await assert.rejects(consume(source, {}, feed), problem);
    assert.equal(feed.turn.outcome.ending, "failed");
  });

test("consume rejects what is no stream", async () => {
  await assert.rejects(consume(42), /cannot read \[object Number\]. Pass a Response of fetch/);
  await assert.rejects(consume(new Response(null)), /cannot read a response without a body/);
  await assert.rejects(consume(fetch("data:text/plain,")), /cannot read \[object Promise\]/);
});

test("consume shows an error body as a failed turn", async () => {
  const body = { error: { message: "No credit.", type: "insufficient_quota", code: "insufficient_quota" } };
  const feed = new TurnFeed();
  assert.deepEqual(await consume(new Response(JSON.stringify(body), { status: 429 }), {}, feed), [[], "failed"]);
  assert.equal(feed.turn.outcome.message, "No credit.");
});

test("consume ends a stream that breaks as cut off, with what came before", async () => {
  async function* broken() {
    yield CHUNKS[0];
    throw new Error("connection reset");
  }
  assert.deepEqual(await consume(broken()), [[["reasoning", "Eight, "]], "cut_off"]);
});

test("consume survives values of any type in any field", async () => {
  const vectors = JSON.parse(readFileSync(new URL("stream-vectors.json", import.meta.url), "utf8"));
  const values = [null, 0, 1.5, -1, "", "x", true, [], {}, [null], [[]], [{}], { text: 1 }, { error: {} }, Infinity];
  let state = 7;
  const pick = (items) => {
    state = (state * 48_271) % 2_147_483_647;
    return items[state % items.length];
  };
  const damaged = (value) => {
    if (pick([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) === 0) return pick(values);
    if (Array.isArray(value)) return value.map(damaged);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, damaged(field)]));
  };
  for (const { body, expected } of vectors.filter((vector) => vector.expected && /sse$/.test(vector.body))) {
    const lines = readFileSync(new URL(`../../${body}`, import.meta.url), "utf8").split("\n");
    const frames = lines.flatMap((line) => {
      try {
        return [JSON.parse(line.replace(/^data: ?/, ""))];
      } catch {
        return [];
      }
    });
    for (let round = 0; round < 5; round++) {
      const feed = new TurnFeed();
      const first = [frames[0] ?? {}, ...frames.slice(1).map(damaged)];
      await feed.consume(first, {}, () => undefined).catch((error) => assert.match(String(error), /cannot read/));
      assert.ok(feed.turn.outcome, `${body} ${expected.dialect}`);
      assert.ok(feed.turn.blocks.every(({ status }) => status !== "running"));
    }
  }
});

test("consume names the setting for a closing tag that nothing opened", async () => {
  const notices = async (text, options) => {
    for (const pieces of [[text], text.split("")]) {
      const feed = new TurnFeed();
      const chunks = pieces.map((content) => ({ model: "m", choices: [{ delta: { content } }] }));
      await feed.consume([...chunks, { choices: [{ delta: {}, finish_reason: "stop" }] }], options, () => undefined);
      if (feed.turn.notices[0])
        return feed.turn.notices.map(({ code, text }) => [code, text.includes('"think_either"')]);
    }
    return [];
  };
  assert.deepEqual(await notices("Two.</think>Four.", {}), [["lone_closing_tag", true]]);
  assert.deepEqual(await notices("Two.</think>Four.", { tags: "think_either" }), []);
  assert.deepEqual(await notices("Use <think> and </think>.", {}), []);
});
