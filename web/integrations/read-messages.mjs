// Reads the messages that a version of the AI SDK makes of its stream as they grow. Usage: node read-messages.mjs PACKAGE
import { readFile } from "node:fs/promises";
import { recordReader, TurnFeed } from "thinking-block/core";

const { readUIMessageStream } = await import(process.argv[2]);
const chunks = JSON.parse(await readFile(new URL("chunks.json", import.meta.url), "utf8"));

const feed = new TurnFeed();
const read = recordReader(feed);
const stream = new ReadableStream({
  start(controller) {
    for (const chunk of chunks) controller.enqueue(chunk);
    controller.close();
  },
});
for await (const message of readUIMessageStream({ stream })) read(message);

const { blocks, outcome } = feed.turn;
console.log(
  JSON.stringify({
    kinds: blocks.map(({ kind }) => kind),
    texts: blocks.map(({ text }) => text),
    result: blocks[1].result,
    ending: outcome.ending,
    rewrites: blocks[0].rewrites,
  }),
);
