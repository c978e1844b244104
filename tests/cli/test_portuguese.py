"""Errors, table headers, help and findings of `doctor` in Portuguese."""

import asyncio
import re
from pathlib import Path

import pytest
from tests.cli.environment import UserHome, running_simulator

from thinkaloud.cli import main
from thinkaloud.cli.gateway_client.attach import THIS_HOME, open_backend
from thinkaloud.client.errors import ErrorResponse, refusal_error
from thinkaloud.core.canon import Wording
from thinkaloud.core.catalog import builtin_catalog, key_missing_error, route
from thinkaloud.core.view.translate import translate

FAULT = Wording(
    "{path} is readable by other users, so no key was read from it. Run: chmod 600 {path}", path="X"
)


@pytest.mark.parametrize("thinking", [True, False])
@pytest.mark.parametrize("fault", [None, FAULT])
@pytest.mark.parametrize("model", ["claude-opus-4.5", "deepseek-v4-pro", "bedrock/claude-opus-4.5"])
def test_error_of_a_missing_key_has_no_english_words(
    model: str, fault: Wording | None, thinking: bool
) -> None:
    chosen = route(builtin_catalog(), model, thinking=thinking, have_key=lambda _: False)
    error = translate(key_missing_error(chosen, fault=fault).wording, "pt-BR")
    without_commands = re.sub("`[^`]*`", "", error)
    assert re.findall(r"\b(?:found|is|or|run|sent|set|such|with)\b", without_commands) == [], error


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
    assert translate(error.wording, "pt-BR").startswith(
        f"acme recusou a solicitação (HTTP {status}): {message} {remedy}"
    )


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
        (["read", "nada.sse"], "Não foi possível ler nada.sse: Arquivo ou pasta inexistente."),
        (["ask", "--model", "frobnitz", "Oi"], "Modelo desconhecido 'frobnitz'"),  # of the gateway, over HTTP
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
    assert [translate(name.strip(), "pt-BR") for name in headers[0]] == [name.strip() for name in headers[1]]


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


def test_stored_failure_is_shown_later_in_another_language(
    home: UserHome, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_simulator("vllm") as server:
        home.use_simulators(server)
    assert main(["ask", "--model", "vllm/demo", "Hi"]) == 1
    failure = f"Cannot reach vllm at {server.url}: connection refused. Check base_url"
    assert f"The answer failed: {failure}" in capsys.readouterr().err
    monkeypatch.setenv("LC_ALL", "pt_BR.UTF-8")
    main(["show", "latest"])
    translated = f"Não foi possível alcançar vllm em {server.url}: a conexão foi recusada. Verifique base_url"
    assert f"A resposta falhou: {translated}" in "".join(capsys.readouterr())
