/**
 * A message of the AI SDK (`UIMessage` of its versions 5 to 7, as `useChat` gives it), as steps and texts in the order of its parts.
 *
 * Files, sources, data and what a person added to the run are no thinking and no answer; they are passed over. A message
 * has no times. A call whose result is only preliminary is still at work.
 */

import type { Approval } from "../core/turn.js";
import type { ThinkingStep } from "./records.js";

/** As much of the AI SDK's own type as is needed, so that a message of any version fits. */
export interface UIMessage {
  id?: string;
  parts: readonly { readonly type: string }[];
}

/** What a part may have, of whatever type it is. */
interface Part {
  readonly type: string;
  text?: string;
  state?: string;
  toolCallId?: string;
  toolName?: string;
  title?: string;
  input?: unknown;
  rawInput?: unknown;
  output?: unknown;
  preliminary?: boolean;
  errorText?: string;
  approval?: { approved?: boolean };
}

/** A thought or a call, a text of the answer, or the beginning of the next step of the run. */
export type MessageItem =
  | { kind: "step"; step: ThinkingStep; approval: Approval; running: boolean }
  | { kind: "text"; id: string; text: string; running: boolean }
  | { kind: "next"; running: false };

const CALL = /^(?:tool-(.+)|dynamic-tool)$/s;

/** What a message is made of, in the order of its parts. */
export function messageItems({ parts }: UIMessage): MessageItem[] {
  return (parts as readonly Part[]).flatMap((part, index) => {
    const { type, text = "" } = part;
    const running = part.state === "streaming";
    const [call, name = part.toolName] = CALL.exec(type) ?? [];
    if (call) return callItem(part, name ?? "", index);
    if (type === "text") return { kind: "text", id: `text ${index}`, text, running };
    if (type === "step-start") return { kind: "next", running: false };
    if (type !== "reasoning") return [];
    const status = running ? "thinking" : "done";
    return { kind: "step", step: { id: `${index}`, type, content: text, status }, approval: "", running };
  });
}

function callItem(part: Part, toolName: string, index: number): MessageItem {
  const { state, output, errorText, preliminary } = part;
  const approval = approvalOf(part);
  const failed = state === "output-error";
  const finished = state === "output-available" && !preliminary;
  const running = !failed && !finished && approval !== "denied";
  const result = finished ? outputText(output) : errorText;
  const step: ThinkingStep = {
    id: `call ${part.toolCallId ?? index}`,
    type: "tool_call",
    content: part.title ?? "",
    toolName,
    toolInput: textOf(state === "input-streaming" ? (part.rawInput ?? part.input) : part.input),
    toolResult: running ? undefined : result,
    status: running ? "thinking" : failed ? "error" : "done",
  };
  return { kind: "step", step, approval, running };
}

function approvalOf({ state, approval }: Part): Approval {
  if (state === "approval-requested") return "asked";
  if (state === "output-denied" || approval?.approved === false) return "denied";
  return approval?.approved ? "granted" : "";
}

/** The JSON of outputs: a message comes again with every token, with the same outputs in it. */
const outputTexts = new WeakMap<object, string>();

function outputText(output: unknown): string {
  if (typeof output !== "object" || !output) return textOf(output);
  const text = outputTexts.get(output) ?? textOf(output);
  outputTexts.set(output, text);
  return text;
}

function textOf(value: unknown): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
