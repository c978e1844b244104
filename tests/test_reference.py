"""The reference leaves nothing out: events, fields, errors, dialects, profiles; and the picture is true."""

import runpy
from pathlib import Path

import msgspec
import pytest

from thinkaloud.core import canon
from thinkaloud.core.canon import errors
from thinkaloud.core.dialects import DIALECTS, PROFILES
from thinkaloud.core.transcript import Block, Ending, Turn
from thinkaloud.core.wire import WireLimits

ROOT = Path(__file__).parents[1]


def page(name: str) -> str:
    return (ROOT / "docs/reference" / name).read_text("utf-8")


def event_types() -> list[type[msgspec.Struct]]:
    return list(canon.Event.__args__)


@pytest.mark.parametrize("event", event_types(), ids=lambda event: event.__name__)
def test_every_event_has_its_row(event: type[msgspec.Struct]) -> None:
    rows = [line for line in page("events.md").splitlines() if f"| `{event.__name__}` |" in line]
    assert len(rows) == 1
    assert f"`{event.__struct_config__.tag}`" in rows[0]
    assert [field for field in event.__struct_fields__ if f"`{field}`" not in rows[0]] == []


def test_every_error_is_listed() -> None:
    names = [
        name
        for name, value in vars(errors).items()
        if getattr(value, "__module__", "") == errors.__name__ and isinstance(value, type)
    ]
    assert [name for name in names if f"`{name}`" not in page("events.md")] == []


def test_every_dialect_and_profile_is_listed() -> None:
    text = page("dialects.md")
    assert [name for name in (*DIALECTS, *PROFILES) if f"`{name}`" not in text] == []


def test_every_field_and_ending_of_a_turn_is_listed() -> None:
    text = page("api.md")
    names = [*Turn.__struct_fields__, *Block.__struct_fields__, *Ending, *WireLimits.__struct_fields__]
    inner = {"pieces", "seq", "summary_by"}
    missing = [name for name in names if f"`{name}`" not in text and name not in inner]
    assert missing == []


def test_the_picture_shows_what_the_command_prints() -> None:
    draw = runpy.run_path(str(ROOT / "docs/pictures/draw.py"))
    assert draw["PICTURE"].read_text("utf-8") == draw["drawn"](), "run: python docs/pictures/draw.py"


def test_every_route_and_limit_is_in_the_reference() -> None:
    from thinkaloud.gateway.server.http.errors import HttpRefusal
    from thinkaloud.gateway.server.http.routes import ROUTES

    page = (ROOT / "docs/reference/http.md").read_text("utf-8")
    rows = [f"| `{route.method}` | `{route.path}` | {route.summary} |" for route in ROUTES]
    assert [row for row in rows if row not in page] == []
    codes = [kind.code for kind in HttpRefusal.__subclasses__()]
    assert [code for code in codes if f"`{code}`" not in page] == []
