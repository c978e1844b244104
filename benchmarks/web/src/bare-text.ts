/** The floor: text nodes that grow, a new one for each line, with no markdown and nothing around it. */

import { stage } from "./stage.js";

let box = document.createElement("div");
let last: Text | null = null;
let frame = 0;

function grow(text: string): void {
  for (const [at, line] of text.split("\n").entries()) {
    if (at || !last) {
      const home = document.createElement("p");
      home.append((last = new Text()));
      box.append(home);
    }
    last.appendData(line);
  }
  frame ||= requestAnimationFrame(() => {
    frame = 0;
    box.scrollTop = box.scrollHeight;
  });
}

function begin(open: boolean): void {
  box = document.createElement("div");
  box.className = "box";
  box.hidden = !open;
  last = null;
  document.body.replaceChildren(box);
}

window.stage = stage({
  begin,
  grow,
  rest: () => begin(false),
  root: () => box,
  shown: () => box.textContent ?? "",
});
