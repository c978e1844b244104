/** What a conversation asks of the gateway. */

import { type Message, type Paged, requestJson, retryTemporary, type Session, type TurnSummary } from "./api.js";
import type { Attached } from "./attachments.js";
import { type Choice, requestSettings } from "./preferences.js";

/** A question: who is asked, in the place of which turn, and what goes with it. */
export interface Question {
  prompt: string;
  choice: Choice;
  replaces?: string;
  attached?: Attached | undefined;
  /** Names the question to the gateway, which asks it once, however often it is sent. */
  key?: string;
  /** It waited, and nobody sends it now: a reader who is elsewhere stays there. */
  automatic?: boolean;
  /** Asks it once more where it was refused. */
  again?(): void;
}

/** Which page of messages: around a turn, after a cursor, from the newest back. */
interface MessagesQuery {
  order?: "newest";
  turn?: string;
  after?: string;
}

export function loadSession(id: string, signal?: AbortSignal): Promise<Session> {
  return requestJson(`/api/sessions/${id}?limit=1`, signal ? { signal } : {});
}

export function createSession({ agent, model }: Choice): Promise<Session> {
  const body = { agent, model: agent ? "" : model };
  return retryTemporary(() => requestJson<Session>("/api/sessions", { body }));
}

/** Deletes a session that nobody needs; where that fails, it stays. */
export function deleteSession(id: string): void {
  void requestJson(`/api/sessions/${id}`, { method: "DELETE" }).catch(() => undefined);
}

/** One page of a session's messages, each with the entries of its turn. */
export function loadMessages(
  session: string,
  limit: number,
  query: MessagesQuery,
  signal?: AbortSignal,
): Promise<Paged<Message>> {
  const parameters = new URLSearchParams({ limit: String(limit), entries: "true" });
  for (const [name, value] of Object.entries(query)) if (value) parameters.set(name, value);
  return requestJson(`/api/sessions/${session}/messages?${parameters}`, signal ? { signal } : {});
}

/** A name for a question that no other has. */
export function newKey(): string {
  return crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
}

/** Starts a turn, perhaps in the place of another one; tried again, it is still asked once. */
export function startTurn(
  session: string,
  { prompt, choice, replaces, attached, key = newKey() }: Question,
): Promise<TurnSummary> {
  // The same key for every try, so that the question is asked once.
  const headers = { "Idempotency-Key": key };
  const { agent, model, thinking } = choice;
  const body = {
    ...requestSettings(),
    prompt,
    ...attached,
    ...(replaces && { replaces }),
    ...(agent ? { agent } : model ? { model } : {}),
    ...(thinking ? { thinking } : {}),
  };
  return retryTemporary(() => requestJson<TurnSummary>(`/api/sessions/${session}/turns`, { body, headers }));
}

export const TURNS_PER_PAGE = 20;
const TURNS_TO_CHECK = 5;

/** The last messages, back to a turn that is known. */
export async function loadNewest(session: string, known: (turn: string) => boolean): Promise<Message[]> {
  let items: Message[] = [];
  let after = "";
  do {
    const limit = after ? TURNS_PER_PAGE : TURNS_TO_CHECK;
    const page = await loadMessages(session, limit, { order: "newest", after });
    items = [...page.items, ...items];
    after = page.next;
  } while (after && !known(items[0]?.turn ?? ""));
  return items;
}
