/** Brings one step of an exchange into sight, with everything open that it is in. */

import type { Exchange } from "./exchange.js";

/** Open a step and what it lies in, and scroll to it; what lies too deep opens beside the conversation. */
export async function revealStep({ turn, block: element }: Exchange, step: number): Promise<void> {
  const path: number[] = [];
  for (let number: number | null = step; number !== null; number = turn.blocks[number]?.parent ?? null)
    path.unshift(number);
  for (const number of path) element.choose(number, true, "find");
  element.refresh();
  await element.ready; // what is behind the header may still be on its way
  const home = element.shadowRoot?.querySelector(`[part~="step"][data-block="${step}"]`) ?? element;
  home.scrollIntoView({ block: "nearest" });
}
