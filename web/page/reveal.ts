/** Bringing one step of an exchange into sight, with everything open that it is in. */

import type { Exchange } from "./exchange.js";

/** Open a step and what it lies in, and scroll to it; what lies too deep opens beside the conversation. */
export async function reveal({ turn, block: element }: Exchange, step: number): Promise<void> {
  const way: number[] = [];
  for (let at: number | null = step; at !== null; at = turn.blocks[at]?.parent ?? null) way.unshift(at);
  for (const at of way) element.choose(at, true, "find");
  element.refresh();
  await element.ready; // what is behind the header may still be on its way
  const home = element.shadowRoot?.querySelector(`[part~="step"][data-block="${step}"]`) ?? element;
  home.scrollIntoView({ block: "nearest" });
}
