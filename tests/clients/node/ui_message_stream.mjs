// A chat of the AI SDK's front end, which runs the tool calls. Usage: node ui_message_stream.mjs URL MODEL
import { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls } from "ai";
import { PARAMETERS, QUESTION, weather } from "./weather.mjs";

const [url, model] = process.argv.slice(2);

class State {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = (message) => {
    this.messages = [...this.messages, message];
  };
  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index, message) => {
    this.messages = this.messages.with(index, structuredClone(message));
  };
  snapshot = (value) => structuredClone(value);
}

class Chat extends AbstractChat {
  constructor(init) {
    super({ ...init, state: new State() });
  }
}

let failure = null;
const chat = new Chat({
  transport: new DefaultChatTransport({
    api: `${url}/v1/ui-message-stream`,
    body: {
      model,
      thinking: "high",
      tools: [{ name: "get_weather", description: "Weather", inputSchema: PARAMETERS }],
    },
  }),
  sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
  onToolCall: async ({ toolCall }) => {
    const output = await weather(toolCall.input);
    chat.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output });
  },
  onError: (error) => {
    failure = String(error);
  },
});
await chat.sendMessage({ text: QUESTION });
const answered = () => chat.messages.at(-1)?.parts.at(-1)?.type === "text" && chat.status === "ready";
for (let waits = 0; !answered() && !failure && waits < 3000; waits++) {
  await new Promise((resolve) => setTimeout(resolve, 20));
}
const parts = chat.messages.flatMap((message) => (message.role === "assistant" ? message.parts : []));
const texts = (type) => parts.filter((part) => part.type === type).map((part) => part.text);
console.log(
  JSON.stringify({
    failure,
    messages: chat.messages.length,
    thoughts: texts("reasoning"),
    calls: parts.filter((part) => part.type === "tool-get_weather").map((part) => part.input.city),
    text: texts("text").join(""),
    usage: chat.messages.at(-1)?.metadata?.usage ?? null,
  }),
);
