/** Settings: how thinking is shown, in which language, what a screen reader is told. Kept as soon as they are changed. */

import { readPolicy } from "../src/core/open-rule.js";
import type { Policy } from "../src/core/policy.js";
import { type Preferences, requestJson, switchWorkspace, type Workspaces } from "./api.js";
import { addDialogWords } from "./dialog-words.js";
import { open, select } from "./dialogs.js";
import { h, say } from "./dom.js";
import type { PageContext } from "./page-context.js";
import {
  applyTheme,
  changePreferences,
  currentPreferences,
  currentRunningIcon,
  currentTheme,
  keepRunningIcon,
  requestSettings,
  saveLocalSettings,
} from "./preferences.js";
import { shortcuts } from "./shortcuts.js";
import { tellOtherTabs } from "./storage.js";
import { notify, showError } from "./toasts.js";
import { currentLanguage, t } from "./words.js";

addDialogWords();

const LANGUAGES = { "en-US": "English", "pt-BR": "Português (Brasil)" };

/** Keeps some of one's currentPreferences(). */
export type Keep = (more: Partial<Preferences>) => void;

const options = (group: string, ...names: string[]): [string, string][] =>
  names.map((name) => [name, t(`${group}.${name}`)]);
const keyed = (key: string, node: HTMLElement): HTMLElement => {
  node.dataset.key = key;
  return node;
};

/** Opens the settings dialog. */
export async function openSettings(page: PageContext): Promise<void> {
  const workspaces = await requestJson<Workspaces>("/api/workspaces");
  const { body, dialog } = open(t("settings"), "");
  const request = h(
    "section",
    null,
    requestFields(() => {
      notify(t("saved"));
      page.composer.draw();
    }),
  );
  const keep: Keep = (more) => {
    const anew = more.language !== undefined;
    const kept = changePreferences(more);
    if (!anew) page.restyle(false); // seen at once; the gateway may take its time
    kept
      .then(() => {
        notify(t("saved"));
        tellOtherTabs({ preferences: true });
      })
      .catch(showError)
      .finally(() => {
        // This browser keeps a language, also where the gateway does not.
        if (!anew) return draw();
        dialog.close();
        page.restyle(true);
      });
  };
  const draw = (): void => {
    const focused = (document.activeElement?.closest("[data-key]") as HTMLElement | null)?.dataset.key;
    body.replaceChildren(
      place(workspaces),
      shown(keep, () => page.restyle(false)),
      general(keep),
      request,
      shortcuts(keep),
    );
    if (focused) body.querySelector<HTMLElement>(`[data-key="${focused}"] :is(select, button)`)?.focus();
  };
  draw();
}

/** Where these settings hold; to be chosen where there is a choice. */
function place({ items, current }: Workspaces): HTMLElement {
  const named = items.map(({ id, name }): [string, string] => [id, name]);
  const name = items.find(({ id }) => id === current)?.name ?? "";
  const row = items[1]
    ? select(t("settings.workspace"), named, current, (id) => switchWorkspace(id === items[0]?.id ? "" : id))
    : h("p", { class: "field row" }, h("span", null, t("settings.workspace")), h("strong", null, name));
  return h(
    "section",
    { class: "stack" },
    keyed("workspace", row),
    h("p", { class: "muted small" }, t("settings.workspace.about")),
  );
}

function shown(keep: Keep, restyle: () => void): HTMLElement {
  const { display, render } = currentPreferences();
  // What was chosen a moment ago may not have come back yet, and is not to be undone.
  const show = (more: Partial<Policy>): void => keep({ display: { ...currentPreferences().display, ...more } });
  return h(
    "section",
    { class: "stack" },
    h("h3", null, t("settings.thinking")),
    h("p", { class: "muted small" }, t("settings.thinking.about")),
    keyed(
      "preset",
      select(
        t("settings.preset"),
        options("preset", "default", "koder", "preview", "toggle", "agent", "trace"),
        display.preset,
        (preset) => keep({ display: readPolicy({ preset }) }),
      ),
    ),
    keyed(
      "live",
      select(
        t("settings.live"),
        options("open", "peek", "collapsed", "expanded", "hidden"),
        display.while_streaming,
        (value) => show({ while_streaming: value as Policy["while_streaming"] }),
      ),
    ),
    keyed(
      "rest",
      select(
        t("settings.rest"),
        options("open", "collapsed", "expanded", "hidden"),
        display.show_thinking ? display.after_complete : "hidden",
        (value) => show({ after_complete: value as Policy["after_complete"], show_thinking: true }),
      ),
    ),
    keyed(
      "running-icon",
      select(t("settings.running_icon"), options("running_icon", "dot", "gear"), currentRunningIcon(), (value) => {
        keepRunningIcon(value);
        restyle();
      }),
    ),
    keyed(
      "render",
      select(t("settings.render"), options("render", "markdown", "plain"), render, (value) => keep({ render: value })),
    ),
    keyed(
      "voice",
      select(t("settings.voice"), options("voice", "status", "content", "off"), display.live_region, (value) =>
        show({ live_region: value as Policy["live_region"] }),
      ),
    ),
  );
}

