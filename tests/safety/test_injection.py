"""Injection: hostile texts in every text field of the API.

No text crashes the gateway or touches rows of other users. Stored texts are returned unchanged. No text of a
model, a tool or a file can become an event of its own in a stream.
"""

import copy
import json
import random
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import pytest
from sqlalchemy import select
from tests.safety.attack_texts import ALL_TEXTS, JSON_LIKE, SEARCH_TEXTS, SQL_TEXTS, SSE_TEXTS, some_texts
from tests.safety.gateway_under_test import JSON, run_gateway, session_file
from tests.safety.text_fields import AGENT, OWN_WORD, SECRET, TEXT_FIELDS, TURNS, VICTIM_WORD, AttackTarget

from thinkaloud.core.canon import Entry, Kind
from thinkaloud.core.transcript import Turn, apply
from thinkaloud.gateway.store import schema


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackTarget]:
    with run_gateway(tmp_path_factory.mktemp("injection")) as gateway:
        victim, attacker = gateway.create_person("victim", "red"), gateway.create_person("ana", "red")
        for words in SEARCH_TEXTS:  # whatever gets out of its scope finds something here
            text = f"{VICTIM_WORD} {OWN_WORD} {words} {SECRET}"
            gateway.import_session(victim.headers, SECRET, text, text, text)
        gateway.create_agent(gateway.create_person("boss", "white").headers, SECRET, system=SECRET)
        session, turn = gateway.import_session(attacker.headers, OWN_WORD, OWN_WORD, OWN_WORD, OWN_WORD)
        agent = gateway.create_agent(attacker.headers, OWN_WORD)
        assert gateway.request("PUT", "/api/preferences", {}, attacker.headers).status == 200
        yield AttackTarget(gateway, attacker, session, turn, agent, gateway.all_rows())


@pytest.mark.parametrize("field", TEXT_FIELDS)
def test_injected_text_breaks_nothing(field: str, target: AttackTarget) -> None:
    """S10, S19: SQL, search syntax, SSE frames, JSON and odd characters in every text field."""
    for text in some_texts(field):
        response = TEXT_FIELDS[field](target, text)
        assert 200 <= response.status < 500, (text, response)
        assert SECRET not in response.body.decode(), (text, response)
    check_untouched(target)


def check_untouched(target: AttackTarget) -> None:
    """Check that no rows of other users were changed or created."""
    after = target.gateway.all_rows()
    mine = {target.session, target.agent}
    user = target.attacker.owner.user
    for table, rows in target.rows_before.items():
        other_rows = {row for row in rows if not mine.intersection(row)}
        if table == "preferences":
            other_rows = {row for row in rows if row[0] != user}
        assert other_rows <= after[table], table
        if table in ("sessions", "agents"):
            assert {row[2] for row in after[table] - rows} <= {user}, table


TEXTS = [text for text in ALL_TEXTS if text.strip() and not re.search("[\ud800-\udfff]", text)]
"""The texts that are valid Unicode."""


@pytest.mark.some_cases(40)
@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text)[:30])
def test_stored_text_round_trips(text: str, target: AttackTarget) -> None:
    """R051 to R053: reasoning and answer are stored exactly, also with characters that databases reject."""
    session, _ = target.gateway.import_session(target.attacker.headers, text[:200], text, text, text)
    stored_text = text.replace("\x00", "\ufffd")
    assert target.ask("GET", f"/api/sessions/{session}").json["title"] == stored_text[:200]
    user_message, assistant_message = target.ask("GET", f"/api/sessions/{session}/messages").json["items"]
    assert (user_message["content"], assistant_message["content"], assistant_message["thinking"]) == (
        stored_text,
        text,
        text,
    )
    exported = target.ask("GET", f"/api/sessions/{session}/export?format=json").json["exchanges"][0]
    assert [entry["event"].get("text") for entry in exported["entries"]].count(text) == 2


class Frame(NamedTuple):
    """One event as a browser parses it."""

    name: str
    id: str
    data: str


def parse_frames(body: bytes) -> list[Frame]:
    """Parse events as an EventSource does: CR, LF and CRLF end lines."""
    parsed, name, last_id, data = [], "", "", list[str]()
    for line in re.split(r"\r\n|\r|\n", body.decode()):
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match field:
            case "" if not line:
                if data:
                    parsed.append(Frame(name, last_id, "\n".join(data)))
                name, data = "", []
            case "event":
                name = value
            case "id" if "\x00" not in value:
                last_id = value
            case "data":
                data.append(value)
    return parsed


def streamed_turn(target: AttackTarget, turn: str, query: str = "") -> Turn:
    """Check every frame of a stream and return the folded turn."""
    *entry_frames, end = parse_frames(target.ask("GET", f"/api/turns/{turn}/events{query}").body)
    assert (end.name, end.id) == ("end", str(len(entry_frames) - 1))
    turn_state = Turn()
    for number, frame in enumerate(entry_frames):
        assert (frame.name, frame.id) == ("", str(number))
        entry = msgspec.json.decode(frame.data, type=Entry)
        assert entry.seq == number
        apply(turn_state, entry)
    assert not turn_state.live
    return turn_state


