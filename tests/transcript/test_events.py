"""The JSON form of every event, usage arithmetic, and the tree of error classes."""

import msgspec
import pytest

from thinkaloud.core.canon import (
    ApprovalAsked,
    ApprovalSettled,
    BadFrame,
    BlockEnded,
    BlockGrew,
    BlockReclassified,
    BlockSealed,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    LimitExceeded,
    NotAResponse,
    NoticeGiven,
    Provenance,
    ProviderFault,
    Refused,
    ReplyEnded,
    Seal,
    SealForm,
    SummaryWritten,
    ThinkaloudError,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    UnknownDialect,
    UnknownLocale,
    UnknownPreset,
    UnknownProfile,
    Usage,
    UsageReported,
)

SEAL = Seal("gemini", SealForm.SIGNATURE, "CiQ=\n\\u00e9", "gemini-3")

# The JSON that is stored in logs. Default values are left out.
EVENTS_AND_JSON: list[tuple[Event, str]] = [
    (TurnStarted(), '{"type":"turn.started"}'),
    (TurnStarted("ollama", "qwen3"), '{"type":"turn.started","dialect":"ollama","model":"qwen3"}'),
    (BlockStarted(0, Kind.REASONING), '{"type":"block.started","block":0,"kind":"reasoning"}'),
    (
        BlockStarted(2, Kind.TOOL_CALL, "add", "c1", parent=1, provenance=Provenance.RAW),
        '{"type":"block.started","block":2,"kind":"tool_call","name":"add","call_id":"c1","parent":1,"provenance":"raw"}',
    ),
    (BlockGrew(0, "é\n"), '{"type":"block.grew","block":0,"text":"é\\n"}'),
    (
        BlockSealed(0, SEAL),
        '{"type":"block.sealed","block":0,"seal":{"dialect":"gemini","form":"signature",'
        '"payload":"CiQ=\\n\\\\u00e9","model":"gemini-3"}}',
    ),
    (BlockReclassified(0, Kind.TEXT), '{"type":"block.reclassified","block":0,"kind":"text"}'),
    (
        BlockReclassified(0, Kind.TEXT, 5, 1),
        '{"type":"block.reclassified","block":0,"kind":"text","tail":5,"into":1}',
    ),
    (ToolFinished(1, "4"), '{"type":"tool.finished","block":1,"result":"4"}'),
    (ToolFinished(1, error="no"), '{"type":"tool.finished","block":1,"error":"no"}'),
    (BlockEnded(0), '{"type":"block.ended","block":0}'),
    (BlockEnded(0, interrupted=True), '{"type":"block.ended","block":0,"interrupted":true}'),
    (SummaryWritten("Looked", "extract"), '{"type":"summary.written","text":"Looked","by":"extract"}'),
    (UsageReported(Usage(output=0)), '{"type":"usage.reported","usage":{"output":0}}'),
    (NoticeGiven("rerouted"), '{"type":"notice.given","code":"rerouted"}'),
    (
        NoticeGiven("repeating", "Again.", 3),
        '{"type":"notice.given","code":"repeating","text":"Again.","block":3}',
    ),
    (ApprovalAsked(2), '{"type":"approval.asked","block":2}'),
    (ApprovalSettled(2, True, "Bo"), '{"type":"approval.settled","block":2,"granted":true,"by":"Bo"}'),
    (ApprovalSettled(2, False), '{"type":"approval.settled","block":2,"granted":false}'),
    (ReplyEnded(), '{"type":"reply.ended"}'),
    (
        ReplyEnded(
            Finish.TOOL_CALLS, "tool_use", usage=Usage(output=5), provider="acme", prefix="f0", parent=0
        ),
        '{"type":"reply.ended","finish":"tool_calls","said":"tool_use","usage":{"output":5},"provider":"acme",'
        '"prefix":"f0","parent":0}',
    ),
    (
        ReplyEnded(message=Seal("ollama", SealForm.MESSAGE, "{}"), dialect="ollama", model="qwen3"),
        '{"type":"reply.ended","message":{"dialect":"ollama","form":"message","payload":"{}"},'
        '"dialect":"ollama","model":"qwen3"}',
    ),
    (TurnEnded(Finish.STOP, "end_turn"), '{"type":"turn.ended","finish":"stop","said":"end_turn"}'),
    (
        TurnEnded(message=Seal("ollama", SealForm.MESSAGE, "{}")),
        '{"type":"turn.ended","message":{"dialect":"ollama","form":"message","payload":"{}"}}',
    ),
    (TurnFailed("cut_off", "It stopped."), '{"type":"turn.failed","code":"cut_off","message":"It stopped."}'),
]


@pytest.mark.parametrize(
    ("event", "encoded"), EVENTS_AND_JSON, ids=[encoded[9:40] for _, encoded in EVENTS_AND_JSON]
)
def test_event_json_round_trip(event: Event, encoded: str) -> None:
    assert msgspec.json.encode(event).decode() == encoded
    assert msgspec.json.decode(encoded, type=Event) == event


@pytest.mark.parametrize(
    ("event", "encoded"), EVENTS_AND_JSON, ids=[encoded[9:40] for _, encoded in EVENTS_AND_JSON]
)
def test_entry_json_round_trip(event: Event, encoded: str) -> None:
    entry = Entry(7, event, 1200)
    line = f'{{"seq":7,"event":{encoded},"at_ms":1200}}'
    assert msgspec.json.encode(entry).decode() == line
    assert msgspec.json.decode(line, type=Entry) == entry


def test_unknown_time_is_not_encoded() -> None:
    assert msgspec.json.encode(Entry(0, TurnStarted())) == b'{"seq":0,"event":{"type":"turn.started"}}'


def test_every_event_class_has_a_json_example() -> None:
    assert {type(event) for event, _ in EVENTS_AND_JSON} == set(Event.__args__)


def test_events_are_frozen() -> None:
    for event, _ in EVENTS_AND_JSON:
        with pytest.raises(AttributeError):
            setattr(event, event.__struct_fields__[0], None)


def test_usage_merge_prefers_newer_counts() -> None:
    older, newer = Usage(1, 2, None, 4, None), Usage(None, 0, 3, None, None)
    assert older.merge(newer) == Usage(1, 0, 3, 4, None)
    assert older.merge(Usage()) == older
    assert Usage().merge(older) == older


def test_usage_add_keeps_unknown_counts_unknown() -> None:
    assert Usage(1, 2, 3, None, 0).add(Usage(10, 0, None, 4, 5)) == Usage(11, 2, None, None, 5)


@pytest.mark.parametrize(
    ("family", "errors"),
    [
        (Refused, [UnknownDialect, UnknownProfile, UnknownLocale, UnknownPreset, NotAResponse]),
        (ProviderFault, [BadFrame, LimitExceeded]),
        (ThinkaloudError, [Refused, ProviderFault]),
    ],
)
def test_error_class_tree(family: type, errors: list[type]) -> None:
    assert all(issubclass(error, family) for error in errors)
    assert not issubclass(Refused, ProviderFault)


def test_provider_faults_have_codes() -> None:
    codes = [fault.code for fault in (ProviderFault, BadFrame, LimitExceeded)]
    assert codes == ["provider_fault", "bad_frame", "limit_exceeded"]
