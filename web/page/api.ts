/**
 * The gateway over HTTP, as the page uses it: typed answers, and problems in plain words.
 *
 * A token is sent where one is kept; where the gateway asks for one, the page asks the person, once.
 */

import type { Entry, Usage, Wording } from "../src/core/events.js";
import type { Translate } from "../src/core/labels.js";
import type { Policy } from "../src/core/policy.js";
import { readStored, writeStored } from "./storage.js";
import { currentLanguage, hasWords, t } from "./words.js";

export interface Session {
  id: string;
  title: string;
  agent: string;
  model: string;
  created_ms: number;
  updated_ms: number;
  /** The program that it was recorded from; empty for the page itself. */
  client: string;
  pinned: boolean;
  /** The conversation whose agent started it; empty for most. */
  parent: string;
}

/** A conversation in a list. */
export interface ListedSession extends Session {
  running: boolean;
}

export type State = "running" | "done" | "failed" | "cancelled" | "interrupted";

export interface Message {
  turn: string;
  state: State;
  agent_name: string;
  role: "user" | "assistant" | "tool";
  content: string;
  images: { media_type: string; data: string }[];
  files: { media_type: string; data: string; name?: string }[];
  /** The turns that replace each other here, the oldest first; empty where there is one alone. */
  versions: string[];
  model: string;
  /** The entries that fold to the turn of an assistant's message. */
  entries: Entry[];
}

export interface TurnSummary {
  id: string;
  session: string;
  state: State;
  agent: string;
  model: string;
}

export interface TurnBody extends TurnSummary {
  usage: Usage;
  cost?: { turn?: { usd?: string | null }; priced_by?: string };
  waiting?: { block: number; name: string; arguments: string }[];
}

export interface Model {
  id: string;
  providers: string[];
  has_key: boolean;
  local: boolean;
  thinking: "none" | "optional" | "always";
  thinking_toggle: boolean;
  reason: string;
  on_by_default: boolean;
  control: string[];
  efforts: string[];
  can_be_off: boolean;
  visible: string;
  /** What it takes besides text; null where nobody knows. */
  inputs: ("image" | "pdf" | "audio")[] | null;
  /** Found out here: a key is there, a server of one's own answers, or neither. */
  ready?: "key" | "own" | "down" | "";
  /** Why it is not ready, in a few words. */
  missing?: string;
}

export interface NewAgent {
  name: string;
  description: string;
  /** The gateway's tools that it may use, by name. */
  uses: string[];
  /** The agents that it may give tasks to, by id. */
  assistants: string[];
  model: string;
  system: string;
  thinking: boolean;
  level: string | null;
  budget_tokens: number | null;
}

export interface Agent extends NewAgent {
  id: string;
  yours: boolean;
  [more: string]: unknown;
}

export interface OwnAgent {
  id: string;
  name: string;
  description: string;
  model: string;
  uses: string[];
  assistants: string[];
}

export interface Preferences {
  display: Policy;
  language: string;
  context_mode: string;
  render: string;
  expand_key: string;
}

export interface Workspaces {
  items: { id: string; name: string }[];
  current: string;
}

export interface SearchHit {
  kind: "prompt" | "answer" | "thought" | "tool";
  session: string;
  session_title: string;
  turn: string;
  block: number | null;
  snippet: string;
  marks: [number, number][];
  created_ms: number;
}

export interface Paged<T> {
  items: T[];
  next: string;
}

export type { Entry };

/** What went wrong, in words for a person; `status` 0 means that the gateway was not reached at all. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly retryAfterMs = 0,
  ) {
    super(message);
  }

  /** Whether the same request may do better in a moment. */
  get temporary(): boolean {
    return this.status === 0 || this.status === 503 || this.status === 429 || this.status === 502;
  }
}

export interface Options {
  method?: string;
  body?: unknown;
  type?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Whether the request outlives the page. */
  keepalive?: boolean;
}

