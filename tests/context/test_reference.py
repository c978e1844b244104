"""The reference leaves nothing out: every reason with its sentence, every field, every dialect."""

from pathlib import Path

import pytest

from thinkaloud import context
from thinkaloud.context import WHY, Built, ContextMode, Fate, Line, Said, Terms, Unsupported
from thinkaloud.dialects.bodies import BODIES

PAGE = (Path(__file__).parents[2] / "docs/reference/context.md").read_text("utf-8")


@pytest.mark.parametrize("code", WHY)
def test_every_reason_is_told_in_its_words(code: str) -> None:
    assert f"| `{code}` | {WHY[code]} |" in PAGE


def test_every_name_is_there() -> None:
    fields = [*Terms.__struct_fields__, *Built.__struct_fields__, *Line.__struct_fields__]
    names = [*fields, *Said.__struct_fields__, *ContextMode, *Unsupported, *Fate, *BODIES]
    assert [name for name in names if name not in PAGE] == []
    inner = {"Step", "Total", "WHY", "ContextMode", "Unsupported", "Fate"}
    assert [name for name in context.__all__ if name not in PAGE and name not in inner] == []
