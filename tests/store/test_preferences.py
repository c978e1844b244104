"""Preferences: for each user in each workspace, and readable whichever version wrote them."""

import msgspec
import pytest
from sqlalchemy import Connection, update
from tests.store.log_fixtures import NOW_MS
from tests.store.query_fixtures import HOSTILE_TEXTS, new_owner

from thinkaloud.core.canon import Refused
from thinkaloud.core.context import ContextMode
from thinkaloud.core.view import OpenState, Policy, preset
from thinkaloud.gateway.store.queries import preferences, users
from thinkaloud.gateway.store.rows import Owner, Preferences
from thinkaloud.gateway.store.schema import preferences as preference_rows

TRACE = Preferences(display=preset("trace"), language="pt-BR", context_mode=ContextMode.STRIP)


@pytest.fixture
def ana(conn: Connection) -> Owner:
    return new_owner(conn, "ana")


def test_preferences_default_when_none_are_stored(conn: Connection, ana: Owner) -> None:
    assert preferences.read(conn, ana) == Preferences()


def test_last_written_preferences_are_returned(conn: Connection, ana: Owner) -> None:
    """R055: they belong to the user and are independent of sessions."""
    preferences.write(conn, ana, TRACE, NOW_MS)
    assert preferences.read(conn, ana) == TRACE
    preferences.write(conn, ana, Preferences(), NOW_MS + 1)
    assert preferences.read(conn, ana) == Preferences()


def test_preferences_belong_to_one_user_in_one_workspace(conn: Connection, ana: Owner) -> None:
    """R054."""
    elsewhere = Owner(ana.user, users.add_member(conn, ana.user, "lab", NOW_MS).key)
    ben = new_owner(conn, "ben")
    preferences.write(conn, ana, TRACE, NOW_MS)
    assert preferences.read(conn, elsewhere) == Preferences()
    assert preferences.read(conn, ben) == Preferences()
    preferences.write(conn, elsewhere, Preferences(language="de-DE"), NOW_MS)
    assert preferences.read(conn, ana) == TRACE


def test_remember_user_holds_in_all_workspaces_until_one_has_newer_settings(
    conn: Connection, ana: Owner
) -> None:
    """R054, R055: `remember: user` takes showing and hiding along; language and the rest stay apart."""
    elsewhere = Owner(ana.user, users.add_member(conn, ana.user, "lab", NOW_MS).key)
    ben = new_owner(conn, "ben")
    hidden = msgspec.structs.replace(preset("toggle"), show_thinking=False)
    preferences.write(conn, elsewhere, Preferences(language="pt-BR"), NOW_MS)
    preferences.write(conn, ana, Preferences(display=hidden), NOW_MS + 1)
    assert preferences.read(conn, elsewhere) == Preferences(display=hidden, language="pt-BR")
    assert preferences.read(conn, ben) == Preferences()
    own = Preferences(display=preset("trace"), language="pt-BR")
    preferences.write(conn, elsewhere, own, NOW_MS + 2)
    assert preferences.read(conn, elsewhere) == own
    assert preferences.read(conn, ana).display == hidden, "settings of one workspace reached another"


def test_take_removes_the_preferences_of_one_owner(conn: Connection, ana: Owner) -> None:
    ben = new_owner(conn, "ben")
    preferences.write(conn, ana, TRACE, NOW_MS)
    preferences.write(conn, ben, TRACE, NOW_MS)
    assert preferences.take(conn, ana) == TRACE
    assert preferences.take(conn, ana) is None
    assert preferences.read(conn, ben) == TRACE


def test_preferences_do_not_store_which_blocks_are_open() -> None:
    """R056, K4: mode and visibility are stored, the state of a single block is not."""
    names = {"display", "language", "context_mode", "render", "expand_key", "model", "thinking"}
    assert set(Preferences.__struct_fields__) == names
    assert not {"open", "expanded", "collapsed"} & set(Policy.__struct_fields__)


def test_unknown_preferences_of_a_newer_version_are_ignored(conn: Connection, ana: Owner) -> None:
    preferences.write(conn, ana, TRACE, NOW_MS)
    newer = msgspec.to_builtins(TRACE)
    newer["voice"] = {"speed": 2}
    newer["context_mode"] = "dream"
    newer["display"] |= {"glow": True, "header": "hologram", "while_streaming": "collapsed"}
    conn.execute(update(preference_rows).values(settings=msgspec.json.encode(newer).decode()))
    read = preferences.read(conn, ana)
    assert read.language == "pt-BR"
    assert read.context_mode is ContextMode.PROVIDER_DEFAULT
    assert read.display == msgspec.structs.replace(
        Policy(preset="trace", while_streaming=OpenState.COLLAPSED),
        after_complete=TRACE.display.after_complete,
    )


@pytest.mark.parametrize(
    "stored", ["{}", '{"display": 7, "language": null}', '{"display": {"auto_close": "x"}}']
)
def test_invalid_preferences_fall_back_to_defaults(conn: Connection, ana: Owner, stored: str) -> None:
    preferences.write(conn, ana, TRACE, NOW_MS)
    conn.execute(update(preference_rows).values(settings=stored))
    assert preferences.read(conn, ana) == Preferences()


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_hostile_texts_are_stored_or_refused(conn: Connection, ana: Owner, text: str) -> None:
    """S10."""
    ben = new_owner(conn, "ben")
    preferences.write(conn, ben, TRACE, NOW_MS)
    settings = Preferences(language=text, display=Policy(preset=text))
    if "\ud800" in text or "\udfff" in text:
        with pytest.raises(Refused, match="Preferences cannot be stored"):
            preferences.write(conn, ana, settings, NOW_MS)
    else:
        preferences.write(conn, ana, settings, NOW_MS)
        assert preferences.read(conn, ana) == settings
    assert preferences.read(conn, ben) == TRACE
