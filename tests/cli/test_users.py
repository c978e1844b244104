"""`thinkaloud users` and `thinkaloud tokens`: ids and secrets on stdout, notes on stderr."""

import re
from hashlib import sha256

import pytest
from tests.cli.environment import UserHome

from thinkaloud.cli import main
from thinkaloud.gateway.store.engine.database import Database, NotSaved

Output = pytest.CaptureFixture[str]


def test_users_thinking_sets_and_lists_rules(home: UserHome, capsys: Output) -> None:
    assert main(["users", "add", "ana"]) == 0
    capsys.readouterr()
    assert main(["users", "thinking", "ana"]) == 0
    assert capsys.readouterr() == ("", "ana sees all thinking.\n")
    assert main(["users", "thinking", "ana", "--show", "nothing"]) == 0
    note = "Thinking shown to ana (all agents without a rule of their own): nothing.\n"
    assert capsys.readouterr() == ("", note)
    assert main(["users", "thinking", "ana", "--show", "length", "--agent", "checker"]) == 0
    capsys.readouterr()
    assert main(["users", "thinking", "ana"]) == 0
    assert capsys.readouterr().out.split("\n") == ["nothing  all agents", "length   checker", ""]
    assert main(["users", "thinking", "ana", "--show", "all"]) == 0
    capsys.readouterr()
    assert main(["users", "thinking", "ana"]) == 0
    assert capsys.readouterr().out.split() == ["length", "checker"]
    assert main(["users", "thinking", "local", "--show", "nothing"]) != 0
    assert "operator" in capsys.readouterr().err


def test_users_thinking_refuses_an_unknown_agent(home: UserHome, capsys: Output) -> None:
    """A rule for a misspelt agent would hide nothing."""
    assert main(["users", "add", "ana"]) == 0
    assert main(["users", "thinking", "ana", "--show", "nothing", "--agent", "cheker"]) == 2
    assert "There is no agent 'cheker', so nothing was changed." in capsys.readouterr().err
    assert main(["users", "thinking", "ana"]) == 0
    assert capsys.readouterr().out == ""


def test_users_thinking_json_lists_rules(home: UserHome, capsys: Output) -> None:
    assert main(["users", "add", "ana"]) == 0
    capsys.readouterr()
    assert main(["users", "thinking", "ana", "--json"]) == 0
    assert capsys.readouterr() == ("[]\n", "")
    assert main(["users", "thinking", "ana", "--show", "length", "--json"]) == 0
    assert capsys.readouterr() == ('[{"agent":null,"show":"length"}]\n', "")


def test_users_add_list_and_remove(home: UserHome, capsys: Output) -> None:
    assert main(["users", "add", "ana", "--workspace", "blue"]) == 0
    out, err = capsys.readouterr()
    assert re.fullmatch(r"usr_[A-Za-z0-9_-]{22}\n", out)
    assert "workspace blue" in err
    assert "thinkaloud tokens create ana" in err
    assert main(["users", "list"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[2] for line in lines] == ["local", "ana"]
    assert lines[1][0] == out.strip()
    assert main(["users", "remove", "ana", "--yes"]) == 0
    assert capsys.readouterr() == ("", "Removed ana.\n")
    assert main(["users", "list"]) == 0
    assert "ana" not in capsys.readouterr().out


def test_removal_is_reported_though_its_words_cannot_be_erased(
    home: UserHome, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(database: Database) -> bool:
        raise NotSaved("Cannot write to the file: the disk is full.")

    monkeypatch.setattr("thinkaloud.gateway.store.queries.delete.erase_deleted", fail)
    assert main(["users", "add", "ana"]) == 0
    capsys.readouterr()
    assert main(["tokens", "create", "ana"]) == 0
    token, note = capsys.readouterr()
    assert token.strip()
    assert "deleted words" not in note
    assert main(["users", "remove", "ana", "--yes"]) == 0
    removed, left = capsys.readouterr().err.splitlines()
    assert removed == "Removed ana."
    assert left == (
        "The deleted words are still in the files: Cannot write to the file: the disk is full. "
        "The gateway erases them when it runs."
    )


def test_users_join_another_workspace(home: UserHome, capsys: Output) -> None:
    main(["users", "add", "ana", "--workspace", "blue"])
    capsys.readouterr()
    assert main(["users", "join", "ana", "--workspace", "red"]) == 0
    out, err = capsys.readouterr()
    assert re.fullmatch(r"wsp_[A-Za-z0-9_-]{22}\n", out)
    assert err == "ana is a member of the workspace red.\n"
    assert main(["users", "join", "ana", "--workspace", "red"]) == 0
    assert capsys.readouterr().out == out, "again changes nothing"
    assert main(["users", "join", "nobody", "--workspace", "red"]) == 2


def test_users_remove_needs_confirmation(home: UserHome, capsys: Output) -> None:
    """A removal cannot be undone, so it needs `--yes`."""
    main(["users", "add", "ana"])
    assert main(["users", "remove", "ana"]) == 2
    assert "thinkaloud users remove ana --yes" in capsys.readouterr().err
    main(["users", "list"])
    assert "ana" in capsys.readouterr().out
    assert main(["users", "remove", "local", "--yes"]) == 2
    assert "cannot be removed" in capsys.readouterr().err


def test_tokens_create_prints_the_secret_once_and_stores_a_hash(home: UserHome, capsys: Output) -> None:
    main(["users", "add", "ana"])
    capsys.readouterr()
    assert main(["tokens", "create", "ana", "--name", "laptop"]) == 0
    out, err = capsys.readouterr()
    assert re.fullmatch(r"tka_[A-Za-z0-9_-]{43}\n", out)
    assert "shown once" in err
    assert out.strip() not in err
    main(["tokens", "list", "ana"])
    listed = capsys.readouterr().out
    assert re.fullmatch(r"tok_\S+  \d{4}-\d\d-\d\d  valid  laptop\n", listed)
    assert out.strip() not in listed
    stored = b"".join(file.read_bytes() for file in home.folder.iterdir())
    assert b"laptop" in stored
    assert out.strip().encode() not in stored
    assert sha256(out.strip().encode()).digest() in stored


def test_tokens_revoke_works_once(home: UserHome, capsys: Output) -> None:
    main(["tokens", "create", "local"])
    number = capsys.readouterr().err.split()[-1]
    assert main(["tokens", "revoke", number]) == 0
    assert capsys.readouterr() == ("", f"Revoked {number}.\n")
    assert main(["tokens", "revoke", number]) == 2
    assert "no valid token" in capsys.readouterr().err
    main(["tokens", "list", "local"])
    assert re.search(r"revoked \d{4}-\d\d-\d\d\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["users", "add", "a b"], "not a valid name"),
        (["users", "add", "local"], "already"),
        (["users", "add", "ana", "--workspace", "é"], "not a valid name"),
        (["users", "remove", "nobody", "--yes"], "no user 'nobody'"),
        (["tokens", "create", "nobody"], "no user 'nobody'"),
        (["tokens", "list", "nobody"], "no user 'nobody'"),
        (["tokens", "revoke", "tok_x"], "no valid token"),
        (["tokens", "revoke", "' OR 1=1 --"], "no valid token"),
    ],
)
def test_users_and_tokens_errors(words: list[str], message: str, home: UserHome, capsys: Output) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert (out, message in err) == ("", True), err


def test_invalid_thinkaloud_home_error(
    home: UserHome, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home.folder / "file").write_text("")
    monkeypatch.setenv("THINKALOUD_HOME", str(home.folder / "file"))
    assert main(["users", "list"]) == 2
    assert "THINKALOUD_HOME" in capsys.readouterr().err
