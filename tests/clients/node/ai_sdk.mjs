// Asks through the AI SDK and runs its tool calls. Usage: node ai_sdk.mjs PROVIDER URL MODEL
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { jsonSchema, stepCountIs, streamText, tool } from "ai";
import { PARAMETERS, QUESTION, weather } from "./weather.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;
const [provider, url, model] = process.argv.slice(2);
const models = {
  "openai-compatible": () => createOpenAICompatible({ name: "gateway", baseURL: `${url}/v1`, apiKey: "any", includeUsage: true })(model),
  anthropic: () => createAnthropic({ baseURL: `${url}/v1`, apiKey: "any" })(model),
};
const result = streamText({
  model: models[provider](),
  prompt: QUESTION,
  tools: {
    get_weather: tool({ description: "Weather", inputSchema: jsonSchema(PARAMETERS), execute: weather }),
  },
  stopWhen: stepCountIs(20),
  providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 2000 } }, gateway: { reasoningEffort: "high" } },
  onError: ({ error }) => {
    throw error;
  },
});
const steps = await result.steps;
console.log(
  JSON.stringify({
    thoughts: steps.map((step) => step.reasoningText ?? ""),
    calls: steps.flatMap((step) => step.toolCalls.map((call) => call.input.city)),
    text: await result.text,
    finish: await result.finishReason,
    output_tokens: (await result.totalUsage).outputTokens ?? 0,
  }),
);
