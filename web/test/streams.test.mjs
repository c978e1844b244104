// Responses of providers, read by `consume` as Python reads them: whole, byte by byte, and cut at random.
// VECTORS names another file of vectors, such as those of real providers' recordings.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { TurnFeed } from "../dist/core.js";

const own = new URL("stream-vectors.json", import.meta.url);
const root = new URL("../../", import.meta.url);
const vectors = JSON.parse(readFileSync(process.env.VECTORS ?? own, "utf8"));
/** Larger bodies are not read byte by byte, but in longer pieces. */
const SMALL = 4_000;

async function read(chunks, options) {
  const feed = new TurnFeed();
  await feed.consume(chunks, options, () => undefined);
  return turnOf(feed.turn);
}

function turnOf({ dialect, model, blocks, outcome, usage }) {
  return {
    dialect,
    model,
    blocks: blocks.map((block) => ({
      kind: block.kind,
      text: block.kind === "tool_call" ? compact(block.text) : block.text,
      name: block.name,
      call_id: block.callId,
      result: block.result && compact(block.result),
      error: block.error,
      status: block.status,
      provenance: block.provenance,
      seals: block.seals.map((seal) => seal.form),
    })),
    outcome: { ending: outcome.ending, cause: outcome.cause },
    usage: Object.fromEntries(Object.entries(usage).filter(([, count]) => count != null)),
  };
}

function compact(text) {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

/** The bytes in pieces; the same seed gives the same cuts. */
function cut(body, seed, longest) {
  const chunks = [];
  let state = seed;
  for (let at = 0; at < body.length; ) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    const size = 1 + (state % longest);
    chunks.push(body.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

for (const { name, body: path, bytes, options, expected } of vectors)
  test(`consume reads ${bytes} bytes of ${name}`, async () => {
    const body = new Uint8Array(readFileSync(new URL(path, root))).subarray(0, bytes);
    const whole = [body];
    const small = body.length < SMALL;
    const manners = { whole, "cut at random": cut(body, 1, small ? 7 : 300) };
    if (small) manners["byte by byte"] = Array.from(body, (byte) => Uint8Array.of(byte));
    else manners["cut at random into longer pieces"] = cut(body, 2, 3000);
    for (const [manner, chunks] of Object.entries(manners))
      if (expected) assert.deepEqual(await read(chunks, options), expected, manner);
      else await assert.rejects(read(chunks, options), /thinking-block cannot read this stream/, manner);
  });

const LINEAR_RATIO = 9;
const ATTEMPTS = 8;

/** The CPU time of the fastest of three runs. */
async function fastest(run) {
  const times = [];
  for (let count = 0; count < 3; count++) {
    const start = process.cpuUsage();
    await run();
    const { user, system } = process.cpuUsage(start);
    times.push(user + system);
  }
  return Math.min(...times);
}

/** How many times as long four times the input takes: 4 if the time is linear, 16 if it is quadratic. */
async function growth(makeBody, size) {
  let ratio = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < ATTEMPTS && ratio >= LINEAR_RATIO; attempt++) {
    const [small, large] = [[makeBody(size)], [makeBody(4 * size)]];
    const one = await fastest(() => read(small, {}));
    ratio = Math.min(ratio, (await fastest(() => read(large, {}))) / one);
  }
  return ratio;
}

function chat(...deltas) {
  return deltas.map((delta) => `data: ${JSON.stringify({ choices: [{ delta, finish_reason: null }] })}\n\n`).join("");
}

function details(text) {
  return { reasoning_details: [{ type: "reasoning.text", text, index: 0 }] };
}

const THOUGHT_PER_DELTA = "Two and two. ".repeat(40);
const END = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';

for (const [name, makeBody] of Object.entries({
  "an answer after repeated details": (size) => {
    const thought = THOUGHT_PER_DELTA.repeat(size);
    const head = chat({ content: `<think>${thought}</think>Four` }, details(thought));
    return head + chat({ content: " and" }).repeat(size) + END;
  },
  "details that repeat a thought in small pieces": (size) => {
    const head = chat({ content: `<think>${THOUGHT_PER_DELTA.repeat(size)}</think>Four` });
    return head + chat(details(THOUGHT_PER_DELTA)).repeat(size) + END;
  },
}))
  test(`consume reads ${name} in linear time`, async () => {
    assert.ok((await growth(makeBody, 300)) < LINEAR_RATIO);
  });
