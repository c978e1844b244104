/** Where one writes: grows with its text, keeps a draft over a reload, and says who answers and how hard they think. */

import { type Agent, call, type Model, type OwnAgent, type Paged, type Session } from "./api.js";
import { button, composing, h, icon, say, show } from "./dom.js";
import { keep, kept } from "./kept.js";
import { type Choice, mirror, NOBODY, reflect } from "./prefs.js";
import { complain } from "./saying.js";
import { t } from "./words.js";

/** What the composer wants done. */
export interface Wishes {
  ask(prompt: string, choice: Choice): Promise<void>;
  stop(): void;
  answerNow(): void;
  toggleThinking(): void;
  pick(): void;
}

const LEVELS = ["low", "medium", "high", "max"];
const SMALL = matchMedia("(max-width: 30rem)");
const DRAFT = "thinkaloud-draft";

export class Composer {
  readonly node: HTMLElement;
  readonly area = h("textarea", { id: "message", rows: 1, placeholder: t("ask"), "aria-label": t("ask.label"), "aria-describedby": "hint", enterkeyhint: "send", autocomplete: "off" });
  choice: Choice = NOBODY;
  /** Whether a question is on its way. */
  busy = false;
  private place: string | null = null;
  private settled = false;
  private who = h("button", { type: "button", class: "chip", "aria-haspopup": "dialog" });
  private level = h("select", { class: "chip", "aria-label": t("think") });
  private depth = h("label", { class: "level" }, icon("thought"), this.level);
  private cannot = h("span", { class: "muted small", hidden: true });
  private send = button(t("send"), "send", () => void this.submit(), { bare: true, class: "primary round" });
  private halt: HTMLButtonElement;
  private now: HTMLButtonElement;

  constructor(private wishes: Wishes) {
    this.halt = button(t("stop"), "stop", () => wishes.stop(), { bare: true, class: "primary round", hidden: true });
    this.now = button(t("answer_now"), "bolt", () => wishes.answerNow(), { class: "chip now", hidden: true });
    this.who.addEventListener("click", () => wishes.pick());
    this.level.addEventListener("change", () => this.choose({ ...this.choice, thinking: this.level.value }));
    this.area.addEventListener("keydown", (event) => this.key(event));
    this.area.addEventListener("input", () => this.typed());
    this.node = h(
      "form",
      { class: "composer" },
      h("div", { class: "composer-box" }, this.area, h("div", { class: "composer-row" }, this.who, this.depth, this.cannot, h("span", { class: "grow" }), this.now, this.halt, this.send)),
      h("p", { id: "hint", class: "hint" }, t("hint")),
    );
    this.node.addEventListener("submit", (event) => (event.preventDefault(), void this.submit()));
    this.draw();
    this.typed();
  }

  /** Who answers from now on. */
  choose(choice: Choice): void {
    this.choice = choice;
    this.settled = true;
    reflect({ choice, ...(choice.agent ? { names: { ...mirror().names, [choice.agent]: choice.name } } : {}) });
    this.draw();
  }

  /**
   * Another conversation: its draft at once, and who answers in it as soon as that is known for sure; `called`
   * is what the agent that was last asked is called.
   */
  at(id: string, session: Session | null, sure: boolean, called = ""): void {
    if (id === this.place && this.settled) return;
    if (id !== this.place) {
      this.place = id;
      this.area.value = draftOf(id);
      this.typed();
    }
    this.settled = sure;
    const { agent = "", model = "" } = session ?? {};
    const own = agent || model;
    if (session && own) this.choice = { ...NOBODY, agent, model: agent ? "" : model, name: mirror().names?.[own] ?? ((agent && called) || own) };
    else if (id) this.choice = { ...NOBODY, thinking: this.choice.agent || this.choice.model ? "" : this.choice.thinking };
    else this.choice = mirror().choice ?? NOBODY;
    this.draw();
  }

  /** The new conversation has a name from now on: what is being written is written there. */
  became(id: string): void {
    keep(`${DRAFT}:${this.place}`, "", "sessionStorage");
    this.place = id;
    this.typed();
  }

  /** Whether something runs: then stopping is what there is to do. */
  running(runs: boolean): void {
    this.node.classList.toggle("running", runs);
    show(this.halt, runs);
    show(this.now, runs);
    show(this.send, !runs);
  }

  put(text: string): void {
    this.area.value = text;
    this.typed();
    this.area.focus();
  }

  async submit(): Promise<void> {
    const prompt = this.area.value.trim();
    if (/^[/:](?:toggle )?thinking$/i.test(prompt)) {
      this.put("");
      return this.wishes.toggleThinking();
    }
    if (!prompt || this.busy || !this.halt.hidden) return;
    const { place } = this;
    this.put("");
    await this.ask(prompt).catch((error: unknown) => (complain(error), this.giveBack(prompt, place ?? "")));
  }

