"""The reference page is complete: every reason with its sentence, every field, every dialect."""

from pathlib import Path

import pytest

from thinkaloud.core import context
from thinkaloud.core.context import (
    REASONS,
    AnsweredTurn,
    BuildOptions,
    BuiltRequest,
    ContextMode,
    ReportLine,
    SendStatus,
    UnsupportedThoughts,
)
from thinkaloud.core.dialects import DIALECTS

PAGE = (Path(__file__).parents[2] / "docs/reference/context.md").read_text("utf-8")


@pytest.mark.parametrize("code", REASONS)
def test_the_reference_page_has_every_reason(code: str) -> None:
    assert f"| `{code}` | {REASONS[code]} |" in PAGE


def test_the_reference_page_has_every_name() -> None:
    fields = [*BuildOptions.__struct_fields__, *BuiltRequest.__struct_fields__, *ReportLine.__struct_fields__]
    names = [
        *fields,
        *AnsweredTurn.__struct_fields__,
        *ContextMode,
        *UnsupportedThoughts,
        *SendStatus,
        *(name for name, dialect in DIALECTS.items() if dialect.build_request),
    ]
    assert [name for name in names if name not in PAGE] == []
    inner = {"Step", "ReportTotal", "REASONS", "ContextMode", "UnsupportedThoughts", "SendStatus"}
    assert [name for name in context.__all__ if name not in PAGE and name not in inner] == []
