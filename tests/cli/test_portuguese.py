"""Errors, table headers, help and findings of `doctor` in Portuguese."""

import ast
import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import thinkaloud.cli
from thinkaloud.catalog import builtin_catalog, key_missing_error, route
from thinkaloud.cli import COMMANDS as ALL_COMMANDS
from thinkaloud.cli import main
from thinkaloud.cli.gateway.attach import THIS_HOME, open_backend
from thinkaloud.cli.parser import build_parser, command_nodes
from thinkaloud.cli.portuguese import texts, translate_parser
from thinkaloud.client.config import SETTINGS
from thinkaloud.surfaces.error_words import error_text

COMMANDS = Path(thinkaloud.cli.__file__).parent


def translate_error(text: str) -> str:
    return error_text(text, "pt-BR")


def template(node: ast.expr) -> str:
    """Return a text of the source with `{}` for each gap; empty if it is no text."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return ""


def calls(path: Path, name: str) -> Iterator[ast.Call]:
    """Yield the calls of this name whose first argument is a text."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name and template(node.args[0]):
            yield node


def refusals() -> Iterator[str]:
    """Yield the texts with which commands refuse something."""
    for path in COMMANDS.rglob("*.py"):
        for call in calls(path, "Refused"):
            yield template(call.args[0])


def key_faults() -> Iterator[str]:
    """Yield the texts that say why a stored key cannot be used."""
    for call in calls(COMMANDS.parent / "client" / "keys.py", "KeyProblem"):
        if call.keywords:
            yield template(call.args[0])


@pytest.mark.parametrize("text", sorted({*refusals(), *key_faults()}))
def test_every_refusal_of_a_command_has_a_translation(text: str) -> None:
    message = text.replace("{}", "X")
    assert translate_error(message) != message, "add the sentence to src/thinkaloud/surfaces/error_words.toml"


@pytest.mark.parametrize("thinking", [True, False])
@pytest.mark.parametrize(
    "fault", ["", "X is readable by other users, so no key was read from it. Run: chmod 600 X"]
)
@pytest.mark.parametrize("model", ["claude-opus-4.5", "deepseek-v4-pro", "bedrock/claude-opus-4.5"])
def test_error_of_a_missing_key_has_no_english_words(model: str, fault: str, thinking: bool) -> None:
    chosen = route(builtin_catalog(), model, thinking=thinking, have_key=lambda _: False)
    error = translate_error(str(key_missing_error(chosen, fault=fault)))
    without_commands = re.sub("`[^`]*`", "", error)
    assert re.findall(r"\b(?:found|is|or|run|sent|set|such|with)\b", without_commands) == [], error


def findings() -> Iterator[str]:
    """Yield the texts of the findings of `doctor`."""
    for path in (COMMANDS / "doctor.py", COMMANDS.parent / "store" / "postgres_check.py"):
        for function in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(function, ast.FunctionDef) and function.name.startswith(("_check", "check")):
                for node in ast.walk(function):
                    if isinstance(node, ast.Tuple) and template(node.elts[-1]).endswith((".", "MODEL", "ER")):
                        yield template(node.elts[-1])


@pytest.mark.parametrize("text", sorted(set(findings())))
def test_every_finding_of_doctor_has_a_translation(text: str) -> None:
    message = text.replace("{}", "X")
    assert translate_error(message) != message, "add the sentence to src/thinkaloud/surfaces/error_words.toml"


def test_translations_keep_all_gaps() -> None:
    for table in texts().values():
        assert [english for english, text in table.items() if english.count("{}") != text.count("{}")] == []


