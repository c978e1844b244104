/** The models and agents that can answer, as the gateway lists them. */

import { type Agent, type Model, type OwnAgent, type Paged, requestJson } from "./api.js";
import { t } from "./words.js";

/** The levels of thinking, from little to much. */
const LEVELS = ["low", "medium", "high", "max"];
/** The provider of the model that comes with the gateway and needs no key. */
const BUILT_IN = "builtin";

interface Provider {
  name: string;
  has_key: boolean;
  local: boolean;
  /** Whether a local server answers; null for others. */
  answers: boolean | null;
}

let defaultModel = "";
let models: Model[] = [];
let loading: Promise<Model[]> | null = null;
let keyed = new Set<string>();

/** The providers that the gateway has a key for. */
export function keyedProviders(): string[] {
  return [...keyed];
}

/** A model by its own name or with the provider before it; without a name, the one that answers by default. */
export function findModel(name: string): Model | undefined {
  const wanted = name || defaultModel;
  const matches = ({ id, providers }: Model): boolean =>
    id === wanted || providers.some((provider) => `${provider}/${id}` === wanted);
  return models.find(matches);
}

/** Whether a model may think; one that nobody knows may. */
export function modelThinks(name: string): boolean {
  return findModel(name)?.thinking !== "none";
}

/** Whether a model comes with the gateway. */
export function builtIn(model: Model | undefined): boolean {
  return !!model?.providers.includes(BUILT_IN);
}

/** What to call a model on the screen; the built-in one has a name in the reader's language. */
export function modelTitle(name: string): string {
  const title = name || defaultModel;
  return !title || builtIn(findModel(title)) ? t("who.default") : title;
}

/** The full name of the built-in model, to be suggested where somebody chooses one. */
export function builtInName(): string {
  const model = models.find(builtIn);
  return model ? `${BUILT_IN}/${model.id}` : "";
}

/** The levels of thinking that make a difference for a model. */
export function levelsOf(model: Model | undefined): string[] {
  if (!model) return ["off", ...LEVELS];
  const off = model.can_be_off ? ["off"] : [];
  if (model.control.includes("budget") || model.control.includes("adaptive")) return [...off, ...LEVELS];
  return [...off, ...LEVELS.filter((level) => model.efforts.includes(level))];
}

/** Every model, requested once; `ready` tells whether a key or only a server of one's own stands behind it. */
export function loadModels(again = false): Promise<Model[]> {
  if (again) loading = null;
  loading ??= requestJson<{ models: Model[]; providers: Provider[]; default?: string }>("/api/models").then(
    (list) => {
      keyed = new Set(list.providers.filter(({ has_key, local }) => has_key && !local).map(({ name }) => name));
      for (const model of list.models) {
        const named = list.providers.filter(({ name }) => model.providers.includes(name));
        const silent = named.filter(({ answers }) => answers === false).map(({ name }) => name);
        const withKey = named.some(({ name }) => keyed.has(name));
        const answering = named.some(({ answers }) => answers);
        model.ready = withKey ? "key" : answering ? "own" : silent[0] ? "down" : "";
        model.missing = missingText(model, silent);
      }
      models = list.models;
      defaultModel = list.default ?? builtInName();
      return models;
    },
    (error: unknown) => {
      loading = null;
      throw error;
    },
  );
  return loading;
}

/** Why a model is not ready, in a few words. */
function missingText({ ready, providers }: Model, silent: string[]): string {
  if (ready === "down") return t("picker.no_server", { names: silent.slice(0, 3).join(", ") });
  return ready ? "" : t("picker.no_key", { names: providers.slice(0, 3).join(", ") });
}

/** The agents of the workspace, the gateway's own, and the names of its tools. */
export interface AgentList {
  items: Agent[];
  own: OwnAgent[];
  tools: string[];
}

export async function loadAgents(): Promise<AgentList> {
  const { items, own = [], tools = [] } = await requestJson<Paged<Agent> & Partial<AgentList>>("/api/agents?limit=200");
  return { items, own, tools };
}
