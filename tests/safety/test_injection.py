"""Texts for another reader, put into every place of the API that takes a text.

None breaks the gateway, none reaches somebody else's rows, each that is kept comes back as it was, and no
text of a model, a tool or a file ever becomes an event of its own in a stream.
"""

import copy
import json
import random
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import pytest
from tests.safety.corpus import CORPUS, JSON_LIKE, SEARCH, SQL, STREAMS
from tests.safety.fields import AGENT, FIELDS, OWN, SECRET, THEIRS, TURNS, Place
from tests.safety.ground import JSON, file, ground

from thinkaloud.canon import Entry, Kind
from thinkaloud.transcript import Turn, apply


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with ground(tmp_path_factory.mktemp("injection")) as found:
        victim, who = found.person("victim", "red"), found.person("ana", "red")
        for words in SEARCH:  # whatever gets out of its scope finds something here
            told = f"{THEIRS} {OWN} {words} {SECRET}"
            found.imported(victim.headers, SECRET, told, told, told)
        found.agent(found.person("boss", "white").headers, SECRET, system=SECRET)
        session, turn = found.imported(who.headers, OWN, OWN, OWN, OWN)
        agent = found.agent(who.headers, OWN)
        assert found.ask("PUT", "/api/preferences", {}, who.headers).status == 200
        yield Place(found, who, session, turn, agent, found.everything())


@pytest.mark.parametrize("field", FIELDS)
def test_no_text_breaks_anything_or_reaches_anybody(field: str, place: Place) -> None:
    """SQL, search syntax, frames, JSON and odd characters (S10, S19) in every place that takes a text."""
    for text in CORPUS:
        told = FIELDS[field](place, text)
        assert 200 <= told.status < 500, (text, told)
        assert SECRET not in told.body.decode(), (text, told)
    untouched(place)


def untouched(place: Place) -> None:
    """Nobody else's rows have changed, and none were made for anybody else."""
    after = place.ground.everything()
    mine = {place.session, place.agent}
    user = place.who.owner.user
    for table, rows in place.before.items():
        kept = {row for row in rows if not mine.intersection(row)}
        if table == "preferences":
            kept = {row for row in rows if row[0] != user}
        assert kept <= after[table], table
        if table in ("sessions", "agents"):
            assert {row[2] for row in after[table] - rows} <= {user}, table


TEXTS = [text for text in CORPUS if text.strip() and not re.search("[\ud800-\udfff]", text)]
"""Those that are text at all."""


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text)[:30])
def test_what_is_kept_comes_back_as_it_was(text: str, place: Place) -> None:
    """R051 to R053: thought and answer to the letter, also where they hold what no engine likes."""
    session, _ = place.ground.imported(place.who.headers, text[:200], text, text, text)
    kept = text.replace("\x00", "\ufffd")
    assert place.ask("GET", f"/api/sessions/{session}").json["title"] == kept[:200]
    asked, said = place.ask("GET", f"/api/sessions/{session}/messages").json["items"]
    assert (asked["content"], said["content"], said["thinking"]) == (kept, text, text)
    exported = place.ask("GET", f"/api/sessions/{session}/export?format=json").json["exchanges"][0]
    assert [entry["event"].get("text") for entry in exported["entries"]].count(text) == 2


class Frame(NamedTuple):
    """One event as a browser takes it out of a stream."""

    name: str
    id: str
    data: str


def frames(body: bytes) -> list[Frame]:
    """What an EventSource would dispatch, by the rules that browsers go by: CR, LF and CRLF end lines."""
    found, name, last_id, data = [], "", "", list[str]()
    for line in re.split(r"\r\n|\r|\n", body.decode()):
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match field:
            case "" if not line:
                if data:
                    found.append(Frame(name, last_id, "\n".join(data)))
                name, data = "", []
            case "event":
                name = value
            case "id" if "\x00" not in value:
                last_id = value
            case "data":
                data.append(value)
    return found


def story(place: Place, turn: str, query: str = "") -> Turn:
    """The turn that its stream tells, after a look at every frame of it."""
    *told, end = frames(place.ask("GET", f"/api/turns/{turn}/events{query}").body)
    assert (end.name, end.id) == ("end", str(len(told) - 1))
    turn_told = Turn()
    for number, frame in enumerate(told):
        assert (frame.name, frame.id) == ("", str(number))
        entry = msgspec.json.decode(frame.data, type=Entry)
        assert entry.seq == number
        apply(turn_told, entry)
    assert not turn_told.live
    return turn_told


