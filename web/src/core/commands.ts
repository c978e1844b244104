/**
 * Commands that a person types into the message box, the same on every chat surface.
 *
 * A line that looks like a command but is none is not sent to a model without asking. A path does not look like one.
 */

import { showThinking, toggled } from "./open-rule.js";
import type { Policy } from "./policy.js";

const THINKING_COMMAND = /^[/:](?:toggle\s+)?thinking(?:\s+(show|hide))?$/i;
const COMMAND = /^[/:][a-z][\w-]*(?=\s|$)/i;

/** The policy after a `/thinking` command; null if the text is no such command. */
export function runThinkingCommand(text: string, policy: Policy): Policy | null {
  const command = THINKING_COMMAND.exec(text.trim());
  if (!command) return null;
  return command[1] ? showThinking(policy, command[1].toLowerCase() === "show") : toggled(policy);
}

/** The command that a text begins with, such as `/thinkin`; empty if it begins with none. */
export function unknownCommand(text: string): string {
  return COMMAND.exec(text.trim())?.[0] ?? "";
}
