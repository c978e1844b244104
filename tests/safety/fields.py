"""Every place of the API that takes a text, each as a function that puts one there."""

import base64
import copy
import json
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from tests.safety.ground import MODEL, Answer, Ground, Pairs, Person, Rows, file

OWN, THEIRS = "ownword", "victimword"
SECRET = "silverfish"
"""In all that others have, and in nothing that is sent."""


class Place(NamedTuple):
    """A gateway with somebody who tries, and somebody who has something to lose."""

    ground: Ground
    who: Person
    session: str
    turn: str
    agent: str
    before: Rows
    """All rows when the trying began."""

    def ask(self, method: str, path: str, body: Any = None, headers: Pairs = ()) -> Answer:
        return self.ground.ask(method, path, body, [*self.who.headers, *headers])

    def get(self, path: str, **query: str) -> Answer:
        return self.ask("GET", f"{path}?{urlencode(query, errors='surrogatepass')}")


Field = Callable[[Place, str], Answer]


def _body(method: str, path: str, *keys: str | int, **rest: Any) -> Field:
    """The text at one place of a JSON body."""

    def send(place: Place, text: str) -> Answer:
        body = copy.deepcopy(rest)
        at: Any = body
        for key in keys[:-1]:
            at = at[key]
        at[keys[-1]] = text
        ids = {"session": place.session, "turn": place.turn, "agent": place.agent}
        return place.ask(method, path.format(**ids), body)

    return send


def _query(path: str, name: str, **rest: str) -> Field:
    def send(place: Place, text: str) -> Answer:
        ids = {"session": place.session, "turn": place.turn}
        return place.get(path.format(**ids), **rest, **{name: text})

    return send


def _named(path: str) -> Field:
    def send(place: Place, text: str) -> Answer:
        return place.ask("GET", path.format(quote(text, safe="", errors="surrogatepass")))

    return send


def _header(method: str, path: str, name: str, body: Any = None) -> Field:
    """As a header; what no client could put there is written in ASCII."""

    def send(place: Place, text: str) -> Answer:
        value = text.encode("ascii", "backslashreplace").decode()
        value = "".join(char if " " <= char < "\x7f" else "?" for char in value)
        ids = {"session": place.session, "turn": place.turn}
        return place.ask(method, path.format(**ids), body, [(name, value)])

    return send


def _cursor(path: str) -> Field:
    """As what a cursor holds, in the form that cursors have."""

    def send(place: Place, text: str) -> Answer:
        held = base64.urlsafe_b64encode(json.dumps([text]).encode()).decode().rstrip("=")
        return place.get(path, after=held)

    return send


def _markdown(place: Place, text: str) -> Answer:
    made = place.ask("GET", f"/api/sessions/{place.session}/export?format=markdown").body.decode()
    told = made.replace(OWN, text).encode("utf-8", "replace")
    return place.ask("POST", "/api/import", told, [("Content-Type", "text/markdown")])


