"""Errors, table headers, help and findings of `doctor` in Portuguese."""

import ast
import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import thinkaloud.cli
from thinkaloud.cli import COMMANDS as ALL_COMMANDS
from thinkaloud.cli import main
from thinkaloud.cli.gateway_client.attach import THIS_HOME, open_backend
from thinkaloud.cli.output.portuguese import texts, translate_parser
from thinkaloud.cli.parser import build_parser, command_nodes
from thinkaloud.client.config import SETTINGS
from thinkaloud.client.errors import ErrorResponse, refusal_error
from thinkaloud.core.catalog import builtin_catalog, key_missing_error, route
from thinkaloud.surfaces.chat.error_words import error_tables, error_text

PACKAGE = Path(thinkaloud.__file__).parent
COMMANDS = PACKAGE / "cli" / "commands"


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
    """Yield the texts with which commands and chats refuse something."""
    for path in (*(PACKAGE / "cli").rglob("*.py"), *(PACKAGE / "surfaces").rglob("*.py")):
        for call in calls(path, "Refused"):
            yield template(call.args[0])


def key_faults() -> Iterator[str]:
    """Yield the texts that say why a stored key cannot be used."""
    for call in calls(PACKAGE / "client" / "keys.py", "KeyProblem"):
        if call.keywords:
            yield template(call.args[0])


@pytest.mark.parametrize("text", sorted({*refusals(), *key_faults()}))
def test_every_refusal_of_a_command_has_a_translation(text: str) -> None:
    message = text.replace("{}", "X")
    assert translate_error(message) != message, (
        "add the sentence to src/thinkaloud/surfaces/chat/error_words.toml"
    )


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


GATEWAY_MODULES = (
    "agents/run.py agents/spec.py client/errors.py client/prepare.py client/response.py "
    "core/catalog/budgets.py core/export/record.py importers/*.py "
    "gateway/server/files/imports.py gateway/server/handlers/*.py gateway/server/turns/*.py "
    "gateway/store/engine/disk.py gateway/store/log/commit_queue.py gateway/store/log/event_log.py "
    "gateway/store/log/recovery.py "
    "gateway/store/queries/agents.py gateway/store/queries/branches.py gateway/store/queries/sessions.py "
    "gateway/store/queries/turns.py gateway/store/queries/values.py gateway/store/search/*.py"
)
"""What refuses or ends a request that a person makes on the page."""
FOR_PROGRAMS = (
    "Metrics are for the operator.",  # no part of the page asks for them
    "{} is not a regular file.",  # of the command line, as the next one
    "Cannot read {}: {}.",
    "{} than {} {} (limit {})",  # each limit has a sentence of its own
    "The thinking was stopped,",  # for the model
)


def gateway_errors() -> Iterator[str]:
    """Yield the sentences with which the gateway refuses a request or ends a turn."""
    paths = [path for pattern in GATEWAY_MODULES.split() for path in PACKAGE.glob(pattern)]
    calls = (
        node
        for path in paths
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "_")[0].isupper()
    )
    for text in (template(argument) for call in calls for argument in call.args):
        if text.endswith(".") and not text.startswith(FOR_PROGRAMS):
            yield text


@pytest.mark.parametrize("text", sorted(set(gateway_errors())))
def test_every_error_of_the_gateway_has_a_translation_for_the_page(text: str) -> None:
    message = text.replace("{}", "X")
    fixed = (english for english in error_tables("pt-BR")["gateway"] if len(english) > len("{}: {}."))
    patterns = (".+?".join(map(re.escape, english.split("{}"))) for english in fixed)
    assert any(re.search(pattern, message) for pattern in patterns), (
        "add it to the table of the gateway in surfaces/error_words.toml"
    )


@pytest.mark.parametrize(
    ("status", "message", "remedy"),
    [
        (401, "Invalid key.", "Verifique a chave (env:KEY) e as permissões dela."),
        (404, "No such model.", "Verifique o nome do modelo e o base_url do provedor."),
        (407, "Proxy.", "O proxy exige usuário e senha"),
        (413, "Too big.", "A solicitação é grande demais"),
        (429, "Slow down.", "Espere um pouco e tente de novo."),
        (200, "<html>.", "Isto não é a resposta de um modelo."),
        (302, "Elsewhere.", "Redirecionamentos não são seguidos"),
        (503, "Overloaded.", "Esta é uma falha do provedor"),
        (422, "Wrong field.", "Corrija a solicitação e tente de novo."),
    ],
)
def test_words_of_a_provider_stay_as_they_are(status: int, message: str, remedy: str) -> None:
    error = refusal_error("acme", ErrorResponse(status, message=message), "env:KEY")
    assert translate_error(str(error)).startswith(
        f"acme recusou a solicitação (HTTP {status}): {message} {remedy}"
    )


def findings() -> Iterator[str]:
    """Yield the texts of the findings of `doctor`."""
    for path in (COMMANDS / "doctor.py", PACKAGE / "gateway/store/engine/postgres.py"):
        for function in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(function, ast.FunctionDef) and function.name.startswith(("_check", "check")):
                for node in ast.walk(function):
                    if isinstance(node, ast.Tuple) and template(node.elts[-1]).endswith((".", "MODEL", "ER")):
                        yield template(node.elts[-1])


@pytest.mark.parametrize("text", sorted(set(findings())))
def test_every_finding_of_doctor_has_a_translation(text: str) -> None:
    message = text.replace("{}", "X")
    assert translate_error(message) != message, (
        "add the sentence to src/thinkaloud/surfaces/chat/error_words.toml"
    )


def test_translations_keep_all_gaps() -> None:
    for table in (*texts().values(), *error_tables("pt-BR").values()):
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
        assert unchanged == known, "add the text to src/thinkaloud/surfaces/chat/error_words.toml"
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
