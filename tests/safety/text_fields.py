"""Every text field of the API, each with a function that sends a text in it."""

import base64
import copy
import json
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from tests.safety.gateway_under_test import (
    MODEL,
    GatewayUnderTest,
    HttpResponse,
    Pairs,
    Person,
    Rows,
    session_file,
)

OWN_WORD, VICTIM_WORD = "ownword", "victimword"
SECRET = "silverfish"
"""A word that is in all data of the other user and in no attack."""


class AttackTarget(NamedTuple):
    """A gateway with an attacker and a victim."""

    gateway: GatewayUnderTest
    attacker: Person
    session: str
    turn: str
    agent: str
    rows_before: Rows
    """All rows before the attack."""

    def ask(self, method: str, path: str, body: Any = None, headers: Pairs = ()) -> HttpResponse:
        return self.gateway.request(method, path, body, [*self.attacker.headers, *headers])

    def get(self, path: str, **query: str) -> HttpResponse:
        return self.ask("GET", f"{path}?{urlencode(query, errors='surrogatepass')}")


SendText = Callable[[AttackTarget, str], HttpResponse]


def _in_body(method: str, path: str, *keys: str | int, **fields: Any) -> SendText:
    """Send the text in one field of a JSON body."""

    def send(target: AttackTarget, text: str) -> HttpResponse:
        body = copy.deepcopy(fields)
        container: Any = body
        for key in keys[:-1]:
            container = container[key]
        container[keys[-1]] = text
        ids = {"session": target.session, "turn": target.turn, "agent": target.agent}
        return target.ask(method, path.format(**ids), body)

    return send


def _in_query(path: str, name: str, **parameters: str) -> SendText:
    def send(target: AttackTarget, text: str) -> HttpResponse:
        ids = {"session": target.session, "turn": target.turn}
        return target.get(path.format(**ids), **parameters, **{name: text})

    return send


def _in_path(path: str) -> SendText:
    def send(target: AttackTarget, text: str) -> HttpResponse:
        return target.ask("GET", path.format(quote(text, safe="", errors="surrogatepass")))

    return send


def _in_header(method: str, path: str, name: str, body: Any = None) -> SendText:
    """Send the text as a header. Characters that no client can send are escaped."""

    def send(target: AttackTarget, text: str) -> HttpResponse:
        value = text.encode("ascii", "backslashreplace").decode()
        value = "".join(char if " " <= char < "\x7f" else "?" for char in value)
        ids = {"session": target.session, "turn": target.turn}
        return target.ask(method, path.format(**ids), body, [(name, value)])

    return send


def _in_cursor(path: str) -> SendText:
    """Send the text as the content of a cursor."""

    def send(target: AttackTarget, text: str) -> HttpResponse:
        cursor = base64.urlsafe_b64encode(json.dumps([text]).encode()).decode().rstrip("=")
        return target.get(path, after=cursor)

    return send


def _in_markdown(target: AttackTarget, text: str) -> HttpResponse:
    markdown = target.ask("GET", f"/api/sessions/{target.session}/export?format=markdown").body.decode()
    changed_markdown = markdown.replace(OWN_WORD, text).encode("utf-8", "replace")
    return target.ask("POST", "/api/import", changed_markdown, [("Content-Type", "text/markdown")])


