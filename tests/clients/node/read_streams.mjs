// Reads streams as the front ends do. Each line of the input is {"format", "body"}, each line of the output is
// what a front end has of it. The AG-UI client verifies the order of the events.
import { createInterface } from "node:readline";
import { HttpAgent } from "@ag-ui/client";
import { DefaultChatTransport, readUIMessageStream } from "ai";

const responding = (body) => async () =>
  new Response(body, { headers: { "content-type": "text/event-stream" } });

async function readUi(body) {
  const transport = new DefaultChatTransport({ api: "http://localhost/", fetch: responding(body) });
  const options = { chatId: "c", messages: [], trigger: "submit-message", abortSignal: undefined };
  let message = { parts: [] };
  let error = null;
  const stream = await transport.sendMessages(options);
  for await (const version of readUIMessageStream({
    stream,
    onError: (problem) => {
      error = String(problem);
    },
    terminateOnError: false,
  })) {
    message = version;
  }
  const texts = (type) => message.parts.filter((part) => part.type === type).map((part) => part.text);
  const calls = message.parts.filter((part) => part.type.startsWith("tool-"));
  return {
    error,
    reasoning: texts("reasoning").join(""),
    answer: texts("text").join(""),
    calls: calls.map((part) => [part.type.slice("tool-".length), part.input]),
  };
}

async function readAgUi(body) {
  const agent = new HttpAgent({ url: "http://localhost/", fetch: responding(body) });
  let error = null;
  const failed = ({ error: problem }) => {
    error = String(problem);
  };
  const noted = ({ event }) => {
    if (event.type === "RUN_ERROR") error = event.message;
  };
  await agent.runAgent({}, { onEvent: noted, onRunFailed: failed }).catch((problem) => {
    error ??= String(problem);
  });
  const texts = (role) => agent.messages.filter((message) => message.role === role).map((message) => message.content ?? "");
  const calls = agent.messages.flatMap((message) => message.toolCalls ?? []);
  return {
    error,
    reasoning: texts("reasoning").join(""),
    answer: texts("assistant").join(""),
    calls: calls.map((call) => [call.function.name, call.function.arguments]),
  };
}

const readers = { ui_message_stream: readUi, ag_ui: readAgUi };
for await (const line of createInterface({ input: process.stdin })) {
  const { format, body } = JSON.parse(line);
  console.log(JSON.stringify(await readers[format](body)));
}
