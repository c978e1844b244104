/** The exchanges in sight of a conversation, in order, by the ids of their turns. */

import type { Exchange } from "./exchange.js";

export class Exchanges extends Map<string, Exchange> {
  /** The exchange that runs, if one does. */
  get running(): Exchange | null {
    return [...this.values()].reverse().find((exchange) => exchange.running) ?? null;
  }

  /** The first prompt; it serves as title until there is one. */
  get firstPrompt(): string {
    const [first] = this.values();
    return first?.prompt.split("\n")[0]?.slice(0, 80) ?? "";
  }

  /** Whether all thinking is open. */
  get expanded(): boolean {
    const thinking = [...this.values()].filter(({ block }) => block.state.view);
    return thinking.every(({ block }) => block.open);
  }

  /** Draws everything as the preferences say now. */
  restyle(): void {
    for (const exchange of this.values()) exchange.restyle();
  }

  /** Draws the names of those who answered again, once the models are known. */
  redrawNames(): void {
    for (const exchange of this.values()) if (exchange.turn.outcome || exchange.running) exchange.draw();
  }

  expandAll(): void {
    for (const exchange of this.values()) exchange.expandAll();
  }

  collapseAll(): void {
    for (const { block } of this.values()) block.collapseAll();
  }
}