@pytest.mark.parametrize("text", [*SSE_TEXTS, *JSON_LIKE, *SQL_TEXTS[:4]], ids=lambda text: ascii(text)[:30])
def test_model_text_cannot_forge_events(text: str, target: AttackTarget) -> None:
    """S19: reasoning, answers, tool names and arguments stay inside their frame, live and in a replay."""
    call = {"name": text, "arguments": {text: text}}
    script = json.dumps({"thinking": text, "text": text, "tool_calls": [call]})
    session = target.gateway.create_session(target.attacker.headers)
    turn = target.gateway.start_turn(target.attacker.headers, session, script)
    live, again, replayed = (streamed_turn(target, turn, query) for query in ("", "?after=-1", "?speed=100"))
    for streamed in (live, again, replayed):
        by_kind = {block.kind: block for block in streamed.blocks}
        assert by_kind[Kind.REASONING].text == by_kind[Kind.TEXT].text == text
        assert by_kind[Kind.TOOL_CALL].name == text
        assert json.loads(by_kind[Kind.TOOL_CALL].text) == {text: text}
    check_untouched(target)


@pytest.mark.parametrize("text", SSE_TEXTS, ids=lambda text: ascii(text)[:30])
def test_imported_text_cannot_forge_events(text: str, target: AttackTarget) -> None:
    """Every text field of an entry, including notices, summaries, results, seals and failures."""
    seal = {"dialect": text, "form": "signature", "payload": text, "model": text}
    events: list[dict[str, Any]] = [
        {"type": "turn.started", "dialect": text, "model": text},
        {"type": "notice.given", "code": text, "text": text},
        {"type": "block.started", "block": 0, "kind": "tool_call", "name": text, "call_id": text},
        {"type": "block.grew", "block": 0, "text": text},
        {"type": "block.sealed", "block": 0, "seal": seal},
        {"type": "block.ended", "block": 0},
        {"type": "tool.finished", "block": 0, "result": text, "error": text},
        {"type": "block.started", "block": 1, "kind": "assistant_call", "assistant_id": text, "name": text},
        {"type": "block.ended", "block": 1},
        {"type": "summary.written", "text": text},
        {"type": "turn.failed", "code": text, "message": text},
    ]
    session_data = session_file("x", "x")
    session_data["exchanges"][0]["entries"] = [
        {"seq": seq, "event": event} for seq, event in enumerate(events)
    ]
    session = target.ask("POST", "/api/import", session_data).json["id"]
    [turn] = target.ask("GET", f"/api/sessions/{session}").json["turns"]
    streamed = streamed_turn(target, turn["id"])
    assert (streamed.blocks[0].name, streamed.blocks[0].result, streamed.summary, streamed.dialect) == (
        text,
    ) * 4
    assert streamed.outcome is not None
    assert streamed.outcome.cause == text


@pytest.mark.parametrize(
    "words", [*SEARCH_TEXTS, *SQL_TEXTS, VICTIM_WORD, "u1w1prompt", "u2w2prompt"], ids=ascii
)
def test_search_returns_only_the_users_sessions(words: str, target: AttackTarget) -> None:
    """For any query, every hit is in the user's own sessions, and those are still found."""
    session, _ = target.gateway.import_session(target.attacker.headers, "x", f"{OWN_WORD} {words}")
    hits: set[str] = set()
    for query in (words, f"{OWN_WORD} {words}", f'"{words}" {OWN_WORD}', f"{words}*"):
        response = target.get("/api/search", q=query, scope="prompts,answers,tools,thoughts", limit="200")
        assert response.status in (200, 422), response
        hits |= {hit["session"] for hit in response.json["items"]} if response.status == 200 else set()
    own_sessions = select(schema.sessions.c.id).where(schema.sessions.c.user == target.attacker.owner.user)
    assert hits <= target.gateway.read(lambda conn: set(conn.scalars(own_sessions)))
    own_hits = target.get("/api/search", q=f"{OWN_WORD}", limit="1").json["items"]
    assert own_hits[0]["session"] == session


SNEAKED = {
    "user": 1,
    "owner": {"user": 1, "workspace": 1},
    "workspace": 1,
    "id": "ses_0000000000000000000000",
    "key": 1,
    "created_ms": 1,
    "updated_ms": 1,
    "yours": True,
    "titled_by": "answer",
    "state": "done",
    "epoch": 9,
    "base_url": "http://evil.example",
    "provider": "evil",
    "__proto__": {},
    "": "",
}
BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("POST", "/api/sessions"): {},
    ("PATCH", "/api/sessions/{session}"): {},
    ("POST", TURNS): {"prompt": "x"},
    ("POST", "/api/turns/{turn}/cancel"): {},
    ("POST", "/api/turns/{turn}/answer-now"): {},
    ("POST", "/api/turns/{turn}/approvals"): {"block": 0, "granted": True},
    ("DELETE", "/api/sessions/{session}"): {},
    ("POST", "/api/agents"): AGENT,
    ("PUT", "/api/agents/{agent}"): AGENT,
    ("PUT", "/api/preferences"): {},
}


