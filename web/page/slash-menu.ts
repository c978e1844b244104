/** The commands of the message box: a list while one is typed, and what each does. */

import { runThinkingCommand, unknownCommand } from "../src/core/commands.js";
import { addDialogWords } from "./dialog-words.js";
import { confirmed } from "./dialogs.js";
import { h, show } from "./dom.js";
import type { PageContext } from "./page-context.js";
import { currentPreferences } from "./preferences.js";
import { showError } from "./toasts.js";
import { hasWords, t } from "./words.js";

addDialogWords();

/** What each command does. `/thinking` is the same on every chat surface, and run by the core. */
const COMMANDS: Record<string, ((page: PageContext) => unknown) | null> = {
  "/thinking": null,
  "/thinking show": null,
  "/thinking hide": null,
  "/new": (page) => page.go({}),
  "/model": (page) => page.pickAnswerer(),
  "/search": (page) => page.search(),
  "/agents": (page) => import("./agents.js").then(({ openAgents }) => openAgents(page)),
  "/figures": (page) => page.openFigures(),
  "/share": (page) =>
    page.chat.session &&
    import("./share.js").then(({ openShare }) => page.chat.session && openShare(page.chat.session)),
  "/export": (page) =>
    page.chat.session &&
    import("./export-import.js").then(({ exportSession }) => page.chat.session && exportSession(page.chat.session)),
  "/print": () => print(),
  "/settings": (page) => import("./settings.js").then(({ openSettings }) => openSettings(page)),
  "/keys": () => import("./shortcuts.js").then(({ openShortcutSheet }) => openShortcutSheet()),
};
const NEED_SESSION = ["/share", "/export", "/print"];

/** Whether a line that looks like a command and is none is meant for the model. The person is asked. */
export async function sendAnyway(text: string): Promise<boolean> {
  const command = unknownCommand(text);
  return !command || confirmed(t("command.unknown", { command }), t("command.send"));
}

/** Runs what was typed, if it is a command; false if it is none. */
export function runCommand(page: PageContext, text: string): boolean {
  const thinking = runThinkingCommand(text, currentPreferences().display); // it has other spellings too
  const command = thinking
    ? () => page.showThinking(thinking)
    : COMMANDS[text.trim().toLowerCase().replace(/\s+/g, " ")];
  if (!command) return false;
  Promise.resolve(command(page)).catch(showError);
  return true;
}

/** A list of commands above the message box, while one is typed. */
export class SlashMenu {
  readonly node = h("ul", {
    class: "slash-menu",
    role: "listbox",
    tabindex: 0,
    id: "commands",
    "aria-label": t("commands"),
    hidden: true,
  });
  private chosen = 0;

  constructor(
    private page: PageContext,
    private area: HTMLTextAreaElement,
    private run: (command: string) => void,
  ) {
    area.setAttribute("aria-controls", this.node.id);
    area.addEventListener("blur", () => this.close());
  }

  get open(): boolean {
    return !this.node.hidden;
  }

  /** Draws the commands that begin with what is typed. */
  update(): void {
    const typed = this.area.value.toLowerCase();
    const commands = Object.keys(COMMANDS).filter(
      (name) => name.startsWith(typed) && (this.page.chat.session || !NEED_SESSION.includes(name)),
    );
    if (!/^\/[a-z ]*$/.test(typed) || !commands[0]) return this.close();
    this.chosen = Math.min(this.chosen, commands.length - 1);
    this.node.replaceChildren(
      ...commands.map((name, index) =>
        h(
          "li",
          {
            role: "option",
            id: `command-${index}`,
            "aria-selected": String(index === this.chosen),
            "data-command": name,
            // Before the message box loses the focus, and with it the list.
            onpointerdown: (event: Event) => {
              event.preventDefault();
              this.take(name);
            },
          },
          h("code", null, name),
          h("span", { class: "muted" }, hasWords(`command.${name}`) ? t(`command.${name}`) : ""),
        ),
      ),
    );
    show(this.node, true);
    this.area.setAttribute("aria-activedescendant", `command-${this.chosen}`);
    this.node.children[this.chosen]?.scrollIntoView({ block: "nearest" });
  }

  /** Whether a key was for the list. */
  key(event: KeyboardEvent): boolean {
    if (!this.open) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const count = this.node.children.length;
    if (step) {
      this.chosen = (this.chosen + step + count) % count;
      this.update();
    } else if (event.key === "Escape") this.close();
    else if (event.key === "Enter" || event.key === "Tab") this.take(this.current);
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  private get current(): string {
    return (this.node.children[this.chosen] as HTMLElement | undefined)?.dataset.command ?? "";
  }

  private take(command: string): void {
    this.close();
    this.run(command);
  }

  private close(): void {
    this.chosen = 0;
    show(this.node, false);
    this.area.removeAttribute("aria-activedescendant");
  }
}
