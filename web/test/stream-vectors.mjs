// Responses of providers, read by `consume` as Python reads them: whole, byte by byte, and cut at random.
// `node stream-vectors.mjs FILE` checks all vectors of a file. It is no file of `node --test`, which follows every
// promise: there is one for each byte, and the vectors would take three times as long.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { TurnFeed } from "../dist/core.js";

const root = new URL("../../", import.meta.url);
/** Larger bodies are not read byte by byte, but in longer pieces. */
const SMALL = 4_000;

export async function read(chunks, options) {
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

/** Fails unless the body of a vector is read as expected, however it is cut. */
async function checkVector({ name, body: path, bytes, options, expected }) {
  const body = new Uint8Array(readFileSync(new URL(path, root))).subarray(0, bytes);
  const small = body.length < SMALL;
  const manners = { whole: [body], "cut at random": cut(body, 1, small ? 7 : 300) };
  if (small) manners["byte by byte"] = Array.from(body, (byte) => Uint8Array.of(byte));
  else manners["cut at random into longer pieces"] = cut(body, 2, 3000);
  for (const [manner, chunks] of Object.entries(manners)) {
    const where = `${bytes} bytes of ${name}, ${manner}`;
    if (expected) assert.deepEqual(await read(chunks, options), expected, where);
    else await assert.rejects(read(chunks, options), /thinking-block cannot read this stream/, where);
  }
}

const [, program, file] = process.argv;
if (import.meta.url === pathToFileURL(program).href) {
  const vectors = JSON.parse(readFileSync(file, "utf8"));
  for (const vector of vectors) await checkVector(vector);
  console.log(`${vectors.length} vectors are read as expected.`);
}