AGENT = {"name": "x", "model": MODEL}
TOOL = {"name": "x", "description": "x", "parameters": {"type": "object"}}
RESULT = {"call_id": "x", "result": "x", "name": "x"}
PICTURE = {"media_type": "image/png", "data": "AAAA"}
PDF = {"media_type": "application/pdf", "data": "AAAA", "name": "x"}
TURNS = "/api/sessions/{session}/turns"
EXCHANGE = ("exchanges", 0)
TEXT_FIELDS: dict[str, SendText] = {
    "title": _in_body("POST", "/api/sessions", "title"),
    "model of a session": _in_body("POST", "/api/sessions", "model"),
    "agent of a session": _in_body("POST", "/api/sessions", "agent"),
    "changed title": _in_body("PATCH", "/api/sessions/{session}", "title"),
    "changed model": _in_body("PATCH", "/api/sessions/{session}", "model"),
    "changed agent": _in_body("PATCH", "/api/sessions/{session}", "agent"),
    "model of a turn": _in_body("POST", TURNS, "model", prompt="x"),
    "agent of a turn": _in_body("POST", TURNS, "agent", prompt="x"),
    "thinking": _in_body("POST", TURNS, "thinking", prompt="x"),
    "context mode": _in_body("POST", TURNS, "context_mode", prompt="x"),
    "max tokens": _in_body("POST", TURNS, "max_tokens", prompt="x"),
    "call": _in_body("POST", TURNS, "tool_results", 0, "call_id", tool_results=[RESULT]),
    "result": _in_body("POST", TURNS, "tool_results", 0, "result", tool_results=[RESULT]),
    "name of a result": _in_body("POST", TURNS, "tool_results", 0, "name", tool_results=[RESULT]),
    "kind of a picture": _in_body("POST", TURNS, "images", 0, "media_type", images=[PICTURE]),
    "picture": _in_body("POST", TURNS, "images", 0, "data", images=[PICTURE], model="none"),
    "stop": _in_body("POST", TURNS, "stop", 0, stop=["x"], prompt="x"),
    "extra field": _in_body("POST", TURNS, "extra", "user", extra={}, prompt="x"),
    "schema of an answer": _in_body("POST", TURNS, "output_schema", "type", output_schema={}, prompt="x"),
    "kind of a file": _in_body("POST", TURNS, "files", 0, "media_type", files=[PDF]),
    "name of a file": _in_body("POST", TURNS, "files", 0, "name", files=[PDF], model="none"),
    "name of an agent": _in_body("POST", "/api/agents", "name", **AGENT),
    "model of an agent": _in_body("POST", "/api/agents", "model", **AGENT),
    "system prompt": _in_body("POST", "/api/agents", "system", **AGENT),
    "level": _in_body("POST", "/api/agents", "level", thinking=True, **AGENT),
    "tool": _in_body("POST", "/api/agents", "tools", 0, "name", tools=[TOOL], **AGENT),
    "description": _in_body("POST", "/api/agents", "tools", 0, "description", tools=[TOOL], **AGENT),
    "schema": _in_body("POST", "/api/agents", "tools", 0, "parameters", "type", tools=[TOOL], **AGENT),
    "assistant": _in_body("POST", "/api/agents", "assistants", 0, assistants=["x"], **AGENT),
    "preset of an agent": _in_body("PUT", "/api/agents/{agent}", "preset", **AGENT),
    "name of a changed agent": _in_body("PUT", "/api/agents/{agent}", "name", **AGENT),
    "language": _in_body("PUT", "/api/preferences", "language"),
    "keys": _in_body("PUT", "/api/preferences", "expand_key"),
    "drawing": _in_body("PUT", "/api/preferences", "render"),
    "preset": _in_body("PUT", "/api/preferences", "display", "preset", display={}),
    "header line": _in_body("PUT", "/api/preferences", "display", "header", display={}),
    "imported title": _in_body("POST", "/api/import", "title", **session_file("x", "x")),
    "imported prompt": _in_body(
        "POST", "/api/import", *EXCHANGE, "asked", 0, "text", **session_file("x", "x")
    ),
    "imported role": _in_body("POST", "/api/import", *EXCHANGE, "asked", 0, "role", **session_file("x", "x")),
    "imported model": _in_body("POST", "/api/import", *EXCHANGE, "model", **session_file("x", "x")),
    "imported provider": _in_body("POST", "/api/import", *EXCHANGE, "provider", **session_file("x", "x")),
    "imported prefix": _in_body("POST", "/api/import", *EXCHANGE, "prefix", **session_file("x", "x")),
    "imported kind": _in_body(
        "POST", "/api/import", *EXCHANGE, "entries", 1, "event", "kind", **session_file("x", "x")
    ),
    "imported thought": _in_body(
        "POST", "/api/import", *EXCHANGE, "entries", 2, "event", "text", **session_file("x", "x")
    ),
    "imported finish": _in_body(
        "POST", "/api/import", *EXCHANGE, "entries", 7, "event", "said", **session_file("x", "x")
    ),
    "imported markdown": _in_markdown,
    "words to search": _in_query("/api/search", "q"),
    "words to search in thoughts": _in_query("/api/search", "q", scope="prompts,answers,tools,thoughts"),
    "scope": _in_query("/api/search", "scope", q="x"),
    "cursor of a search": _in_query("/api/search", "after", q=OWN_WORD),
    "limit": _in_query("/api/sessions", "limit"),
    "cursor of sessions": _in_query("/api/sessions", "after"),
    "cursor of agents": _in_query("/api/agents", "after"),
    "cursor of turns": _in_query("/api/sessions/{session}", "after"),
    "cursor of messages": _in_query("/api/sessions/{session}/messages", "after"),
    "inside a cursor of sessions": _in_cursor("/api/sessions"),
    "inside a cursor of agents": _in_cursor("/api/agents"),
    "place in a stream": _in_query("/api/turns/{turn}/events", "after"),
    "speed": _in_query("/api/turns/{turn}/events", "speed"),
    "language of an export": _in_query("/api/sessions/{session}/export", "lang"),
    "format": _in_query("/api/sessions/{session}/export", "format"),
    "form of thoughts": _in_query("/api/sessions/{session}/export", "thinking", format="markdown"),
    "session": _in_path("/api/sessions/{}"),
    "session of messages": _in_path("/api/sessions/{}/messages"),
    "turn": _in_path("/api/turns/{}"),
    "turn of a stream": _in_path("/api/turns/{}/events"),
    "agent": _in_path("/api/agents/{}"),
    "path": _in_path("/{}"),
    "parameter": _in_path("/api/sessions?{}=1"),
    "idempotency key": _in_header("POST", TURNS, "Idempotency-Key", {"prompt": "x", "model": "none"}),
    "last event": _in_header("GET", "/api/turns/{turn}/events", "Last-Event-ID"),
    "workspace": _in_header("GET", "/api/sessions", "Thinkaloud-Workspace"),
    "token": _in_header("GET", "/healthz", "X-Other"),
    "content type": _in_header("POST", "/api/sessions", "Content-Type", b"{}"),
}
