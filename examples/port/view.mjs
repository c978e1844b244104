// The view of a turn: words and states, and the rows of an open panel. Written from docs/port.md.

import { callInput, countWords, firstCharacters, firstColumns, newestLine, plainLine, preview, sentenceOf, titleOf } from "./text.mjs";
import { awaitsResult, isBlank, isCall, isVisible } from "./turn.mjs";

const DEFAULTS = { preset: "default", while_streaming: "peek", after_complete: "collapsed", auto_close: true, header: "auto", show_thinking: true };
const PRESETS = {
  default: {},
  koder: { while_streaming: "collapsed", header: "label" },
  preview: { while_streaming: "expanded", header: "preview" },
  toggle: { while_streaming: "expanded", after_complete: "hidden" },
  agent: { while_streaming: "collapsed", header: "preview" },
  trace: { while_streaming: "expanded", header: "summary" },
};
export const PANEL = "panel";
const BURST_MS = 50;

export const readPolicy = (settings = {}) => ({ ...DEFAULTS, ...PRESETS[settings.preset ?? "default"], ...settings });

export function showThinking(policy, shown) {
  const { after_complete } = policy;
  if (!shown) return { ...policy, show_thinking: false };
  return { ...policy, show_thinking: true, after_complete: after_complete === "hidden" ? "expanded" : after_complete };
}

export const toggleThinking = (policy) => showThinking(policy, !policy.show_thinking || policy.after_complete === "hidden");

/** The sentence on how the turn ended. */
export function notice({ outcome }, words) {
  if (!outcome || ["answered", "called_tools"].includes(outcome.ending)) return "";
  if (outcome.lost) return words.say("notice.connection_lost");
  if (outcome.ending === "failed") return outcome.reason ? words.say("notice.failed", { reason: outcome.reason }) : "";
  const key = { cut_off: "cut_by_limit", cancelled: "stopped" }[outcome.ending] ?? outcome.ending;
  return words.say(`notice.${key}`);
}

export class View {
  constructor(turn, policy, words, nowMs, choices) {
    Object.assign(this, { turn, policy, words, nowMs, choices });
    this.steps = turn.own().filter(isVisible);
    this.thoughts = this.steps.filter((block) => block.kind === "reasoning");
    this.status = this.#status();
    this.time = this.#time();
    this.call = this.#callAtWork();
    const ending = turn.outcome?.ending;
    const without = (ending === "reasoning_only" || ending === "cut_off") && !turn.answered;
    this.unfinished = without ? this.thoughts.at(-1) : undefined;
  }

  get shown() {
    return this.steps.length > 0;
  }

  // States

