// Runs all stories on the port: node examples/port/stories.mjs [FOLDER]. Prints each difference, and how many stories passed.

import { readdirSync, readFileSync } from "node:fs";
import { Words } from "./text.mjs";
import { Turn } from "./turn.mjs";
import { notice, PANEL, readPolicy, showThinking, toggleThinking, View } from "./view.mjs";

class Story {
  constructor({ policy, locale = "en-US" }) {
    Object.assign(this, { policy: readPolicy(policy), words: new Words(locale), turn: new Turn() });
    Object.assign(this, { whileShown: new Map(), whileHidden: new Map() });
  }

  get choices() {
    if (!this.policy.show_thinking) return this.whileHidden;
    this.whileHidden.clear();
    return this.whileShown;
  }

  step({ at_ms = null, event, events = event ? [event] : [], user, expect = {} }) {
    for (const one of events) this.turn.apply({ seq: this.turn.seq + 1, at_ms, event: one });
    if (user) this.act(user, this.view(at_ms));
    const view = this.view(at_ms);
    const facts = { shown: view.shown, answer: this.turn.answer, notice: notice(this.turn, this.words) };
    return [...differences("", expect, view.shown ? { ...view.facts(), ...facts } : facts)];
  }

  view(atMs) {
    return new View(this.turn, this.policy, this.words, atMs, this.choices);
  }

  act(user, view) {
    const [[act, which]] = Object.entries(user);
    if (act === "open" || act === "close") this.choices.set(which, act === "open");
    if (act === "give_back") this.choices.delete(which);
    if (act === "toggle_all") {
      const states = [view.open, ...view.thoughts.map((block) => view.openOf(block))];
      const open = states.some((state) => state !== "expanded");
      this.choices.clear();
      for (const key of [PANEL, ...this.turn.blocks.keys()]) this.choices.set(key, open);
    }
    if (act === "toggle_thinking") this.policy = toggleThinking(this.policy);
    if (act === "show_thinking") this.policy = showThinking(this.policy, which);
  }
}

function* differences(path, expected, actual) {
  for (const [name, value] of Object.entries(expected)) {
    const found = actual[name];
    if (value !== null && typeof value === "object") {
      if (Array.isArray(value) && value.length !== found?.length)
        yield `${path}${name}: expected ${value.length}, got ${JSON.stringify(found)}`;
      else yield* differences(`${path}${name}.`, value, found);
    } else if (found !== value) yield `${path}${name}: expected ${JSON.stringify(value)}, got ${JSON.stringify(found)}`;
  }
}

const folder = process.argv[2] ?? new URL("../../stories", import.meta.url).pathname;
const files = readdirSync(folder).filter((name) => name.endsWith(".json") && name !== "schema.json");
let passed = 0;
for (const name of files) {
  const story = JSON.parse(readFileSync(`${folder}/${name}`));
  const run = new Story(story);
  const problems = story.steps.flatMap((step, n) => run.step(step).map((problem) => `${name}, step ${n}: ${problem}`));
  for (const problem of problems) console.log(problem);
  if (!problems.length) passed += 1;
}
console.log(`${passed} of ${files.length} stories passed`);
process.exitCode = passed === files.length ? 0 : 1;