  /** Have something asked; one thing at a time. */
  async ask(prompt: string): Promise<void> {
    if (this.busy) return;
    this.busy = this.send.disabled = true;
    try {
      await this.wishes.ask(prompt, this.choice);
    } finally {
      this.busy = false;
      this.typed();
    }
  }

  /** What did not get through goes back to where it was asked, before what was written there since. */
  private giveBack(prompt: string, place: string): void {
    const all = [prompt, place === this.place ? this.area.value : draftOf(place)].filter(Boolean).join("\n\n");
    if (place === this.place) this.put(all);
    else keep(`${DRAFT}:${place}`, all, "sessionStorage");
  }

  private key(event: KeyboardEvent): void {
    if (event.key !== "Enter" || event.shiftKey || composing(event)) return;
    event.preventDefault();
    void this.submit();
  }

  private typed(): void {
    this.send.disabled = this.busy || !this.area.value.trim();
    keep(`${DRAFT}:${this.place}`, this.area.value, "sessionStorage");
    if (CSS.supports("field-sizing", "content")) return;
    this.area.style.blockSize = "auto";
    this.area.style.blockSize = `${this.area.scrollHeight}px`;
  }

  private draw(): void {
    const name = this.choice.name || standardName();
    this.who.replaceChildren(icon(this.choice.agent ? "agents" : "thought"), h("span", null, name), icon("down"));
    this.who.setAttribute("aria-label", t("who", { name }));
    const model = modelNamed(this.choice.model || standard);
    const thinks = !this.choice.agent && (!model || model.thinking_toggle);
    show(this.depth, thinks);
    show(this.cannot, !this.choice.agent && !thinks);
    say(this.cannot, t("think.none"));
    const levels = levelsOf(model);
    // Where there is little room, the sign beside it says what it is about.
    const told = (level: string): string => t(`think.${level || "default"}`).slice(SMALL.matches ? t("think").length + 2 : 0);
    if (this.choice.thinking && !levels.includes(this.choice.thinking)) this.choice = { ...this.choice, thinking: "" };
    this.level.replaceChildren(
      ...["", ...levels].map((level) => h("option", { value: level, selected: level === this.choice.thinking }, told(level))),
    );
  }

  /** The models came to be known. */
  refresh(): void {
    this.draw();
  }
}

/** What was written for a conversation and not sent. */
function draftOf(id: string): string {
  return kept(`${DRAFT}:${id}`, "sessionStorage") ?? "";
}

/** The levels that make a difference for a model. */
export function levelsOf(model: Model | undefined): string[] {
  if (!model) return [...(["off"] as string[]), ...LEVELS];
  const off = model.can_be_off ? ["off"] : [];
  if (model.control.includes("budget") || model.control.includes("adaptive")) return [...off, ...LEVELS];
  return [...off, ...LEVELS.filter((level) => model.efforts.includes(level))];
}

interface Provider {
  name: string;
  has_key: boolean;
  local: boolean;
}

const SOLVER = "builtin/solver";
let standard = SOLVER;

/** What to call whoever answers when nobody was named. */
export function standardName(): string {
  return standard === SOLVER ? t("who.default") : standard;
}

let catalog: Model[] = [];
let loading: Promise<Model[]> | null = null;

/** The row of a model, by its own name or with the provider before it. */
export function modelNamed(name: string): Model | undefined {
  return catalog.find(({ id, providers }) => id === name || providers.some((provider) => `${provider}/${id}` === name));
}

/** Every model, asked for once; `ready` says whether a key or only a server of one's own stands behind it. */
export function loadModels(again = false): Promise<Model[]> {
  if (again) loading = null;
  loading ??= call<{ models: Model[]; providers: Provider[]; default?: string }>("/api/models").then(
    ({ models, providers, default: usual = SOLVER }) => {
      const keyed = new Set(providers.filter(({ has_key, local }) => has_key && !local).map(({ name }) => name));
      for (const one of models) one.ready = one.providers.some((name) => keyed.has(name)) ? "key" : one.has_key ? "own" : "";
      standard = usual;
      return (catalog = models);
    },
    (error: unknown) => {
      loading = null;
      throw error;
    },
  );
  return loading;
}

/** The agents of the workspace, and the gateway's own. */
export async function loadAgents(): Promise<{ items: Agent[]; own: OwnAgent[] }> {
  const { items, own = [] } = await call<Paged<Agent> & { own?: OwnAgent[] }>("/api/agents?limit=200");
  return { items, own };
}
