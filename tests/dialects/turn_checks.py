"""Checks that the events of a turn are valid, for all tests that read irregular input."""

import msgspec

from thinkaloud import Turn, fold
from thinkaloud.core.canon import Event, TurnEnded, TurnFailed, TurnStarted
from thinkaloud.core.transcript import BlockStatus


def assert_valid_turn(events: list[Event]) -> Turn:
    """Fold the events; assert that the turn starts first, ends once and last, and has no open blocks."""
    ends = [event for event in events if isinstance(event, TurnEnded | TurnFailed)]
    assert ends == events[-1:]
    assert [event for event in events if isinstance(event, TurnStarted)] == events[:1]
    assert decode_events(encode_events(events)) == events
    turn = fold(events)
    assert all(block.status is not BlockStatus.RUNNING for block in turn.blocks)
    return turn


def encode_events(events: list[Event]) -> bytes:
    return msgspec.json.encode(events)


def decode_events(data: bytes) -> list[Event]:
    return msgspec.json.decode(data, type=list[Event])
