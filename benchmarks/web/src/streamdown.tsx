/**
 * Streamdown as its guide has it, at its cheapest: no plugin for code, maths or diagrams, no animation.
 *
 * Around it is what a page needs for thinking: a box that scrolls along, and nothing of it where it is
 * closed, as a collapsible of React has it.
 */

import { type ReactNode, useLayoutEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import { Streamdown } from "streamdown";
import { stage } from "./stage.js";

let grow: (text: string) => void = () => undefined;

function Live({ open }: { open: boolean }): ReactNode {
  const [text, setText] = useState("");
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    grow = (delta) => setText((said) => said + delta);
  }, []);
  useLayoutEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  return (
    <section>
      <button type="button">Thinking</button>
      {open && (
        <div className="box" ref={box}>
          <Streamdown isAnimating>{text}</Streamdown>
        </div>
      )}
    </section>
  );
}

function Rested({ text }: { text: string }): ReactNode {
  const [open, setOpen] = useState(false);
  return (
    <section>
      <button type="button" onClick={() => setOpen(!open)}>
        Thought
      </button>
      {open && <Streamdown mode="static">{text}</Streamdown>}
    </section>
  );
}

const home = document.createElement("main");
document.body.append(home);
const root = createRoot(home);
let lives = 0;

window.stage = stage({
  begin: (open) => flushSync(() => root.render(<Live key={lives++} open={open} />)),
  grow: (text) => grow(text),
  rest: (texts) => flushSync(() => root.render(texts.map((text, at) => <Rested key={at} text={text} />))),
  root: () => home,
  shown: () => home.querySelector(".box")?.textContent ?? "",
});
