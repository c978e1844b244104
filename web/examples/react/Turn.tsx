import "thinking-block/react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import type { Policy, ThinkingBlockElement } from "thinking-block";
import recording from "../../../examples/recorded_turn.ndjson?raw";
import { replay } from "../replay.js";

const POLICY: Partial<Policy> = { while_streaming: "peek", after_complete: "collapsed", remember: "none" };

export function Turn(): ReactNode {
  const block = useRef<ThinkingBlockElement>(null);
  const [answer, setAnswer] = useState("");
  const [said, setSaid] = useState("");

  useEffect(() => {
    const element = block.current as ThinkingBlockElement;
    const leaving = new AbortController();
    element.reset(); // React runs an effect twice while developing, and the first turn was stopped
    void element.consume(replay(recording), { signal: leaving.signal }).then(() => setAnswer(element.state.answer));
    return () => leaving.abort();
  }, []);

  return (
    <>
      <thinking-block
        ref={block}
        policy={POLICY}
        onthinking-toggle={({ detail }) => detail.by === "user" && setSaid(detail.open ? "You opened the thinking." : "You closed the thinking.")}
      />
      <p id="answer">{answer}</p>
      <p role="status">{said}</p>
    </>
  );
}