def test_every_text_of_the_help_has_a_translation_and_every_translation_a_text() -> None:
    unused = set(texts()["help"])
    for node in command_nodes(build_parser(ALL_COMMANDS, None, "")):
        actions = [choice for action in node.words for choice in getattr(action, "_choices_actions", [])]
        english = [
            node.parser.description,
            *(group.title for group in node.parser._action_groups),
            *(action.help for action in (*node.options, *node.words, *actions)),
        ]
        translate_parser(node.parser)
        portuguese = [
            node.parser.description,
            *(group.title for group in node.parser._action_groups),
            *(action.help for action in (*node.options, *node.words, *actions)),
        ]
        unchanged = [text for text, other in zip(english, portuguese, strict=True) if text and text == other]
        known = [text for text in unchanged if texts()["help"].get(text) == text]
        assert unchanged == known, "add the text to src/thinkaloud/surfaces/error_words.toml"
        unused -= set(filter(None, english))
    assert [text for text in unused if "{}" not in text] == []
    assert set(texts()["settings"]) == {setting.meaning for setting in SETTINGS.values()}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sesions"], "Não existe o comando 'sesions'. Você quis dizer sessions?"),
        (["config", "set", "colour", "red"], "Não existe a configuração 'colour'."),
        (
            ["ask", "--no-save", "--model", "azzure/gpt-5", "Oi"],
            "Provedor desconhecido 'azzure' em 'azzure/gpt-5'.",
        ),
        (["ask", "--no-save", "--model", "frobnitz", "Oi"], "Modelo desconhecido 'frobnitz'"),
        (
            ["ask", "--no-save", "--model", "gemini/gemini-2.5-pro", "Oi"],
            "Nenhuma chave de API encontrada para gemini.",
        ),
        (["ask", "--no-save", "--thinking", "lots", "Oi"], "Nível de pensamento inválido: 'lots'."),
        (["read", "nada.sse"], "Não foi possível ler nada.sse"),
    ],
)
def test_errors_are_printed_in_the_users_language(
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("THINKALOUD_HOME", str(tmp_path))
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setenv("LC_ALL", "pt_BR.UTF-8")
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    main(arguments)
    assert message not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--help"], 0, "uso: thinkaloud [-h] [--version] COMMAND ...\n\nPergunte a qualquer modelo"),
        (["help", "keys", "set"], 0, "Guarda a chave de um provedor."),
        (["ask", "--model"], 2, "uso: thinkaloud ask [-h] [--agent A]"),
        (["ask", "--model"], 2, "thinkaloud ask: erro: argumento -m/--model: falta o valor."),
        (["ask", "--modle", "x"], 2, "erro: opção desconhecida --modle. Você quis dizer --model?"),
        (["doctor"], 0, "ok        configurações: O idioma é pt-BR."),
    ],
)
def test_help_and_findings_are_printed_in_the_users_language(
    arguments: list[str],
    code: int,
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("THINKALOUD_HOME", str(tmp_path))
    monkeypatch.setenv("LC_ALL", "pt_BR.UTF-8")
    if arguments == ["doctor"]:
        assert main(arguments) == code
    else:
        with pytest.raises(SystemExit) as exit:
            main(arguments)
        assert exit.value.code == code
    assert text in "".join(capsys.readouterr())


@pytest.mark.parametrize("arguments", [["models"], ["keys", "list"], ["agents"], ["config", "show"]])
def test_headers_are_printed_in_the_users_language(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("THINKALOUD_HOME", str(tmp_path))
    headers = []
    for locale in ("en_US.UTF-8", "pt_BR.UTF-8"):
        monkeypatch.setenv("LC_ALL", locale)
        main(arguments)
        headers.append([word for word in capsys.readouterr().out.splitlines()[0].split("  ") if word])
    assert [texts()["headers"][name.strip()] for name in headers[0]] == [name.strip() for name in headers[1]]


def test_gateway_inside_a_command_has_the_settings_of_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The chat had the defaults of a gateway without a settings file, and so was always in English."""
    monkeypatch.setenv("THINKALOUD_HOME", str(tmp_path))
    monkeypatch.setenv("LC_ALL", "pt_BR.UTF-8")

    async def story() -> list[str]:
        async with open_backend(THIS_HOME) as backend:
            languages = [(await backend.preferences()).language]
            assert main(["config", "set", "language", "en-US"]) == 0
            return [*languages, (await backend.preferences()).language]

    assert asyncio.run(story()) == ["pt-BR", "en-US"]
