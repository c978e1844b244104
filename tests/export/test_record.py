"""The canonical JSON file: it round-trips, and an invalid file is refused with its place."""

import json
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.export.sessions import RECORDS, session
from tests.linear_time import assert_linear
from tests.view.turns import STOP, answer_events, thought_events

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockSealed,
    BlockStarted,
    Entry,
    Event,
    Kind,
    Refused,
    ReplyEnded,
    Seal,
    SealForm,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.core.export import SessionRecord, read_json, write_json
from thinkaloud.core.export.record import entry_without_seals

STORY = session(TurnStarted("text", "m"), *thought_events(0, "Hm."), *answer_events(1, "Yes."), STOP)


@given(RECORDS)
@settings(deadline=None)
def test_json_round_trip_keeps_every_entry(record: SessionRecord) -> None:
    """R050, R137: times, seals, pieces and order; the same record gives the same bytes."""
    written = write_json(record)
    assert read_json(written) == record
    assert write_json(read_json(written)) == written


def test_json_export_is_one_object_with_its_version() -> None:
    file = json.loads(write_json(STORY))
    assert (file["thinkaloud"], file["title"], file["created_ms"]) == (1, "A talk", 5)
    (exchange,) = file["exchanges"]
    assert exchange["asked"] == [{"role": "user", "text": "Why?"}]
    assert [entry["event"]["type"] for entry in exchange["entries"]][:2] == ["turn.started", "block.started"]
    assert (exchange["model"], exchange["provider"], exchange["prefix"]) == ("m1", "acme", "abc")


def changed(**fields: object) -> bytes:
    return json.dumps(json.loads(write_json(STORY)) | fields).encode()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "This is not a Thinkaloud session"),
        (b"hello", "This is not a Thinkaloud session"),
        (b'{"messages":[]}', "missing required field `thinkaloud`"),
        (b'{"thinkaloud":1}', "missing required field `title`"),
        (b'{"thinkaloud":1,"title":"\xff"}', "with `thinkaloud`, `title`, `created_ms` and `exchanges`"),
        (b'{"thinkaloud":1,"deep":' + b"[" * 100_000, "This is not a Thinkaloud session"),
        (
            changed(exchanges=[{"asked": [{"role": "robot"}], "entries": []}]),
            r"exchanges\[0\].asked\[0\].role",
        ),
        (
            changed(thinkaloud=3),
            "format version 3, but this Thinkaloud reads only up to version 2. Update Thinkaloud",
        ),
        (changed(thinkaloud=3, exchanges="other"), "version 3"),
    ],
)
def test_json_import_refuses_what_is_no_session(data: bytes, message: str) -> None:
    with pytest.raises(Refused, match=message):
        read_json(data)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ((Entry(0, BlockEnded(3)),), "entries of exchange 2 are not a valid turn: block 3 has not started"),
        (
            (Entry(4, TurnStarted()), Entry(4, BlockGrew(0, "x"))),
            "exchange 2 are not a valid turn: entry 4 comes after entry 4",
        ),
        ((Entry(0, TurnStarted()),), "answer of exchange 2 has not ended.* Wait for its end, stop it"),
        ((), "answer of exchange 2 has not ended"),
    ],
)
def test_json_error_names_the_invalid_exchange(entries: tuple[Entry, ...], message: str) -> None:
    broken = msgspec.structs.replace(STORY.exchanges[0], entries=entries)
    record = msgspec.structs.replace(STORY, exchanges=(*STORY.exchanges, broken))
    with pytest.raises(Refused, match=message):
        read_json(changed(exchanges=json.loads(msgspec.json.encode(record.exchanges))))
    with pytest.raises(Refused, match=message):
        write_json(record)


@given(st.binary(max_size=200) | st.tuples(st.integers(0, 2_000), st.binary(max_size=3)))
def test_json_import_survives_any_damage(damage: bytes | tuple[int, bytes]) -> None:
    if isinstance(damage, tuple):
        at, put = damage
        whole = write_json(STORY)
        at %= len(whole)
        damage = whole[:at] + put + whole[at + 1 :]
    try:
        record = read_json(damage)
    except Refused:
        return
    assert read_json(write_json(record)) == record


def test_json_takes_linear_time() -> None:
    def work(size: int) -> Callable[[], object]:
        pieces = [BlockGrew(0, "some words") for _ in range(size)]
        record = session(TurnStarted(), BlockStarted(0, Kind.TEXT), *pieces, BlockEnded(0), STOP)
        return lambda: read_json(write_json(record))

    assert_linear(work, 10_000)


def test_entry_without_seals_has_no_payload() -> None:
    seal = Seal("anthropic_messages", SealForm.SIGNATURE, "c2VhbA==", "claude")
    events: list[Event] = [BlockSealed(0, seal), ReplyEnded(message=seal), TurnEnded(message=seal)]
    for event in events:
        entry = entry_without_seals(Entry(3, event, 7))
        assert b"c2VhbA" not in msgspec.json.encode(entry)
        assert (entry.seq, entry.at_ms, type(entry.event)) == (3, 7, type(event))
    plain = Entry(4, BlockGrew(0, "text"), 8)
    assert entry_without_seals(plain) is plain
