/** Settings: how thinking is shown, in which language, what a screen reader is told. Kept as soon as they are changed. */

import { type Policy, readPolicy } from "../src/opening.js";
import type { Preferences } from "./api.js";
import { open, select } from "./dialogs.js";
import { h } from "./dom.js";
import { learnMore } from "./more-words.js";
import { change, dress, mirror, preferences, reflect } from "./prefs.js";
import { complain, note } from "./saying.js";
import { page, tabs } from "./shell.js";
import { LANGUAGES, t } from "./words.js";

learnMore();

const options = (group: string, ...names: string[]): [string, string][] => names.map((name) => [name, t(`${group}.${name}`)]);

export async function settings(): Promise<void> {
  const { body, dialog } = open(t("settings"), "");
  const keep = (more: Partial<Preferences>): void => {
    const anew = more.language !== undefined;
    change(more)
      .then(() => {
        note(t("saved"));
        tabs.postMessage({ preferences: true });
        if (anew) {
          dialog.close();
          page.restyle(true);
        } else {
          page.restyle(false);
          draw();
        }
      })
      .catch(complain);
  };
  const draw = (): void => {
    const focused = (document.activeElement?.closest("[data-key]") as HTMLElement | null)?.dataset.key;
    body.replaceChildren(...fields(keep));
    if (focused) body.querySelector<HTMLElement>(`[data-key="${focused}"] select`)?.focus();
  };
  draw();
}

function fields(keep: (more: Partial<Preferences>) => void): HTMLElement[] {
  const { display } = preferences;
  const show = (more: Partial<Policy>): void => keep({ display: { ...display, ...more } });
  const { theme = "system", render = "markdown" } = mirror();
  const keyed = (key: string, node: HTMLElement): HTMLElement => ((node.dataset.key = key), node);
  return [
    h(
      "section",
      { class: "stack" },
      h("h3", null, t("settings.thinking")),
      h("p", { class: "muted small" }, t("settings.thinking.about")),
      keyed("preset", select(t("settings.preset"), options("preset", "default", "koder", "preview", "toggle", "agent", "trace"), display.preset, (preset) => keep({ display: readPolicy({ preset }) }))),
      keyed("live", select(t("settings.live"), options("open", "peek", "collapsed", "expanded", "hidden"), display.while_streaming, (value) => show({ while_streaming: value as Policy["while_streaming"] }))),
      keyed("rest", select(t("settings.rest"), options("open", "collapsed", "expanded", "hidden"), display.show_thinking ? display.after_complete : "hidden", (value) => show({ after_complete: value as Policy["after_complete"], show_thinking: true }))),
      keyed(
        "render",
        select(t("settings.render"), options("render", "markdown", "plain"), render, (value) => {
          reflect({ render: value });
          page.restyle(false);
          note(t("settings.local"));
        }),
      ),
      keyed("voice", select(t("settings.voice"), options("voice", "status", "content", "off"), display.live_region, (value) => show({ live_region: value as Policy["live_region"] }))),
    ),
    h(
      "section",
      { class: "stack" },
      h("h3", null, t("settings.general")),
      keyed("language", select(t("settings.language"), Object.entries(LANGUAGES), preferences.language, (language) => keep({ language }))),
      keyed("theme", select(t("settings.theme"), options("theme", "system", "light", "dark"), theme, (value) => dress(value))),
      keyed("context", select(t("settings.context"), options("context", "provider_default", "keep", "strip"), preferences.context_mode, (context_mode) => keep({ context_mode }))),
    ),
    h(
      "section",
      { class: "stack" },
      h("h3", null, t("settings.keys")),
      h("dl", { class: "keys" }, ...[["Alt+T", "keys.thinking"], ["Ctrl+K", "keys.search"], ["Alt+N", "keys.new"]].flatMap(([key, name]) => [h("dt", null, h("kbd", null, key as string)), h("dd", null, t(name as string))])),
    ),
  ];
}
