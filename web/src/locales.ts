/**
 * The words on the screen, in English; `|` parts "one" from "other".
 *
 * A key `streaming` is `ai.thinking.streaming` in the Python package's tables, `notice.empty` is
 * `ai.notice.empty`, and the words are the same to the letter. The last group is the page's alone.
 */

export type Table = Record<string, string>;

/** One language: how it writes numbers, which counts are "one", and its words. */
export interface Locale {
  name: string;
  decimal: string;
  thousands: string;
  ones: number[];
  words: Table;
}

export const EN_US: Locale = {
  name: "en-US",
  decimal: ".",
  thousands: ",",
  ones: [1],
  // prettier-ignore
  words: {
    streaming: "Thinking...",
    complete: "Thought for {duration}",
    complete_unknown: "Thought",
    approximate: "≈{duration}",
    words: "{n} word|{n} words",
    tokens: "{n} token|{n} tokens",
    step: "[Step {n}]",
    waiting: "Waiting…",
    still_waiting: "Still waiting…",
    interrupted: "Interrupted",
    stopped: "Stopped",
    cut_by_limit: "Cut off",
    connection_lost: "Connection lost",
    "status.thinking": "Thinking…",
    "status.done": "Done",
    "status.error": "Failed",
    tools: "{n} tool used|{n} tools used",
    tools_deep: "{n} with those of assistants",
    tool: "Tool",
    assistant: "Assistant",
    working: "{name} is working…",
    encrypted: "Thought; the provider encrypted the text, so it cannot be shown.",
    redacted: "Thought; the provider redacted the text, so it cannot be shown.",
    withheld: "Thought; the provider withheld the text.",
    "provenance.raw": "Model's own words",
    "provenance.summary": "Provider's summary",
    "provenance.generated": "Generated summary",
    hidden: "Thinking hidden",
    "notice.reasoning_only": "Model provided reasoning but no response. Try rephrasing your question.",
    "notice.empty": "The model gave no answer.",
    "notice.refused": "The model declined to answer.",
    "notice.stopped": "Stopped before the answer was complete.",
    "notice.cut_by_limit": "The length limit cut the answer off.",
    "notice.connection_lost": "The connection was lost before the answer was complete.",
    "notice.failed": "The answer failed: {reason}",
    "session.thinking": "Thinking",
    "session.result": "Result",
    "session.error": "Error",

    copy: "Copy",
    copied: "Copied",
    close: "Close",
    reset: "Reset to default",
    retry: "Try again",
    answer_now: "Answer now",
    waited: "Waited {duration}",
    tokens_of: "{n} of {of} tokens",
    image: "Image not loaded",
    "approval.asked": "Waiting for approval",
    "approval.granted": "Approved",
    "approval.denied": "Declined",
  },
};
