"""The settings file: read, changed line by line, and left alone where it cannot be changed safely."""

import errno
import os
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkaloud.client.config import SETTINGS, ConfigFile, language_of, parse_setting, setting_values
from thinkaloud.client.toml_edit import set_value, unset_value
from thinkaloud.core.canon import Refused
from thinkaloud.core.context import ContextMode
from thinkaloud.core.view import RememberScope, preset

FILE = """# My settings.
model = "gpt-5"   # the good one
colour = "red"

[thinking]  # how
level = 2000

[thinking.display]
# nothing yet

[other.table]
list = [
  1,
]
"""


@pytest.mark.parametrize(
    ("key", "value", "old", "new"),
    [
        ("model", "claude", 'model = "gpt-5"   # the good one', 'model = "claude"   # the good one'),
        ("language", "pt-BR", 'colour = "red"\n', 'colour = "red"\nlanguage = "pt-BR"\n'),
        ("thinking.level", "high", "level = 2000", 'level = "high"'),
        ("thinking.context_mode", "strip", "level = 2000\n", 'level = 2000\ncontext_mode = "strip"\n'),
        ("thinking.display.auto_close", False, "# nothing yet\n", "# nothing yet\nauto_close = false\n"),
        ("page.render", "plain", "  1,\n]\n", '  1,\n]\n\n[page]\nrender = "plain"\n'),
    ],
)
def test_set_changes_one_line_and_keeps_comments_and_unknown_keys(
    key: str, value: str | bool, old: str, new: str
) -> None:
    assert set_value(FILE, key, value) == FILE.replace(old, new)
    assert set_value(set_value(FILE, key, value), key, value) == set_value(FILE, key, value)


def test_unset_removes_one_line() -> None:
    assert unset_value(FILE, "thinking.level") == FILE.replace("level = 2000\n", "")
    assert unset_value(FILE, "thinking.display.preset") == FILE
    assert unset_value(FILE, "model.of.what") == FILE


def test_a_value_that_is_no_table_is_not_replaced_by_one() -> None:
    with pytest.raises(Refused, match=r"thinking\.level"):
        set_value("thinking = 3\n", "thinking.level", "high")


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ('thinking = {level = "low"}  # short\n', 'thinking = {level = "high"}  # short\n'),
        ('thinking.level = """\nlow"""\nmodel = "m"\n', 'thinking.level = "high"\nmodel = "m"\n'),
        (
            "[thinking.display]\nx = 1\n\n[thinking]\nlevel = 1\n",
            '[thinking.display]\nx = 1\n\n[thinking]\nlevel = "high"\n',
        ),
        (
            "[[rows]]\nlevel = 1\n[thinking]\r\nlevel = 1\r\n",
            '[[rows]]\nlevel = 1\n[thinking]\r\nlevel = "high"\r\n',
        ),
    ],
    ids=["inline", "several_lines", "tables_out_of_order", "windows_lines"],
)
def test_a_value_is_changed_however_it_is_written(text: str, changed: str) -> None:
    assert set_value(text, "thinking.level", "high") == changed


def test_dotted_keys_are_changed_in_place() -> None:
    assert set_value('thinking.level = "low"\n', "thinking.level", "high") == 'thinking.level = "high"\n'


_names = st.sampled_from(["a", "b", "c.a", "c.d.b", "d"])
_values = st.one_of(
    st.booleans(), st.integers(0, 99), st.text(st.characters(exclude_categories=["Cs", "Cc"]))
)


@given(st.lists(st.tuples(_names, _values), max_size=8))
def test_any_series_of_changes_gives_the_values_that_were_set(
    changes: list[tuple[str, str | int | bool]],
) -> None:
    text, expected = "# top\n", {}
    for key, value in changes:
        text = set_value(text, key, value)
        expected[key] = value
    values = tomllib.loads(text)
    for key, value in expected.items():
        found: Any = values
        for part in key.split("."):
            found = found[part]
        assert found == value
    for key in expected:
        text = unset_value(text, key)
    assert text.startswith("# top\n")
    assert "=" not in text


def test_config_file_reads_settings_and_reports_unknown_keys(tmp_path: Path) -> None:
    file = ConfigFile(tmp_path / "config.toml")
    assert file.read().values == {}
    file.path.write_text(FILE)
    assert file.read().values == {"model": "gpt-5", "thinking.level": 2000}
    assert file.unknown_keys() == ["colour", "other.table.list"]
    file.change({"thinking.display.preset": "toggle", "model": None})
    assert file.read().display == preset("toggle")
    assert file.read().display.remember is RememberScope.USER
    assert file.path.read_text().startswith("# My settings.\ncolour")


