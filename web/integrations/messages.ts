/** A message as a server finds it in its database, and the chunks of an answer as they stream. */

import CHUNKS from "./chunks.json";

export const STORED = {
  id: "stored",
  role: "assistant" as const,
  parts: [
    { type: "reasoning" as const, text: "The office is **ten minutes** from the station.", state: "done" as const },
    { type: "text" as const, text: "Leave at 17:50.", state: "done" as const },
  ],
};

/** The chunks as the AI SDK's UI message stream, each a moment after the one before. */
export function streamedChunks(): Response {
  const encoder = new TextEncoder();
  const body = new ReadableStream({
    async start(stream) {
      for (const chunk of CHUNKS) {
        stream.enqueue(encoder.encode(`data: ${JSON.stringify(chunk)}\n\n`));
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      stream.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream", "x-vercel-ai-ui-message-stream": "v1" } });
}
