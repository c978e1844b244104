// Long responses of providers are read in linear time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { read } from "./stream-vectors.mjs";

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
