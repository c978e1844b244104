"""The page says what Python says: the same turn and the same view of any script, and the same words."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page
from tests.transcript.any_turn import EVENTS, Script, fold_script, random_script, scripts
from tests.web.generate_core import GENERATED
from tests.web.site import WEB, Site

from thinkaloud.core.canon import BlockEnded, BlockGrew, BlockStarted, Entry, Kind, TurnStarted
from thinkaloud.core.transcript import Turn
from thinkaloud.core.view import LOCALES, PRESETS, Words, count_words, preset, preview, tail, view

SLOW = settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])

LINES = """text => {
  const block = new core.Block(0, "reasoning");
  block.append(text);
  const turn = new core.Turn();
  turn.blocks.push(block);
  return [core.preview(block), core.peek(block), core.countWords(text), core.summaryLine(turn, [block])[0]];
}"""

WRITING = st.text(
    st.sampled_from("ab Zé.,!?*_`#>-+[]()\n\t 漢字かな。！👩‍💻🇧🇷é̈…\u202e\x07 0123 ok so hmm então"),
    max_size=200,
)
SENTENCES = st.lists(
    st.sampled_from(
        [
            "Okay, so ",
            "Hmm. ",
            "Let me think about this. ",
            "Bem, vejamos: ",
            "tá bom, ",
            "**A title**\n",
            "## Heading ##\n",
            "The user wants e.g. a cat. ",
            "It is 3.5 km away! ",
            "- one\n- two\n",
            "[a link](https://x.y) ",
            "```py\ncode\n```\n",
            "2**10 and 2 * 3 ",
            "用户想知道。今天？",
            "1. First\n",
            "\n\n",
        ]
    ),
    max_size=12,
).map("".join)


class CoreProcess:
    """The TypeScript core in a Node process: scripts in, turns and views out."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            ["node", "test/fold-scripts.mjs"],
            cwd=WEB,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def fold(self, **script: Any) -> dict[str, Any]:
        """What the core makes of a script."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(script) + "\n")
        self._process.stdin.flush()
        folded: dict[str, Any] = json.loads(self._process.stdout.readline())
        return folded

    def close(self) -> None:
        self._process.communicate(timeout=30)


@pytest.fixture(scope="module")
def core(site: Site) -> Iterator[CoreProcess]:
    process = CoreProcess()
    yield process
    process.close()


@pytest.mark.parametrize("name", sorted(GENERATED))
def test_generated_files_match_python(name: str) -> None:
    """They have drifted: run `make core`."""
    assert (WEB / name).read_text("utf-8") == GENERATED[name]()


def test_every_kind_of_event_is_generated() -> None:
    """And fits where it comes, at least now and then."""
    fitting: set[type[Any]] = set()
    for seed in range(100):
        script = random_script(seed, 40)
        _, refused = fold_script(script)
        fitting.update(type(event) for seq, (_, event) in enumerate(script) if seq not in refused)
    assert fitting == set(EVENTS)


@pytest.fixture
def page(page: Page) -> Page:
    """A page that also has the part of the element without any DOM."""
    page.evaluate("async () => { window.core = await import('/dist/core.js'); }")
    return page


@settings(SLOW, max_examples=400)
@given(
    script=scripts(),
    name=st.sampled_from(sorted(PRESETS)),
    locale=st.sampled_from(["en-US", "pt-BR"]),
    choices=st.dictionaries(st.integers(-1, 5), st.booleans(), max_size=3),
    later=st.sampled_from([0, 40, 1200, 75_000]),
)
def test_any_turn_is_folded_and_shown_alike(
    core: CoreProcess, script: Script, name: str, locale: str, choices: dict[int, bool], later: int
) -> None:
    turn, refused = fold_script(script)
    now = script[-1][0] if script else 0
    entries = [msgspec.to_builtins(Entry(seq, event, at_ms)) for seq, (at_ms, event) in enumerate(script)]
    folded = core.fold(
        entries=entries,
        policy={"preset": name},
        locale=locale,
        now=now + later,
        choices=list(choices.items()),
    )
    assert folded["refused"] == refused
    assert _turn_facts(folded["turn"]) == _python_turn(turn)
    expected = view(turn, preset(name), locale, now_ms=now + later, choices=choices)
    _assert_same(expected, folded["view"])


@pytest.mark.parametrize("piece", [9000, 4001, 1000, 7])
@pytest.mark.parametrize(
    "given_input",
    [
        '{"q": "%s"}' % ("🐈" * 2500),
        '{"q": "%s"}' % ("🐈" * 4000),
        '{"q": "%s"}' % ("a" * 3991),
        '{"q": "%s"}' % ("a" * 3993),
        "👩‍💻" * 4000,
        "👩‍💻" * 4001,
        "word " * 900,
    ],
    ids=["emoji", "many emoji", "at the limit", "over it", "clusters", "many clusters", "words"],
)
def test_input_of_a_call_is_cut_alike_however_it_came(
    core: CoreProcess, given_input: str, piece: int
) -> None:
    pieces = [given_input[start : start + piece] for start in range(0, len(given_input), piece)]
    script: Script = [(0, TurnStarted()), (0, BlockStarted(0, Kind.TOOL_CALL, "find"))]
    script += [(0, BlockGrew(0, text)) for text in pieces]
    script.append((0, BlockEnded(0)))
    entries = [msgspec.to_builtins(Entry(seq, event, at_ms)) for seq, (at_ms, event) in enumerate(script)]
    folded = core.fold(entries=entries, policy={}, locale="en-US", now=0, choices=[])
    turn, _ = fold_script(script)
    _assert_same(view(turn, now_ms=0), folded["view"])


@SLOW
@given(text=WRITING | SENTENCES)
def test_any_text_is_shortened_alike(page: Page, text: str) -> None:
    from thinkaloud.core.transcript import fold
    from thinkaloud.core.view import summary_line

    turn = fold([BlockStarted(0, Kind.REASONING), BlockGrew(0, text)])
    expected = [preview(text), tail(text), count_words(text), summary_line(turn)[0]]
    found = page.evaluate(LINES, text)
    if not text.strip():
        expected[3] = found[3] = ""  # a blank thought is no thought, and nobody asks for its summary
    assert found == expected


def test_the_words_are_the_same(page: Page) -> None:
    """R126, R127, R128, R129: every word that the page has in common with Python, in both languages."""
    for name, locale in LOCALES.items():
        table = page.evaluate("name => core.findLocale(name).words", name)
        shared = 0
        for key, text in table.items():
            full = f"ai.{key}" if key.startswith(("notice.", "session.")) else f"ai.thinking.{key}"
            if full in locale.words:
                said = locale.words[full]
                assert text == (said if isinstance(said, str) else f"{said.one}|{said.other}"), full
                shared += 1
        assert shared >= 38


@pytest.mark.parametrize("locale", ["en-US", "pt-BR"])
def test_numbers_and_times_are_written_alike(page: Page, locale: str) -> None:
    times = [
        None,
        -1,
        0,
        1,
        999,
        1000,
        1049,
        1050,
        4200,
        59_949,
        59_950,
        80_000,
        3_599_499,
        3_599_500,
        3_720_000,
    ]
    counts = [0, 1, 2, 999, 1000, 1_234_567]
    words = Words(locale)
    assert page.evaluate(
        "([name, times, counts]) => { const words = new core.Words(core.findLocale(name));"
        " return [times.map(ms => words.duration(ms)), counts.map(n => words.say('words', {n}))]; }",
        [locale, times, counts],
    ) == [[words.duration(ms) for ms in times], [words.text("ai.thinking.words", n=n) for n in counts]]


BLOCK_FIELDS = {
    "number": "number",
    "kind": "kind",
    "name": "name",
    "callId": "call_id",
    "assistantId": "assistant_id",
    "parent": "parent",
    "provenance": "provenance",
    "status": "status",
    "result": "result",
    "error": "error",
    "approval": "approval",
    "startedMs": "started_ms",
    "endedMs": "ended_ms",
    "text": "text",
    "blank": "blank",
    "awaitingResult": "awaiting_result",
}
"""The facts of a block, by their names in TypeScript and in Python."""
TURN_FIELDS = {
    "dialect": "dialect",
    "model": "model",
    "answer": "answer",
    "live": "live",
    "summary": "summary",
    "summaryBy": "summary_by",
    "seq": "seq",
    "startedMs": "started_ms",
    "endedMs": "ended_ms",
}
OUTCOME_FIELDS = ("ending", "cause", "message", "wording")
REPLY_FIELDS = ("finish", "said", "dialect", "model", "provider", "prefix", "parent", "until", "calls")
REPLY_DEFAULTS: dict[str, Any] = {"finish": "unknown", "parent": None, "until": 0, "calls": []}


def _turn_facts(turn: dict[str, Any]) -> dict[str, Any]:
    """A turn of the page, in the names of Python."""
    blocks = [
        {own: block[name] for name, own in BLOCK_FIELDS.items()}
        | {"forms": [one["form"] for one in block["seals"]]}
        for block in turn["blocks"]
    ]
    replies = [
        {name: reply.get(name, REPLY_DEFAULTS.get(name, "")) for name in REPLY_FIELDS}
        | {"usage": _known(reply.get("usage", {}))}
        for reply in turn["replies"]
    ]
    outcome = turn["outcome"] and {name: turn["outcome"].get(name) for name in OUTCOME_FIELDS}
    facts = {own: turn[name] for name, own in TURN_FIELDS.items()}
    notices = [(given["code"], given.get("text", ""), given.get("block")) for given in turn["notices"]]
    usage = _known(turn["usage"])
    return facts | {
        "blocks": blocks,
        "replies": replies,
        "outcome": outcome,
        "notices": notices,
        "usage": usage,
    }


def _python_turn(turn: Turn) -> dict[str, Any]:
    """The same facts of a turn of Python."""
    blocks = [
        {own: getattr(block, own) for own in BLOCK_FIELDS.values()}
        | {"forms": [one.form for one in block.seals]}
        for block in turn.blocks
    ]
    replies = [
        {name: getattr(reply, name) for name in REPLY_FIELDS}
        | {"calls": list(reply.calls), "usage": _known(msgspec.structs.asdict(reply.usage))}
        for reply in turn.replies
    ]
    outcome = turn.outcome and {
        name: msgspec.to_builtins(getattr(turn.outcome, name)) for name in OUTCOME_FIELDS
    }
    facts = {own: getattr(turn, own) for own in TURN_FIELDS.values()}
    notices = [(given.code, given.text, given.block) for given in turn.notices]
    usage = _known(msgspec.structs.asdict(turn.usage))
    return facts | {
        "blocks": blocks,
        "replies": replies,
        "outcome": outcome,
        "notices": notices,
        "usage": usage,
    }


def _known(usage: dict[str, Any]) -> dict[str, Any]:
    return {name: count for name, count in usage.items() if count is not None}


def _assert_same(expected: Any, found: Any) -> None:
    """Compares what Python has, by its names in JSON; a tree of text is compared to the letter."""
    if expected is None or found is None:
        assert (expected is None) == (found is None)
        return
    for field in msgspec.structs.fields(expected):
        wanted, given_value = getattr(expected, field.name), found[field.encode_name]
        if isinstance(wanted, tuple):
            assert len(wanted) == len(given_value), field.name
            for one, other in zip(wanted, given_value, strict=True):
                _assert_same(one, other)
        else:
            assert given_value == wanted, field.name