const TOKEN = "thinkaloud-token";
const WORKSPACE = "thinkaloud-workspace";
/** The workspace of this window; empty is the person's first. It stays the same until the page is loaded again. */
export const workspace = readStored(WORKSPACE) ?? "";
let asking: Promise<string> | null = null;
let askToken: (refused: boolean) => Promise<string> = () => Promise.reject(new Error("nobody to ask"));

/** Who asks the person for a token when the gateway wants one, or another one. */
export function setTokenPrompt(ask: (refused: boolean) => Promise<string>): void {
  askToken = ask;
}

/** The answer as it comes; anything but success is a `ApiError`. */
export async function request(path: string, options: Options = {}): Promise<Response> {
  for (;;) {
    const shown = readStored(TOKEN);
    const response = await send(path, options);
    if (response.ok) return response;
    const problem = await apiErrorOf(response);
    if (problem.status !== 401) throw problem;
    if (readStored(TOKEN) !== shown) continue; // another request has asked for one meanwhile
    asking ??= askToken(!!shown).finally(() => (asking = null));
    writeStored(TOKEN, await asking);
  }
}

/** The answer as a value. */
export async function requestJson<T>(path: string, options: Options = {}): Promise<T> {
  const response = await request(path, options);
  return (response.status === 204 ? null : await response.json()) as T;
}

async function send(
  path: string,
  { method, body, type, headers, signal, keepalive = false }: Options,
): Promise<Response> {
  const raw = body instanceof Blob || typeof body === "string";
  // What no header can hold is no token: the gateway is to say so, not the browser to break off.
  const token = readStored(TOKEN)?.replace(/[^!-~]/g, "?");
  try {
    return await fetch(path, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: {
        ...(body === undefined ? {} : { "Content-Type": type ?? "application/json" }),
        ...(token ? { Authorization: `Bearer ${token}` } : {}),
        ...(workspace ? { "Thinkaloud-Workspace": workspace } : {}),
        ...headers,
      },
      body: body === undefined ? null : raw ? (body as BodyInit) : JSON.stringify(body),
      credentials: "omit",
      cache: "no-store",
      signal: signal ?? null,
      keepalive,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "unreachable", t(navigator.onLine ? "error.unreachable" : "error.offline"));
  }
}

interface ErrorDetail {
  code: string;
  message: string;
  wording?: Wording;
}

async function apiErrorOf(response: Response): Promise<ApiError> {
  const after = Number(response.headers.get("Retry-After") ?? 0) * 1000;
  let code = "";
  let message = "";
  let wording: Wording | undefined;
  try {
    ({ code, message, wording } = ((await response.json()) as { error: ErrorDetail }).error);
  } catch {
    // Not one of the gateway's own answers: a proxy's, perhaps.
  }
  // What people meet often is said without the names that machines have for things.
  message = hasWords(`error.${code}`) ? t(`error.${code}`) : (await loadTranslate())(message, wording);
  return new ApiError(response.status, code, message || t("error.status", { n: response.status }), after);
}

/** Begin anew in another workspace. */
export function switchWorkspace(id: string): void {
  writeStored(WORKSPACE, id);
  history.replaceState(null, "", "#");
  location.reload();
}

const TRIES = 5;
const FIRST_PAUSE_MS = 500;

export async function retryTemporary<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ApiError) || !error.temporary || attempt === TRIES) throw error;
      const pause = error.retryAfterMs || FIRST_PAUSE_MS * 2 ** (attempt - 1);
      await new Promise((resolve) => setTimeout(resolve, pause));
      signal?.throwIfAborted(); // nobody waits for it any more
    }
  }
}

/** Load what says the gateway's texts in the language of the page; it changes nothing in English. */
export async function loadTranslate(): Promise<Translate> {
  if (currentLanguage() === "pt-BR")
    try {
      return (await import("./translate.js")).translate;
    } catch {
      // Where the gateway is gone, the table cannot be had: the sentence in English is better than none.
    }
  return (text) => text;
}
