"""The grammar of the command line: help, prompts of several words, standard input, suggestions, colours."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.cli.environment import UserHome

from thinkaloud.cli import COMMANDS, main
from thinkaloud.cli.commands.ask import read_prompt
from thinkaloud.cli.output.console import colours_wanted, terminal_options
from thinkaloud.cli.parser import build_parser, command_nodes, parse

Output = pytest.CaptureFixture[str]


def exit_code(*words: str) -> int:
    try:
        return main(words)
    except SystemExit as stop:
        return int(stop.code or 0)


@contextmanager
def standard_input(text: str | None) -> Iterator[None]:
    """A pipe with this text as standard input, or no pipe."""
    saved = os.dup(0)
    if text is None:
        source = os.open(os.devnull, os.O_RDONLY)
    else:
        source, target = os.pipe()
        os.write(target, text.encode())
        os.close(target)
    os.dup2(source, 0)
    os.close(source)
    try:
        yield
    finally:
        os.dup2(saved, 0)
        os.close(saved)


def check_answer(capsys: Output, *words: str, stdin: str | None) -> None:
    """Check that the built-in model is asked how much 17 * 3 is."""
    with standard_input(stdin):
        assert main(["ask", "--show-thinking", "hide", *words]) == 0
    assert capsys.readouterr().out == "17 × 3 = 51\n"


@pytest.mark.parametrize("words", [[], ["help"], ["--help"]])
def test_bare_command_and_help_show_all_commands(words: list[str], capsys: Output) -> None:
    assert exit_code(*words) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert [name for name in COMMANDS if name not in out] == []


@pytest.mark.parametrize("words", [["ask"], ["keys", "set"], ["config"]])
def test_help_shows_the_help_of_a_command(words: list[str], capsys: Output) -> None:
    assert exit_code("help", *words) == 0
    out, _ = capsys.readouterr()
    assert out.startswith(f"usage: thinkaloud {' '.join(words)} ")


def test_every_command_has_help_a_description_and_a_function_to_run(capsys: Output) -> None:
    for node in command_nodes(build_parser(COMMANDS, None, "")):
        assert node.parser.description, node.path
        assert node.children or node.path == ("help",) or node.parser.get_default("run"), node.path


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["aks", "hi"], "There is no command 'aks'. Did you mean ask?"),
        (["run", "llama3", "hi"], "There is no command 'run'. Did you mean ask?"),
        (["-x"], "thinkaloud: error: unknown option -x."),
        (["ask", "--a\x1b]0;title\x07b\x9b31mc"], "thinkaloud ask: error: unknown option --abc."),
        (["models", "refresh", "x", "\x1b[31my"], "thinkaloud models: error: unexpected argument: y."),
        (["--versoin"], "thinkaloud: error: unknown option --versoin. Did you mean --version?"),
        (["--verbose", "ask", "hi"], "thinkaloud: error: unknown option --verbose. Did you mean --version?"),
        (["zzzz"], "There is no command 'zzzz'. Run `thinkaloud help`"),
        (["ask", "--modle", "x", "hi"], "unknown option --modle. Did you mean --model?"),
        (["keys", "list", "--jsn"], "unknown option --jsn. Did you mean --json?"),
        (["models", "--zzzz"], "unknown option --zzzz. Run"),
        (["ask", "--mod", "x", "hi"], "unknown option --mod. Did you mean --model"),
        (["config", "set", "langage", "x"], "There is no setting 'langage'. Did you mean language?"),
        (["keys", "set", "opnai"], "There is no provider 'opnai'. Did you mean openai"),
        (["route", "claude-opus-45"], "Did you mean claude-opus-4.5"),
    ],
)
def test_typing_errors_get_a_suggestion(
    words: list[str], message: str, home: UserHome, capsys: Output
) -> None:
    assert exit_code(*words) == 2
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("home")
def test_words_without_quotes_are_one_prompt_and_options_may_stand_between(capsys: Output) -> None:
    check_answer(capsys, "how", "much", "is", "17", "*", "3", stdin=None)
    check_answer(capsys, "how", "much", "--max-tokens", "500", "is", "17 * 3", stdin=None)
    check_answer(capsys, "--", "how", "much", "is", "17 * 3", stdin=None)


@pytest.mark.usefixtures("home")
def test_standard_input_is_the_prompt_or_joined_with_it(capsys: Output) -> None:
    check_answer(capsys, stdin="how much is 17 * 3\n")
    check_answer(capsys, "-", stdin="how much is 17 * 3\n")
    check_answer(capsys, "how much is 17 * 3", stdin="")


def test_text_of_standard_input_stands_before_the_question() -> None:
    with standard_input("one\ntwo\n"):
        assert read_prompt(["sum", "it", "up"]) == "one\ntwo\n\nsum it up"


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, False),
        ({"NO_COLOR": ""}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": ""}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "0"}, False),
        ({"CLICOLOR_FORCE": "1"}, True),
        ({"CLICOLOR_FORCE": "0"}, False),
        ({"CLICOLOR_FORCE": "1", "CLICOLOR": "0"}, True),
        ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": ""}, True),
    ],
)
def test_no_color_counts_if_it_is_not_empty(
    environ: dict[str, str], wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert colours_wanted(sys.stderr) is wanted
    assert terminal_options().dim is wanted


@pytest.mark.parametrize(
    "words",
    [
        ["models"],
        ["agents"],
        ["keys", "list"],
        ["config", "show"],
        ["users", "list"],
        ["tokens", "list", "local"],
    ],
)
def test_every_list_can_be_json(words: list[str], home: UserHome, capsys: Output) -> None:
    assert exit_code(*words, "--json") == 0
    assert isinstance(json.loads(capsys.readouterr().out), list | dict)


def test_json_is_short_for_format_json(home: UserHome, capsys: Output) -> None:
    assert main(["ask", "--json", "how much is 17 * 3"]) == 0
    assert json.loads(capsys.readouterr().out)["content"] == [{"type": "text", "text": "17 × 3 = 51"}]


def test_words_after_two_dashes_are_no_options() -> None:
    parser = build_parser(COMMANDS, None, "")
    assert parse(parser, ["ask", "-m", "gpt-5", "--", "-x", "--help", "--"]).prompt == ["-x", "--help", "--"]
    assert parse(parser, ["search", "--", "-x"]).words == ["-x"]
    assert parse(parser, ["config", "set", "--", "model", "-x"]).value == "-x"


def test_unexpected_word_after_two_dashes_is_shown_as_typed(capsys: Output) -> None:
    assert exit_code("config", "path", "--", "-x") == 2
    assert "\0" not in capsys.readouterr().err


@pytest.mark.parametrize("words", [["ask", "-s", "", "hi"], ["ask", "\udcff what"]])
def test_ask_with_an_unusable_argument_stores_nothing(home: UserHome, words: list[str]) -> None:
    assert exit_code(*words) == 2
    assert not (home.folder / "thinkaloud.db").exists()


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["search", ""], "The search has 0 characters. Use 1 to 1,000."),
        (["search", "x" * 1_001], "The search has 1,001 characters. Use 1 to 1,000."),
        (["ask", "\udcff what"], "The argument '\\xff what' is not UTF-8 text, so nothing was sent."),
        (
            ["sessions", "--server", "http://127.0.0.1:9", "--token-file", "/dev/zero"],
            "more than 8,192 bytes",
        ),
    ],
)
def test_unusable_arguments_are_refused_in_plain_words(
    capsys: Output, words: list[str], message: str
) -> None:
    assert exit_code(*words) == 2
    assert message in capsys.readouterr().err