@pytest.mark.parametrize("text", [*STREAMS, *JSON_LIKE, *SQL[:4]], ids=lambda text: ascii(text)[:30])
def test_no_text_of_a_model_becomes_an_event(text: str, place: Place) -> None:
    """S19: thoughts, answers, names and arguments of tools, live and again; each is data of its own frame."""
    call = {"name": text, "arguments": {text: text}}
    script = json.dumps({"thinking": text, "text": text, "tool_calls": [call]})
    session = place.ground.session(place.who.headers)
    turn = place.ground.begun(place.who.headers, session, script)
    live, again, replayed = (story(place, turn, query) for query in ("", "?after=-1", "?speed=100"))
    for told in (live, again, replayed):
        by_kind = {block.kind: block for block in told.blocks}
        assert by_kind[Kind.REASONING].text == by_kind[Kind.TEXT].text == text
        assert by_kind[Kind.TOOL_CALL].name == text
        assert json.loads(by_kind[Kind.TOOL_CALL].text) == {text: text}
    untouched(place)


@pytest.mark.parametrize("text", STREAMS, ids=lambda text: ascii(text)[:30])
def test_no_text_of_a_file_becomes_an_event(text: str, place: Place) -> None:
    """Every text that an entry can hold: also notices, summaries, results, seals and failures."""
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
    made = file("x", "x")
    made["exchanges"][0]["entries"] = [{"seq": seq, "event": event} for seq, event in enumerate(events)]
    session = place.ask("POST", "/api/import", made).json["id"]
    [turn] = place.ask("GET", f"/api/sessions/{session}").json["turns"]
    told = story(place, turn["id"])
    assert (told.blocks[0].name, told.blocks[0].result, told.summary, told.dialect) == (text,) * 4
    assert told.outcome is not None
    assert told.outcome.cause == text


@pytest.mark.parametrize("words", [*SEARCH, *SQL, THEIRS, "u1w1prompt", "u2w2prompt"], ids=ascii)
def test_a_search_stays_within_what_is_ones_own(words: str, place: Place) -> None:
    """Whatever is typed, every hit is in a session of who typed it; and what is theirs is still found."""
    session, _ = place.ground.imported(place.who.headers, "x", f"{OWN} {words}")
    hits: set[str] = set()
    for query in (words, f"{OWN} {words}", f'"{words}" {OWN}', f"{words}*"):
        told = place.get("/api/search", q=query, scope="prompts,answers,tools,thoughts", limit="200")
        assert told.status in (200, 422), told
        hits |= {hit["session"] for hit in told.json["items"]} if told.status == 200 else set()
    for hit in hits:
        assert place.ask("GET", f"/api/sessions/{hit}").status == 200, hit
    found = place.get("/api/search", q=f"{OWN}", limit="1").json["items"]
    assert found[0]["session"] == session


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
def test_no_field_can_be_sneaked_in(where: tuple[str, str], place: Place) -> None:
    """Whose it is, where it goes and what it is called are never taken from a body (S7, S12)."""
    method, path = where[0], where[1].format(session=place.session, turn=place.turn, agent=place.agent)
    before = place.ground.everything()
    for name, value in SNEAKED.items():
        told = place.ask(method, path, BODIES[where] | {name: value})
        assert told.status == 422, (name, told)
    assert place.ground.everything() == before


CROOKED = {
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


@pytest.mark.parametrize("name", CROOKED)
def test_what_is_no_proper_json_is_refused(name: str, place: Place) -> None:
    before = place.ground.everything()
    for method, path in (*BODIES, ("POST", "/api/import")):
        ids = {"session": place.session, "turn": place.turn, "agent": place.agent}
        told = place.ask(method, path.format(**ids), CROOKED[name], [JSON])
        assert told.status in (400, 422), (path, told)
    assert place.ground.everything() == before


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


def bent(chance: random.Random, value: Any) -> Any:
    """The value with one place of it changed: to something odd of the same kind, mostly."""
    if isinstance(value, dict | list) and value and chance.random() < 0.9:
        places = list(value) if isinstance(value, dict) else range(len(value))
        where = chance.choice(list(places))
        made = copy.copy(value)
        made[where] = bent(chance, value[where])
        return made
    alike = [odd for odd in ODD_VALUES if type(odd) is type(value)]
    return chance.choice(alike if alike and chance.random() < 0.8 else ODD_VALUES)


@pytest.mark.parametrize("part", range(6))
def test_a_bent_file_is_refused_or_can_be_read(part: int, place: Place) -> None:
    """An import is all or nothing: what is taken can be read, streamed, exported, searched and deleted."""
    taken = 0
    for seed in range(part * 50, part * 50 + 50):
        told = place.ask("POST", "/api/import", bent(random.Random(seed), file("x", "bentword")))
        assert told.status in (201, 413, 422), (seed, told)
        if told.status != 201:
            continue
        taken += 1
        session = f"/api/sessions/{told.json['id']}"
        turns = [f"/api/turns/{turn['id']}" for turn in place.ask("GET", session).json["turns"]]
        exports = [f"{session}/export?format={form}" for form in ("text", "markdown", "json")]
        streams = [f"{turn}/events" for turn in turns]
        for path in (session, f"{session}/messages", *exports, *turns, *streams, "/api/search?q=bentword"):
            assert place.ask("GET", path).status == 200, (seed, path)
        assert place.ask("DELETE", session).status == 204
    assert taken, "no file was taken, so nothing was read"
    untouched(place)
