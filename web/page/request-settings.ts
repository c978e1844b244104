/** What is sent with every question from this browser: sampling, bounds, the shape of answers, and extra fields. */

import { h, say } from "./dom.js";
import { requestSettings, saveLocalSettings } from "./preferences.js";
import { t } from "./words.js";

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
