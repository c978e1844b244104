"""Runs every story against the Python view; each story lists the requirements it proves."""

import json
import re
from pathlib import Path

import msgspec
import pytest
from tests.view import stories
from tests.view.stories import FOLDER, Story, load, story_problems

FILES = sorted(path for path in FOLDER.glob("*.json") if path.name != "schema.json")
PROVED = {proof for path in FILES for proof in json.loads(path.read_bytes())["proves"]}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_story(path: Path) -> None:
    """T1, T2, T3, T4, T5, T7: every story gives the expected screens; its file lists what it proves."""
    assert story_problems(load(path)) == []


def test_stories_cover_all_shared_requirements() -> None:
    """R005, R026, R087, R098, R102, R104, R108, R110, R119 and the T-suite that needs no motion."""
    assert len(FILES) >= 22
    needed = {"T1", "T2", "T3", "T4", "T5", "T7", "R005", "R019", "R021", "R024", "R025", "R026", "R027"}
    needed |= {"R033", "R069", "R070", "R087", "R098", "R102", "R103", "R104", "R108", "R109", "R110", "R119"}
    assert needed <= PROVED
    assert all(re.fullmatch(r"[RT]\d+", proof) for proof in PROVED)


def test_stories_cover_both_languages() -> None:
    assert {load(path).locale for path in FILES} == {"en-US", "pt-BR"}


def test_story_titles_are_unique() -> None:
    titles = [load(path).story for path in FILES]
    assert len(set(titles)) == len(titles)


def test_story_steps_do_one_thing_and_stories_expect_something() -> None:
    for path in FILES:
        story = load(path)
        assert story.proves, path.name
        assert any(step.expect != stories.Expected() for step in story.steps), path.name
        for n, step in enumerate(story.steps):
            acts = [name for name in ("event", "events", "user") if getattr(step, name) is not msgspec.UNSET]
            assert len(acts) <= 1, (path.name, n)


@pytest.mark.parametrize(
    ("field", "wrong", "message"),
    [
        (
            "label",
            "Thought for 4.3s",
            "step 1 (at 4200 ms): label: expected 'Thought for 4.3s', got 'Thought for 4.2s'",
        ),
        ("open", "expanded", "step 1 (at 4200 ms): open: expected 'expanded', got 'collapsed'"),
        ("shown", False, "step 1 (at 4200 ms): shown: expected False, got True"),
        ("blocks", [], "step 1 (at 4200 ms): blocks: expected 0, got [0]"),
        ("blocks", [{"block": 0, "words": "9 words"}], "blocks[0].words: expected '9 words', got '3 words'"),
        ("steps", [{"block": 0, "steps": [{"block": 1}]}], "steps[0].steps: expected 1, got []"),
    ],
)
def test_wrong_expectation_fails_with_its_place(field: str, wrong: object, message: str) -> None:
    story = _small_story({field: wrong})
    (problem,) = story_problems(story)
    assert problem.startswith("'A small story'")
    assert message in problem


def test_expecting_words_without_thinking_fails() -> None:
    story = msgspec.convert(
        {"story": "Nothing", "proves": ["R005"], "steps": [{"expect": {"label": "Thinking..."}}]}, Story
    )
    assert story_problems(story) == [
        "'Nothing', step 0 (at None ms): label: expected 'Thinking...', but no thinking is shown"
    ]


@pytest.mark.parametrize(
    ("step", "complaint"),
    [
        ({"expcet": {}}, "expcet"),
        ({"expect": {"lable": "x"}}, "lable"),
        ({"user": {"click": 0}}, "click"),
        ({"event": {"type": "block.grown", "block": 0}}, "block.grown"),
        ({"expect": {"steps": [{"block": 0, "stat": "done"}]}}, "stat"),
    ],
)
def test_unknown_story_field_is_refused(step: dict[str, object], complaint: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=re.escape(complaint)):
        msgspec.convert({"story": "x", "proves": [], "steps": [step]}, Story)


@pytest.mark.parametrize(
    ("name", "struct"),
    [
        ("step", stories.Step),
        ("user", stories.UserAct),
        ("expect", stories.Expected),
        ("block", stories.ExpectedBlock),
        ("panel_step", stories.ExpectedStep),
    ],
)
def test_story_schema_matches_the_runner(name: str, struct: type[msgspec.Struct]) -> None:
    schema = json.loads((FOLDER / "schema.json").read_bytes())
    definition = schema["$defs"][name]
    assert list(definition["properties"]) == list(struct.__struct_encode_fields__)
    assert definition["additionalProperties"] is False
    assert list(schema["properties"]) == list(Story.__struct_encode_fields__)


def test_story_guide_documents_every_field_and_story() -> None:
    guide = (FOLDER.parent / "docs" / "stories.md").read_text(encoding="utf-8")
    structs = [
        Story,
        stories.Step,
        stories.UserAct,
        stories.Expected,
        stories.ExpectedBlock,
        stories.ExpectedStep,
    ]
    for struct in structs:
        for field in struct.__struct_encode_fields__:
            assert f"`{field}`" in guide, field
    for path in FILES:
        assert f"`{path.name}`" in guide, path.name


def _small_story(expect: dict[str, object]) -> Story:
    thought = [
        {"type": "turn.started"},
        {"type": "block.started", "block": 0, "kind": "reasoning"},
        {"type": "block.grew", "block": 0, "text": "Let me see."},
    ]
    ended = {"type": "block.ended", "block": 0}
    steps = [{"at_ms": 0, "events": thought}, {"at_ms": 4200, "event": ended, "expect": expect}]
    return msgspec.convert({"story": "A small story", "proves": ["T2"], "steps": steps}, Story)
