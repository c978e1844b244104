// The turn: applies events, and says how it ended. Written from docs/port.md.

const blankText = (text) => text.trim() === "";
export const isCall = (block) => block.kind === "tool_call" || block.kind === "assistant_call";
export const isVisible = (block) => isCall(block) || (block.kind === "reasoning" && (!isBlank(block) || block.seals.length > 0));
export const isBlank = (block) => blankText(block.text);
export const awaitsResult = (block) => isCall(block) && block.result === null && block.status === "done";

export class Turn {
  blocks = [];
  seq = -1;
  summary = "";
  summaryBy = "";
  reasoningTokens = null;
  replies = [];
  startedMs = null;
  endedMs = null;
  outcome = null;

  get live() {
    return this.outcome === null;
  }

  own(kind) {
    return this.blocks.filter((block) => block.parent === null && (!kind || block.kind === kind));
  }

  get answered() {
    return this.own("text").some((block) => !isBlank(block));
  }

  /** The text of the own blocks, with a blank line between replies. */
  get answer() {
    const texts = [];
    const ends = this.replies.filter((reply) => reply.parent === null).map((reply) => reply.until);
    for (const block of this.own("text")) {
      const reply = ends.filter((end) => end <= block.number).length;
      if (block.text) texts[reply] = (texts[reply] ?? "") + block.text;
    }
    return texts.filter((text) => text !== undefined).join("\n\n");
  }

  apply({ seq, at_ms: atMs = null, event }) {
    if (seq <= this.seq || !this.live) throw new Error(`entry ${seq} cannot follow`);
    this.#change(event, atMs);
    this.seq = seq;
  }

  #change(event, atMs) {
    const block = this.blocks[event.block];
    switch (event.type) {
      case "turn.started":
        this.startedMs = atMs;
        break;
      case "block.started":
        this.#start(event, atMs);
        break;
      case "block.grew":
        running(block).text += event.text;
        break;
      case "block.sealed":
        block.seals.push(event.seal);
        break;
      case "block.reclassified":
        this.#reclassify(block, event, atMs);
        break;
      case "block.ended":
        running(block).endedMs = atMs;
        block.status = block.error ? "error" : event.interrupted ? "interrupted" : "done";
        break;
      case "tool.finished":
        finish(block, event, atMs);
        break;
      case "approval.asked":
      case "approval.settled":
        block.waits = event.type === "approval.asked";
        break;
      case "summary.written":
        Object.assign(this, { summary: event.text, summaryBy: event.by ?? "model" });
        break;
      case "usage.reported":
        this.reasoningTokens = event.usage.reasoning ?? this.reasoningTokens;
        break;
      case "reply.ended":
        this.#endReply(event);
        break;
      case "turn.ended":
      case "turn.failed":
        if (this.blocks.some(({ status }) => status === "running")) throw new Error("a block is open");
        this.endedMs = atMs;
        this.outcome = outcomeOf(this, event);
    }
  }

  #start(event, atMs) {
    if (event.block !== this.blocks.length) throw new Error(`block ${event.block} is not the next one`);
    this.blocks.push(newBlock({ ...event, number: event.block, startedMs: atMs }));
  }

  #reclassify(block, { kind, tail, into }, atMs) {
    if (tail == null) {
      block.kind = kind;
      return;
    }
    const codePoints = [...block.text];
    const text = codePoints.splice(-tail).join("");
    block.text = codePoints.join("");
    const times = { startedMs: atMs, endedMs: atMs };
    this.blocks.push(newBlock({ number: into, kind, parent: block.parent, text, status: "done", ...times }));
  }

  #endReply({ parent = null, usage = {} }) {
    const before = this.replies.length ? this.reasoningTokens : null;
    const counts = [before, usage.reasoning ?? null].filter((count) => count !== null);
    this.reasoningTokens = counts.length ? counts.reduce((sum, count) => sum + count) : null;
    this.replies.push({ parent, until: this.blocks.length });
  }
}

function newBlock({ number, kind, name = "", parent = null, provenance = "unknown", description = "", ...given }) {
  const { text = "", status = "running", startedMs = null, endedMs = null } = given;
  const call = { result: null, error: "", waits: false };
  return { number, kind, name, parent, provenance, description, text, status, startedMs, endedMs, seals: [], ...call };
}

function running(block) {
  if (block?.status !== "running") throw new Error("the block has ended, or never started");
  return block;
}

function finish(block, { result = "", error = "" }, atMs) {
  Object.assign(block, { result, error });
  if (block.status === "running") return;
  block.status = error ? "error" : "done";
  block.endedMs = atMs;
}

function outcomeOf(turn, { type, code = "", message = "", finish = "unknown" }) {
  if (type === "turn.failed") {
    const lost = code === "cut_off";
    return { ending: lost ? "cut_off" : "failed", lost, reason: message || code };
  }
  const known = { cancelled: "cancelled", refusal: "refused", length: "cut_off" }[finish];
  if (known) return { ending: known };
  if (turn.answered && finish !== "tool_calls") return { ending: "answered" };
  if (turn.own().some((block) => isCall(block) && block.result === null)) return { ending: "called_tools" };
  if (turn.answered) return { ending: "answered" };
  return { ending: turn.own("reasoning").some(isVisible) ? "reasoning_only" : "empty" };
}