function general(keep: Keep): HTMLElement {
  return h(
    "section",
    { class: "stack" },
    h("h3", null, t("settings.general")),
    keyed(
      "language",
      select(t("settings.language"), Object.entries(LANGUAGES), currentLanguage(), (language) => keep({ language })),
    ),
    keyed(
      "theme",
      select(t("settings.theme"), options("theme", "system", "light", "dark"), currentTheme(), (value) =>
        applyTheme(value),
      ),
    ),
    keyed(
      "context",
      select(
        t("settings.context"),
        options("context", "provider_default", "keep", "strip"),
        currentPreferences().context_mode,
        (context_mode) => keep({ context_mode }),
      ),
    ),
  );
}

interface Field {
  name: string;
  node: HTMLInputElement | HTMLTextAreaElement;
  /** What the text stands for; throws where it stands for nothing. */
  read(text: string): unknown;
  write(value: unknown): string;
}

/** The fields; `changed` is called when one was kept. */
export function requestFields(changed: () => void): HTMLElement {
  const fields: Field[] = [
    number("temperature", { min: 0, max: 2, step: "any" }),
    number("top_p", { min: 0, max: 1, step: "any" }),
    number("max_tokens", { min: 1, max: 10_000_000, step: 1 }),
    number("seed", { step: 1 }),
    {
      name: "stop",
      node: h("textarea", { class: "input", rows: 2 }),
      read: (text) => text.split("\n").filter(Boolean),
      write: (value) => (value as string[]).join("\n"),
    },
    json("output_schema"),
    json("extra"),
  ];
  const problem = h("p", { class: "error-text small", role: "alert", hidden: true });
  const keep = (): void => {
    const values: Record<string, unknown> = {};
    const wrong: string[] = [];
    for (const { name, node, read } of fields) {
      const bad = node instanceof HTMLInputElement && !node.validity.valid;
      const text = node.value.trim();
      try {
        if (bad) throw new SyntaxError();
        if (text) values[name] = read(text);
        node.removeAttribute("aria-invalid");
      } catch {
        node.setAttribute("aria-invalid", "true");
        wrong.push(t(`request.${name}`));
      }
    }
    problem.hidden = !wrong[0];
    say(problem, t("request.wrong", { names: wrong.join(", ") }));
    if (wrong[0]) return;
    saveLocalSettings({ request: values });
    changed();
  };
  const current = requestSettings();
  return h(
    "details",
    { class: "request-settings", open: Object.keys(current).length > 0 },
    h("summary", null, t("settings.request")),
    h(
      "div",
      { class: "stack" },
      h("p", { class: "muted small" }, t("settings.request.about")),
      ...fields.map(({ name, node, write }) => {
        if (current[name] !== undefined) node.value = write(current[name]);
        node.addEventListener("change", keep);
        node.spellcheck = false;
        return h("label", { class: "field row" }, h("span", null, t(`request.${name}`)), node);
      }),
      problem,
    ),
  );
}

function number(name: string, limits: Record<string, unknown>): Field {
  const node = h("input", { class: "input", type: "number", placeholder: t("request.default"), ...limits });
  return { name, node, read: Number, write: String };
}

/** An object as JSON; anything else is refused. */
function json(name: string): Field {
  return {
    name,
    node: h("textarea", { class: "input code-input", rows: 3, placeholder: "{ }" }),
    read: (text) => {
      const value: unknown = JSON.parse(text);
      if (typeof value !== "object" || value === null || Array.isArray(value)) throw new SyntaxError();
      return value;
    },
    write: (value) => JSON.stringify(value, null, 2),
  };
}
