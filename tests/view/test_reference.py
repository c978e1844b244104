"""docs/reference/view.md documents every public name, setting, preset and word."""

from pathlib import Path

import msgspec
import pytest

import thinkaloud.core.view as public
from thinkaloud.core.view import (
    PRESETS,
    BlockView,
    GatewayAnswer,
    Policy,
    StepView,
    ThinkingBlock,
    ThinkingView,
)
from thinkaloud.core.view.locales import EN_US, PT_BR, Plural

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "view.md").read_text(encoding="utf-8")


def test_every_public_name_is_documented() -> None:
    assert all(hasattr(public, name) for name in public.__all__)
    assert [name for name in public.__all__ if f"`{name}`" not in PAGE and f"`{name}(" not in PAGE] == []


@pytest.mark.parametrize("struct", [Policy, ThinkingView, BlockView, StepView, GatewayAnswer, ThinkingBlock])
def test_every_field_is_documented(struct: type[msgspec.Struct]) -> None:
    assert [field for field in struct.__struct_fields__ if f"`{field}`" not in PAGE] == []


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_documented(name: str) -> None:
    policy = PRESETS[name]
    reach = {"none": "nothing", "user_workspace": "user and workspace"}.get(policy.remember, policy.remember)
    states = [policy.while_streaming, policy.after_complete, policy.header, reach, policy.live_region]
    assert f"| `{name}` | {' | '.join(states)} |" in PAGE


@pytest.mark.parametrize("key", EN_US.words)
def test_words_are_documented(key: str) -> None:
    """R126, R127, R128, R129: every text has a key, and all are documented."""
    assert f"| `{key}` | {_cell(EN_US.words[key])} | {_cell(PT_BR.words[key])} |" in PAGE


def _cell(text: str | Plural) -> str:
    return text if isinstance(text, str) else f"{text.one} \\| {text.other}"
