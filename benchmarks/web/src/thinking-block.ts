/** The element, fed with canonical entries as they come from a gateway. */

import "thinking-block";
import type { Event } from "thinking-block";
import { stage } from "./stage.js";

let seq = 0;
let block = document.createElement("thinking-block");

function tell(event: Event, at_ms = Date.now()): void {
  block.feed({ seq: seq++, at_ms, event });
}

function begin(open: boolean): void {
  seq = 0;
  block = document.createElement("thinking-block");
  block.policy = { while_streaming: open ? "expanded" : "collapsed", remember: "none" };
  tell({ type: "turn.started" });
  tell({ type: "block.started", block: 0, kind: "reasoning" });
}

window.stage = stage({
  begin(open) {
    begin(open);
    document.body.replaceChildren(block);
  },
  grow: (text) => tell({ type: "block.grew", block: 0, text }),
  rest(texts) {
    const blocks = texts.map((text) => {
      begin(false);
      tell({ type: "block.grew", block: 0, text });
      tell({ type: "block.ended", block: 0 });
      tell({ type: "turn.ended", finish: "stop" });
      return block;
    });
    document.body.replaceChildren(...blocks);
  },
  root: () => block.shadowRoot as ShadowRoot,
  shown: () => block.shadowRoot?.querySelector(".body")?.textContent ?? "",
});
