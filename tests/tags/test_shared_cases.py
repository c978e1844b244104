"""Text cases from other projects' tests of model text, if the folder with them exists."""

import os
from pathlib import Path

import msgspec
import pytest
from tests.chunks import one_by_one
from tests.tags.text_runs import split_text

from thinkaloud.core.dialects.tags.profiles import PROFILES

PROJECT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("THINKALOUD_RECORDINGS", PROJECT.parent / "shared" / "recordings"))
FILE = FOLDER / "text_cases.jsonl"

THINK = "think-tags (opening tag emitted by the model)"
INSIDE = "think-tags (opening tag already in the prompt)"

PROFILE_BY_FORMAT_AND_START = {
    (THINK, "opt-in"): "think",
    (THINK, "always-thinking"): "think_inside",
    (INSIDE, "always-thinking"): "think_inside",
    (INSIDE, "thinking-off"): "off",
    ("tool call ends reasoning", "opt-in"): "think_or_call",
    ("kimi-vl ◁think▷", "opt-in"): "kimi_vl",
    ("kimi-k3 channels", "opt-in"): "kimi_k3",
    ("kimi-k3 channels", "always-thinking"): "kimi_k3_inside",
    ("mistral [THINK]", "opt-in"): "mistral",
    ("mistral [THINK]", "no-split"): "off",
    ("minimax-m3", "opt-in"): "minimax_m3",
    ("minimax-m3", "always-thinking"): "minimax_m3_inside",
    ("gemma-4 channel", "opt-in"): "gemma",
    ("deepseek-v4", "opt-in"): "deepseek",
    ("harmony (gpt-oss)", "opt-in"): "harmony",
    ("granite phrases", "opt-in"): "granite",
    ("hunyuan-a13b", "opt-in"): "hunyuan",
    ("cohere command", "opt-in"): "cohere",
    ("cohere command", "always-thinking"): "cohere_inside",
    ("nemotron-3, answer must not be empty", "swap-if-empty"): "nemotron_nonempty",
    ("prefilled assistant turn", "prefill-reasoning"): "think",
    ("prefilled assistant turn", "prefill-content"): "think",
}
"""The profile for a format and the start state of its reader."""

PROFILE_BY_TOOL_MARKER = {"<｜DSML｜": "deepseek", "[TOOL_CALLS]": "mistral"}
"""Profiles of the cases that are listed among those of `<tool_call>`."""


class Case(msgspec.Struct):
    """One line of the file."""

    format: str
    start: str
    input: str
    reasoning: str
    content: str
    chunks: list[str] = []

    @property
    def profile(self) -> str:
        profile = PROFILE_BY_FORMAT_AND_START[self.format, self.start.partition(":")[0]]
        marked_profiles = (other for marker, other in PROFILE_BY_TOOL_MARKER.items() if marker in self.input)
        return next(marked_profiles, profile) if self.format == "tool call ends reasoning" else profile

    @property
    def prefill(self) -> str:
        """The prefilled start of the assistant's message, as the model sees it."""
        kind, _, text = self.start.partition(":")
        if kind == "prefill-reasoning":
            return f"<think>{text}"
        return f"<think>{self.reasoning}</think>{text}" if kind == "prefill-content" else ""


LINES = FILE.read_bytes().splitlines() if FILE.exists() else []
CASES = [msgspec.json.decode(line, type=Case) for line in LINES]
PARAMETERS = [pytest.param(case, id=f"{case.format}: {case.input[:30]}") for case in CASES]
MISSING = pytest.mark.skip(reason=f"no {FILE.name}: THINKALOUD_RECORDINGS names the folder that has it")


@pytest.mark.parametrize("case", PARAMETERS or [pytest.param(None, marks=MISSING)])
def test_shared_text_case(case: Case) -> None:
    """R010, R016, R018: compared without surrounding white space, on which servers differ."""
    for parts in ([case.input], one_by_one(case.input), case.chunks or [case.input]):
        runs = split_text(PROFILES[case.profile], [case.prefill, *parts])
        reasoning = "".join(text for word, text in runs if word == "thought")
        content = "".join(text for word, text in runs if word == "answer")
        assert (reasoning.strip(), content.strip()) == (case.reasoning.strip(), case.content.strip()), parts


@pytest.mark.parametrize("count", [64] if CASES else [pytest.param(0, marks=MISSING)])
def test_all_shared_text_cases_are_present(count: int) -> None:
    assert len(CASES) == count