def test_config_file_is_private_keeps_its_mode_and_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "dotfiles.toml", tmp_path / "config.toml"
    ConfigFile(target).change({"language": "pt-BR"})
    assert target.stat().st_mode & 0o777 == 0o600
    target.chmod(0o644)
    link.symlink_to(target)
    ConfigFile(link).change({"language": "en-US"})
    assert link.is_symlink()
    assert target.read_text() == 'language = "en-US"\n'
    assert target.stat().st_mode & 0o777 == 0o644
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.toml", "dotfiles.toml"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("language = ", "not valid TOML"),
        (f"a = {'[' * 100_000}", "nested too deeply"),
        (f"{'.'.join('a' * 3_000)} = 1", "nested too deeply"),
        ("# a comment\n" * 30_000, "more than 262,144 characters"),
    ],
)
def test_unreadable_settings_are_refused_with_what_to_do(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(Refused, match=message):
        ConfigFile(path).read()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("language = 3", "Invalid value for language in {path}: 3. Use one of: en-US, pt-BR, or remove it: "),
        (
            '[thinking.display]\npreset = "loud"',
            "Invalid value for thinking.display.preset in {path}: 'loud'. ",
        ),
        ('[page]\nrender = "html"', "'html'. Use one of: markdown, plain"),
        ('chat.theme = "pink"', "'pink'. Use one of: dark, light"),
        ('thinking.level = "banana"', "'banana'. Use off, low, medium, high, max, or a number of tokens"),
        ('thinking.level = "²"', "Use off, low, medium, high, max"),
        ("thinking.level = -5", "Use off, low, medium, high, max"),
        ("thinking.level = 99999999999", "Use off, low, medium, high, max"),
        ('page.expand_key = "garbage"', "a shortcut such as Alt+KeyE"),
        (f'model = "{"m" * 201}"', "at most 200 characters"),
    ],
)
def test_invalid_value_is_left_out_and_the_rest_of_the_file_counts(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f"thinking.context_mode = 'strip'\n{text}\n")
    config = ConfigFile(path).read()
    assert config.values == {"thinking.context_mode": "strip"}
    (problem,) = config.problems
    assert message.format(path=path) in str(problem)
    assert "thinkaloud config unset " in str(problem)


def test_every_setting_takes_what_a_user_types() -> None:
    for key in SETTINGS:
        for value in setting_values(key):
            assert str(parse_setting(key, value)).lower() == value.lower()
    assert setting_values("thinking.context_mode") == [mode.value for mode in ContextMode]
    assert parse_setting("thinking.level", "2000") == 2000
    assert parse_setting("model", "7") == "7"
    with pytest.raises(Refused, match="true or false"):
        parse_setting("thinking.display.auto_close", "maybe")
    assert parse_setting("page.expand_key", "") == ""


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("thinking.level", "banana", "'banana'. Use off, low, medium, high, max"),
        ("thinking.level", "-5", "Use off, low, medium, high, max"),
        ("thinking.level", "99999999999", "up to 9999999"),
        ("thinking.level", "", "it is empty"),
        ("page.expand_key", "garbage", "such as Alt[+]KeyE"),
        ("model", "", "thinkaloud config unset model"),
        ("model", "m" * 5_000, "at most 200 characters"),
    ],
)
def test_a_value_that_the_gateway_could_not_use_is_not_set(key: str, value: str, message: str) -> None:
    with pytest.raises(Refused, match=message):
        parse_setting(key, value)


def test_concurrent_changes_of_the_settings_are_all_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each change reads and replaces the whole file, so without a lock the others' changes would be lost."""
    path = tmp_path / "config.toml"
    read_text = ConfigFile._text

    def read_slowly(file: ConfigFile) -> str:
        text = read_text(file)
        time.sleep(0.01)  # without a lock, all threads have read before the first one writes
        return text

    monkeypatch.setattr(ConfigFile, "_text", read_slowly)
    changes: list[dict[str, str | int | bool | None]] = [
        {"model": "gpt-5"},
        {"language": "pt-BR"},
        {"thinking.level": "high"},
        {"page.render": "plain"},
        {"thinking.display.auto_close": False},
    ]
    with ThreadPoolExecutor(len(changes)) as pool:
        list(pool.map(ConfigFile(path).change, changes))
    expected = {key: value for change in changes for key, value in change.items()}
    assert ConfigFile(path).read().values == expected


@pytest.mark.parametrize(
    ("number", "remedy"),
    [(errno.ENOSPC, "Free some disk space"), (errno.EROFS, "Make the file system writable")],
)
def test_a_full_or_read_only_disk_is_named_when_settings_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, remedy: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("tempfile.mkstemp", fail)
    with pytest.raises(Refused, match=f"{os.strerror(number)}. {remedy}"):
        ConfigFile(tmp_path / "config.toml").change({"model": "gpt-5"})


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "en-US"),
        ({"LANG": "pt_BR.UTF-8"}, "pt-BR"),
        ({"LANG": "pt_PT"}, "pt-BR"),
        ({"LANG": "pt_BR.UTF-8", "LC_ALL": "C"}, "en-US"),
        ({"LANG": "C", "LC_MESSAGES": "pt_BR@euro"}, "pt-BR"),
        ({"LANG": "pt_BR.UTF-8", "LC_ALL": ""}, "pt-BR"),
        ({"LANG": "de_DE.UTF-8"}, "en-US"),
    ],
)
def test_language_of_the_environment(environ: dict[str, str], language: str) -> None:
    assert language_of(environ) == language
