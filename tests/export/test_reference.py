"""docs/reference/export.md documents every public name of `thinkaloud.core.export`."""

from pathlib import Path

import msgspec
import pytest

import thinkaloud.core.export as public
from thinkaloud.core.export import Exchange, SessionRecord, ThinkingStyle

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "export.md").read_text(encoding="utf-8")


def test_every_public_name_is_documented() -> None:
    assert [name for name in public.__all__ if f"`{name}`" not in PAGE and f"`{name}(" not in PAGE] == []
    assert [style for style in ThinkingStyle if f"`{style}`" not in PAGE] == []


@pytest.mark.parametrize("struct", [Exchange, SessionRecord])
def test_every_field_is_documented(struct: type[msgspec.Struct]) -> None:
    assert [field for field in struct.__struct_fields__ if f"`{field}`" not in PAGE] == []