AGENT = {"name": "x", "model": MODEL}
TOOL = {"name": "x", "description": "x", "parameters": {"type": "object"}}
RESULT = {"call_id": "x", "result": "x", "name": "x"}
PICTURE = {"media_type": "image/png", "data": "AAAA"}
TURNS = "/api/sessions/{session}/turns"
EXCHANGE = ("exchanges", 0)
FIELDS: dict[str, Field] = {
    "title": _body("POST", "/api/sessions", "title"),
    "model of a session": _body("POST", "/api/sessions", "model"),
    "agent of a session": _body("POST", "/api/sessions", "agent"),
    "changed title": _body("PATCH", "/api/sessions/{session}", "title"),
    "changed model": _body("PATCH", "/api/sessions/{session}", "model"),
    "changed agent": _body("PATCH", "/api/sessions/{session}", "agent"),
    "model of a turn": _body("POST", TURNS, "model", prompt="x"),
    "agent of a turn": _body("POST", TURNS, "agent", prompt="x"),
    "thinking": _body("POST", TURNS, "thinking", prompt="x"),
    "context mode": _body("POST", TURNS, "context_mode", prompt="x"),
    "max tokens": _body("POST", TURNS, "max_tokens", prompt="x"),
    "call": _body("POST", TURNS, "tool_results", 0, "call_id", tool_results=[RESULT]),
    "result": _body("POST", TURNS, "tool_results", 0, "result", tool_results=[RESULT]),
    "name of a result": _body("POST", TURNS, "tool_results", 0, "name", tool_results=[RESULT]),
    "kind of a picture": _body("POST", TURNS, "images", 0, "media_type", images=[PICTURE]),
    "picture": _body("POST", TURNS, "images", 0, "data", images=[PICTURE], model="none"),
    "name of an agent": _body("POST", "/api/agents", "name", **AGENT),
    "model of an agent": _body("POST", "/api/agents", "model", **AGENT),
    "system prompt": _body("POST", "/api/agents", "system", **AGENT),
    "level": _body("POST", "/api/agents", "level", thinking=True, **AGENT),
    "tool": _body("POST", "/api/agents", "tools", 0, "name", tools=[TOOL], **AGENT),
    "description": _body("POST", "/api/agents", "tools", 0, "description", tools=[TOOL], **AGENT),
    "schema": _body("POST", "/api/agents", "tools", 0, "parameters", "type", tools=[TOOL], **AGENT),
    "assistant": _body("POST", "/api/agents", "assistants", 0, assistants=["x"], **AGENT),
    "preset of an agent": _body("PUT", "/api/agents/{agent}", "preset", **AGENT),
    "name of a changed agent": _body("PUT", "/api/agents/{agent}", "name", **AGENT),
    "language": _body("PUT", "/api/preferences", "language"),
    "keys": _body("PUT", "/api/preferences", "expand_key"),
    "drawing": _body("PUT", "/api/preferences", "render"),
    "preset": _body("PUT", "/api/preferences", "display", "preset", display={}),
    "header line": _body("PUT", "/api/preferences", "display", "header", display={}),
    "imported title": _body("POST", "/api/import", "title", **file("x", "x")),
    "imported prompt": _body("POST", "/api/import", *EXCHANGE, "asked", 0, "text", **file("x", "x")),
    "imported role": _body("POST", "/api/import", *EXCHANGE, "asked", 0, "role", **file("x", "x")),
    "imported model": _body("POST", "/api/import", *EXCHANGE, "model", **file("x", "x")),
    "imported provider": _body("POST", "/api/import", *EXCHANGE, "provider", **file("x", "x")),
    "imported prefix": _body("POST", "/api/import", *EXCHANGE, "prefix", **file("x", "x")),
    "imported kind": _body("POST", "/api/import", *EXCHANGE, "entries", 1, "event", "kind", **file("x", "x")),
    "imported thought": _body(
        "POST", "/api/import", *EXCHANGE, "entries", 2, "event", "text", **file("x", "x")
    ),
    "imported finish": _body(
        "POST", "/api/import", *EXCHANGE, "entries", 7, "event", "said", **file("x", "x")
    ),
    "imported markdown": _markdown,
    "words to search": _query("/api/search", "q"),
    "words to search in thoughts": _query("/api/search", "q", scope="prompts,answers,tools,thoughts"),
    "scope": _query("/api/search", "scope", q="x"),
    "cursor of a search": _query("/api/search", "after", q=OWN),
    "limit": _query("/api/sessions", "limit"),
    "cursor of sessions": _query("/api/sessions", "after"),
    "cursor of agents": _query("/api/agents", "after"),
    "cursor of turns": _query("/api/sessions/{session}", "after"),
    "cursor of messages": _query("/api/sessions/{session}/messages", "after"),
    "inside a cursor of sessions": _cursor("/api/sessions"),
    "inside a cursor of agents": _cursor("/api/agents"),
    "place in a stream": _query("/api/turns/{turn}/events", "after"),
    "speed": _query("/api/turns/{turn}/events", "speed"),
    "language of an export": _query("/api/sessions/{session}/export", "lang"),
    "format": _query("/api/sessions/{session}/export", "format"),
    "form of thoughts": _query("/api/sessions/{session}/export", "thinking", format="markdown"),
    "session": _named("/api/sessions/{}"),
    "session of messages": _named("/api/sessions/{}/messages"),
    "turn": _named("/api/turns/{}"),
    "turn of a stream": _named("/api/turns/{}/events"),
    "agent": _named("/api/agents/{}"),
    "path": _named("/{}"),
    "parameter": _named("/api/sessions?{}=1"),
    "idempotency key": _header("POST", TURNS, "Idempotency-Key", {"prompt": "x", "model": "none"}),
    "last event": _header("GET", "/api/turns/{turn}/events", "Last-Event-ID"),
    "workspace": _header("GET", "/api/sessions", "Thinkaloud-Workspace"),
    "token": _header("GET", "/healthz", "X-Other"),
    "content type": _header("POST", "/api/sessions", "Content-Type", b"{}"),
}
