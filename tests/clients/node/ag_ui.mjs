// An AG-UI client, which verifies the events and runs the tool calls. Usage: node ag_ui.mjs URL MODEL
import { HttpAgent } from "@ag-ui/client";
import { PARAMETERS, QUESTION, weather } from "./weather.mjs";

const [url, model] = process.argv.slice(2);
const agent = new HttpAgent({ url: `${url}/v1/ag-ui`, threadId: "thread-1" });
agent.messages = [{ id: "question", role: "user", content: QUESTION }];
const tools = [{ name: "get_weather", description: "Weather", parameters: PARAMETERS }];
const runs = [];
let failure = null;
const answeredCalls = new Set();
for (let run = 0; run < 20 && !failure; run++) {
  await agent.runAgent(
    { runId: `run-${run}`, tools, forwardedProps: { model, thinking: "high" } },
    {
      onEvent: ({ event }) => {
        if (event.type === "RUN_STARTED") runs.push([event.threadId, event.runId]);
        if (event.type === "RUN_ERROR") failure = event.message;
      },
      onRunFailed: ({ error }) => {
        failure = String(error);
      },
    },
  );
  const calls = agent.messages.flatMap((message) => message.toolCalls ?? []);
  const open = calls.filter((call) => !answeredCalls.has(call.id));
  if (open.length === 0) break;
  for (const call of open) {
    answeredCalls.add(call.id);
    const content = await weather(JSON.parse(call.function.arguments));
    agent.messages.push({ id: `result-${call.id}`, role: "tool", toolCallId: call.id, content });
  }
}
const of = (role) => agent.messages.filter((message) => message.role === role);
console.log(
  JSON.stringify({
    failure,
    runs,
    thoughts: of("reasoning").map((message) => message.content),
    references: of("reasoning").map((message) => message.encryptedValue ?? ""),
    calls: of("assistant").flatMap((message) =>
      (message.toolCalls ?? []).map((call) => JSON.parse(call.function.arguments).city),
    ),
    text: of("assistant").map((message) => message.content ?? "").join(""),
  }),
);
