"""What commands print in the user's language."""

import pytest
from tests.cli.environment import UserHome

from thinkaloud.cli import main
from thinkaloud.cli.output.words import TEXTS, command_words
from thinkaloud.core.view import LOCALES

Output = pytest.CaptureFixture[str]


def test_every_text_has_every_language_and_the_same_gaps() -> None:
    for key, texts in TEXTS.items():
        assert len(texts) == len(LOCALES), key
        for gap in ("{n}", "{name}", "{reason}"):
            assert len({gap in text for text in texts}) == 1, (key, gap)
        assert len({text.count("|") for text in texts}) == 1, key


def test_changed_settings_are_confirmed_in_the_language_that_is_set(home: UserHome, capsys: Output) -> None:
    assert main(["config", "set", "language", "pt-BR"]) == 0
    assert capsys.readouterr().err == "language é pt-BR.\n"
    assert main(["config", "unset", "thinking.level"]) == 0
    assert capsys.readouterr().err == "thinking.level não está definido; vale o padrão.\n"
    assert main(["config", "set", "language", "en-US"]) == 0
    assert capsys.readouterr().err == "language is en-US.\n"


def test_waiting_for_turns_of_other_commands_is_told_in_both_numbers() -> None:
    assert command_words("en-US").text("wait", n=1).startswith("1 turn of another command runs")
    assert command_words("pt-BR").text("wait", n=2).startswith("2 turnos de outros comandos estão")