@pytest.mark.parametrize("where", BODIES, ids=" ".join)
def test_internal_fields_in_a_body_are_refused(where: tuple[str, str], target: AttackTarget) -> None:
    """S7, S9, S12: owner, destination and id are never taken from a body."""
    method, path = where[0], where[1].format(session=target.session, turn=target.turn, agent=target.agent)
    rows_before = target.gateway.all_rows()
    for name, value in SNEAKED.items():
        response = target.ask(method, path, BODIES[where] | {name: value})
        assert response.status == 422, (name, response)
    assert target.gateway.all_rows() == rows_before


MALFORMED_JSON = {
    "an array": b"[]",
    "a string": b'"x"',
    "a number": b"1e400",
    "nothing": b"null",
    "not a number": b'{"title": NaN}',
    "infinite": b'{"title": Infinity}',
    "a comment": b'{"title": "x" /* y */}',
    "a comma too many": b'{"title": "x",}',
    "single quotes": b"{'title': 'x'}",
    "a mark before": b'\xef\xbb\xbf{"title": "x"}',
    "UTF-16": '{"title": "x"}'.encode("utf-16"),
    "not UTF-8": b'{"title": "\xc3\x28"}',
    "overlong": b'{"title": "\xc0\xaf"}',
    "a half of a pair": b'{"title": "\\ud800"}',
    "a raw NUL": b'{"title": "\x00"}',
    "a raw line end": b'{"title": "a\nb"}',
    "two objects": b"{}{}",
    "very deep": b'{"title": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "a very long number": b'{"title": ' + b"9" * 100_000 + b"}",
    "a form": b"title=x",
    "XML": b"<?xml version='1.0'?><!DOCTYPE x [<!ENTITY y SYSTEM 'file:///etc/passwd'>]><x>&y;</x>",
}


@pytest.mark.parametrize("name", MALFORMED_JSON)
def test_malformed_json_is_refused(name: str, target: AttackTarget) -> None:
    rows_before = target.gateway.all_rows()
    for method, path in (*BODIES, ("POST", "/api/import")):
        ids = {"session": target.session, "turn": target.turn, "agent": target.agent}
        response = target.ask(method, path.format(**ids), MALFORMED_JSON[name], [JSON])
        assert response.status in (400, 422), (path, response)
    assert target.gateway.all_rows() == rows_before


ODD_VALUES: list[Any] = [
    *(None, True, -1, 0, 2**31, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**40, 1.5, 1e308),
    *(
        "",
        "\x00",
        "\ud800",
        "x" * 5000,
        "'; DROP TABLE sessions; --",
        "\n\nid: 9\n",
        "reasoning",
        "tool_call",
    ),
    *([], [None], {}, {"input": 2**70}, {"dialect": "x", "form": "signature", "payload": "\ud800"}),
]


def mutate(generator: random.Random, value: Any) -> Any:
    """Return the value with one place changed, mostly to an odd value of the same type."""
    if isinstance(value, dict | list) and value and generator.random() < 0.9:
        places = list(value) if isinstance(value, dict) else range(len(value))
        key = generator.choice(list(places))
        changed = copy.copy(value)
        changed[key] = mutate(generator, value[key])
        return changed
    alike = [odd for odd in ODD_VALUES if type(odd) is type(value)]
    return generator.choice(alike if alike and generator.random() < 0.8 else ODD_VALUES)


@pytest.mark.some_cases(2)
@pytest.mark.parametrize("part", range(6))
def test_mutated_import_is_refused_or_readable(part: int, target: AttackTarget) -> None:
    """An import is all or nothing: an accepted file can be read, streamed, exported, searched and deleted."""
    imported_count = 0
    for seed in range(part * 50, part * 50 + 50):
        response = target.ask(
            "POST", "/api/import", mutate(random.Random(seed), session_file("x", "bentword"))
        )
        assert response.status in (201, 413, 422), (seed, response)
        if response.status != 201:
            continue
        imported_count += 1
        session = f"/api/sessions/{response.json['id']}"
        turns = [f"/api/turns/{turn['id']}" for turn in target.ask("GET", session).json["turns"]]
        exports = [f"{session}/export?format={form}" for form in ("text", "markdown", "json")]
        streams = [f"{turn}/events" for turn in turns]
        for path in (session, f"{session}/messages", *exports, *turns, *streams, "/api/search?q=bentword"):
            assert target.ask("GET", path).status == 200, (seed, path)
        assert target.ask("DELETE", session).status == 204
    assert imported_count, "no file was taken, so nothing was read"
    check_untouched(target)