  #status() {
    const { turn, steps } = this;
    const ending = turn.outcome?.ending;
    if (turn.live) {
      const works = steps.some((block) => block.status === "running" || awaitsResult(block));
      const last = turn.own().findLast((block) => isVisible(block) || !isBlank(block));
      return works || (last && isCall(last)) ? "thinking" : "done";
    }
    if (ending === "failed") return "error";
    const cut = ending === "cut_off" || ending === "cancelled";
    const whileThinking = !turn.answered || steps.some(({ status }) => status === "interrupted");
    return cut && whileThinking ? "interrupted" : "done";
  }

  #callAtWork() {
    const working = this.turn.live ? this.steps.filter((block) => block.status === "running" || awaitsResult(block)) : [];
    return working.every(isCall) ? working.at(-1) : undefined;
  }

  statusOf(block) {
    const { turn, status } = this;
    if (status === "interrupted" && block === this.steps.at(-1) && block.result === null) return status;
    if (block.status === "error") return "error";
    if (block.status === "interrupted") return turn.live ? "interrupted" : status;
    return turn.live && (block.status === "running" || awaitsResult(block)) ? "thinking" : "done";
  }

  #open(live, choice, unfinished) {
    const { while_streaming, after_complete, auto_close, show_thinking, preset } = this.policy;
    if (choice !== undefined) return choice ? "expanded" : "collapsed";
    if (live) return while_streaming;
    if (!show_thinking) return "hidden";
    if (!auto_close && while_streaming === "expanded") return "expanded";
    if (unfinished && preset === "default" && after_complete !== "hidden") return "expanded";
    return after_complete;
  }

  get open() {
    const own = this.steps.map(({ number }) => this.choices.get(number));
    let choice = this.choices.get(PANEL);
    if (choice === undefined && own.includes(true)) choice = true;
    if (choice === undefined && own.every((one) => one === false)) choice = false;
    return this.#open(this.status === "thinking", choice, this.unfinished !== undefined);
  }

  openOf(block) {
    const live = this.statusOf(block) === "thinking";
    let panel = this.choices.get(PANEL);
    if (panel && this.policy.preset === "default") {
      const siblings = this.turn.blocks.filter((one) => one.parent === block.parent && isVisible(one));
      panel = live || block === siblings.at(-1);
    }
    return this.#open(live, this.choices.get(block.number) ?? panel, block === this.unfinished);
  }

  // Times and labels

  #duration({ startedMs, endedMs }) {
    const end = endedMs ?? this.nowMs;
    return startedMs === null || end === null ? null : Math.max(0, end - startedMs);
  }

  /** How long a call took; empty for a thought, while the call works, and if it is unknown. */
  #callDuration(block) {
    const { startedMs, endedMs } = block;
    if (!isCall(block) || this.statusOf(block) === "thinking" || startedMs === null || endedMs === null) return "";
    return this.words.duration(endedMs - startedMs);
  }

  #time() {
    const { turn } = this;
    const durations = turn.own("reasoning").map((block) => this.#duration(block));
    if (!durations.length || durations.includes(null)) return null;
    const ms = durations.reduce((sum, one) => sum + one);
    if (ms >= BURST_MS) return { ms };
    if (turn.live) return null;
    const starts = turn.own().filter(({ kind, startedMs }) => kind !== "reasoning" && startedMs !== null);
    const end = starts.length ? Math.min(...starts.map(({ startedMs }) => startedMs)) : turn.endedMs;
    if (turn.startedMs === null || end === null || end <= turn.startedMs) return null;
    return { ms: end - turn.startedMs, approximate: true };
  }

  /** The time of the call at work, else of the turn. */
  get #headerTime() {
    const { call, nowMs } = this;
    if (!call) return this.time;
    if (call.startedMs === null || nowMs === null) return null;
    return { ms: Math.max(0, nowMs - call.startedMs) };
  }

  #timeOf(block) {
    const ms = this.#duration(block);
    if (ms !== null && ms >= BURST_MS) return { ms };
    return this.thoughts.length === 1 && this.time?.approximate ? this.time : null;
  }

  #timeText(time) {
    if (!time) return "";
    const duration = this.words.duration(time.ms);
    return time.approximate ? this.words.say("approximate", { duration }) : duration;
  }

  #thoughtLabel(status, duration) {
    const { words, turn } = this;
    if (status === "thinking") return words.say("streaming");
    if (status === "done") return duration ? words.say("complete", { duration }) : words.say("complete_unknown");
    if (status === "error") return words.say("status.error");
    const { lost, ending } = turn.outcome ?? {};
    if (lost) return words.say("connection_lost");
    return words.say({ cancelled: "stopped", cut_off: "cut_by_limit" }[ending] ?? "interrupted");
  }

  get label() {
    const { status, words, call } = this;
    if (call) return call.kind === "tool_call" && !call.waits ? words.say("calling", { name: this.#nameOf(call) }) : this.labelOf(call);
    const bar = this.policy.header === "summary";
    if (bar && status === "thinking") return words.say("status.thinking");
    if (status === "done" && (bar || !this.thoughts.length)) return words.say("status.done");
    return this.#thoughtLabel(status, this.#timeText(this.time));
  }

  labelOf(block) {
    const status = this.statusOf(block);
    if (!isCall(block)) return this.#thoughtLabel(status, this.#timeText(this.#timeOf(block)));
    const name = this.#nameOf(block);
    if (status === "thinking" && block.waits) return this.words.say("approval", { name });
    return status === "thinking" && block.kind === "assistant_call" ? this.words.say("working", { name }) : name;
  }

  #nameOf({ name, kind }) {
    return name || this.words.say(kind === "assistant_call" ? "assistant" : "tool");
  }

  // Words

  #placeholder(block) {
    if (!block.seals.length || !isBlank(block)) return "";
    const forms = block.seals.map(({ form }) => form);
    return this.words.say(["redacted", "encrypted"].find((form) => forms.includes(form)) ?? "withheld");
  }

  #wordsOf(block) {
    return this.statusOf(block) === "thinking" || this.#placeholder(block) ? null : countWords(block.text);
  }

  #blockFacts(block, index) {
    const status = this.statusOf(block);
    const { provenance, number } = block;
    return {
      block: number,
      status,
      open: this.openOf(block),
      step: this.thoughts.length > 1 ? this.words.say("step", { n: index + 1 }) : "",
      label: this.labelOf(block),
      duration: this.#timeText(this.#timeOf(block)),
      words: this.words.count("words", this.#wordsOf(block)),
      preview: preview(block.text),
      peek: status === "thinking" ? newestLine(block.text) : "",
      placeholder: this.#placeholder(block),
      provenance: provenance === "unknown" ? "" : this.words.say(`provenance.${provenance}`),
    };
  }

  #stepFacts(block) {
    const given = isCall(block) ? callInput(block.text) : { text: this.#placeholder(block) || block.text, input: "" };
    return {
      block: block.number,
      kind: block.kind,
      status: this.statusOf(block),
      label: this.labelOf(block),
      ...given,
      description: block.description,
      duration: this.#callDuration(block),
      result: firstCharacters(block.error || (block.result ?? ""), 280),
      open: this.openOf(block),
      steps: this.turn.blocks.filter((one) => one.parent === block.number && isVisible(one)).map((one) => this.#stepFacts(one)),
    };
  }

  #summary() {
    const { turn, thoughts } = this;
    const line = (text) => firstColumns(plainLine(text), 120);
    const readable = thoughts.filter((block) => !isBlank(block));
    const title = thoughts.map(({ text }) => titleOf(text)).findLast(Boolean);
    if (turn.summary) return { text: line(turn.summary), written: true };
    if (title) return { text: line(title), written: true };
    const source = turn.live ? readable[0] : readable.at(-1);
    return { text: source ? line(sentenceOf(source.text, turn.live)) : "", written: false };
  }

  #header(facts, summary) {
    const { header } = this.policy;
    const icon = { thinking: "⚙", error: "⚠" }[this.status] ?? "💭";
    const summarized = header === "summary" || (header === "auto" && summary.written);
    const text = header === "label" ? "" : (summarized && summary.text) || facts.preview;
    if (header === "summary" && text) return `${icon} ${text} · ${facts.label}`;
    if (header === "preview" && text && this.status === "done") return `${icon} ${text}`;
    const time = this.status === "done" ? "" : facts.duration;
    const line = [facts.label, time, facts.words].filter(Boolean).join(" · ");
    return text ? `${icon} ${line} — ${text}` : `${icon} ${line}`;
  }

  /** Everything that a story may ask for. */
  facts() {
    const { words, turn, status, open } = this;
    const live = status === "thinking";
    const blocks = this.thoughts.map((block, index) => this.#blockFacts(block, index));
    const steps = this.steps.map((block) => this.#stepFacts(block));
    const counts = this.thoughts.map((block) => this.#wordsOf(block)).filter((count) => count !== null);
    const calls = turn.blocks.filter(isCall);
    const own = calls.filter(({ parent }) => parent === null).length;
    const summary = this.#summary();
    const newestLines = live ? this.thoughts.map(({ text }) => newestLine(text)) : [];
    const facts = {
      status,
      open,
      label: this.label,
      duration: this.#timeText(this.#headerTime),
      words: live ? "" : words.count("words", counts.reduce((sum, one) => sum + one, 0)),
      tokens: words.count("tokens", turn.reasoningTokens),
      summary: summary.text,
      preview: blocks.find((block) => block.preview)?.preview ?? "",
      peek: newestLines.findLast(Boolean) ?? "",
      badge: own ? `🔧 ${words.say("tools", { n: own })}` : "",
      badge_title: calls.length > own ? words.say("tools_deep", { n: calls.length }) : "",
      marker: !live && open === "hidden" ? words.say("hidden") : "",
      blocks,
      steps,
    };
    return { ...facts, header: this.#header(facts, summary), rows: rowsOf(facts) };
  }
}

/** The texts below the header of the panel, from top to bottom. */
function rowsOf({ open, steps, blocks }) {
  if (open !== "expanded") return [];
  const lines = (text) => text.split("\n").filter(Boolean);
  if (steps.length === 1 && steps[0].kind === "reasoning") return lines(steps[0].text);
  const rows = (step) => {
    const block = blocks.find((one) => one.block === step.block);
    const expanded = step.open === "expanded";
    if (step.open === "hidden") return [];
    const label = [expanded ? "▼" : "▶", block?.step, step.label].filter(Boolean).join(" ");
    if (step.kind === "reasoning") {
      const first = step.open === "collapsed" ? (block ? block.placeholder || block.preview : preview(step.text)) : "";
      return [label, block?.words, first, ...(expanded ? lines(step.text) : [])];
    }
    if (!expanded) return [label, step.text || step.description, step.duration];
    const before = [step.input ? "" : step.text, step.duration, step.description, ...lines(step.input)];
    return [label, ...before, ...step.steps.flatMap(rows), ...lines(step.result)];
  };
  return steps.flatMap(rows).filter(Boolean);
}
