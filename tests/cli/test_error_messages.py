"""The exact error messages of the commands: what happened, why, and what to do."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.environment import KEY, UserHome, running_simulator

from thinkaloud.cli import main

ROOT = Path(__file__).parents[2]
TALK = str(ROOT / "examples/conversation.json")
MODEL = "deepseek/deepseek-v4-pro"
Output = pytest.CaptureFixture[str]

REFUSED = [
    (
        ["ask", "--model", MODEL, " "],
        "The prompt is empty, so nothing was sent. Give it in quotes, or use - to read standard input.",
    ),
    (
        ["ask", "--model", MODEL, "Hi"],
        "There is no key for deepseek: env:DEEPSEEK_API_KEY leads to nothing. Set it, or name another "
        "provider yourself, such as openrouter/deepseek/deepseek-v4-pro. Nothing was sent elsewhere.",
    ),
    (
        ["ask", "--model", "claude-opus-4.5", "--thinking", "high", "Hi"],
        "There is no key for anthropic: env:ANTHROPIC_API_KEY and credentials:ai.claude.api_token lead to "
        "nothing. With thinking on, claude-opus-4.5 goes to anthropic only. Set it, or name another "
        "provider yourself, such as openrouter/anthropic/claude-opus-4.5. Nothing was sent elsewhere.",
    ),
    (
        ["ask", "--model", MODEL, "--thinking", "lots", "Hi"],
        "Invalid thinking level: 'lots'. Use one of off, low, medium, high, max, or a number of tokens.",
    ),
    (
        ["ask", "--model", "gpt-4o", "--thinking", "low", "Hi"],
        "Thinking is on, but gpt-4o does not think. Turn thinking off, or choose a model that does: "
        "thinkaloud models --thinking lists them.",
    ),
    (
        ["ask", "--model", "claude-opus-4.5", "--thinking", "10", "Hi"],
        "A budget of 10 tokens is too small: claude-opus-4-5 takes 1024 or more. Ask for at least 1024, or "
        "turn thinking off.",
    ),
    (
        ["route", "hal"],
        "'hal' is not in the catalog, and it does not begin with the name of a provider. Say who serves it, "
        "such as openrouter/hal, or add a row for it to your own catalog file.",
    ),
    (
        ["route", "gpt-55"],
        "'gpt-55' is not in the catalog, and it does not begin with the name of a provider. Did you mean "
        "gpt-5.5, gpt-5, gpt-5.4, gpt-5.3, gpt-5.2? Say who serves it, such as openrouter/gpt-55, or add "
        "a row for it to your own catalog file.",
    ),
    (
        ["models", "refresh", "openai"],
        "OPENAI_API_KEY is not set, so there is no key to send. Set it: export OPENAI_API_KEY=...",
    ),
    (
        ["context", "no-such-file", "--model", MODEL],
        "Cannot read no-such-file: No such file or directory. Give a conversation as JSON, or - for standard "
        "input.",
    ),
    (
        ["context", str(ROOT / "LICENSE"), "--model", MODEL],
        "This is not a conversation: JSON is malformed: invalid character (byte 0). It needs an object with "
        "`messages`, each with the role user, assistant or tool.",
    ),
    (
        ["simulate", "vllm", "--script", "no-such-file"],
        "Cannot read no-such-file: No such file or directory. Give a file with a JSON list of turns.",
    ),
    (
        ["simulate", "vllm", "--script", TALK],
        f"{TALK} is not a valid script: Expected `array`, got `object`. Write a JSON list of turns, such as "
        '[{"thinking": "Easy.", "text": "Four."}].',
    ),
    (
        ["ask", "--model", "bedrock/some-model", "Hi"],
        "There is no key for bedrock: env:AWS_BEARER_TOKEN_BEDROCK leads to nothing. Set it. "
        "Nothing was sent elsewhere.",
    ),
]


@pytest.mark.parametrize(("words", "message"), REFUSED, ids=[" ".join(words)[:40] for words, _ in REFUSED])
def test_command_error_messages(words: list[str], message: str, home: UserHome, capsys: Output) -> None:
    """R046: one line, exit code 2, nothing on stdout, nothing sent."""
    assert main(words) == 2
    assert capsys.readouterr() == ("", f"thinkaloud: {message}\n")


def test_models_refresh_error_lists_the_providers(home: UserHome, capsys: Output) -> None:
    for words, message in (
        ([], "`models refresh` needs a provider."),
        (["hal"], "'hal' has no list of models."),
    ):
        assert main(["models", "refresh", *words]) == 2
        err = capsys.readouterr().err
        assert err.startswith(f"thinkaloud: {message} Use one of: anthropic, ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"models = [", "is not TOML: "),
        (b"[modells.x]\n", "there is no section [modells] in a catalog. Use [providers.NAME], "),
        (
            b"[models.gpt-5]\nthinks = true\n",
            "[models.gpt-5]: Object contains unknown field `thinks`. Correct the field; ",
        ),
        (b"\xff\xfe", "it is not UTF-8 text. Correct the file, or move it away."),
    ],
)
@pytest.mark.parametrize("words", [["models"], ["route", "gpt-5"], ["ask", "--model", "gpt-5", "Hi"]])
def test_invalid_user_catalog_error(
    text: bytes, message: str, words: list[str], home: UserHome, capsys: Output
) -> None:
    mine = home.folder / "catalog.toml"
    mine.write_bytes(text)
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"thinkaloud: {mine}")
    assert message in err
    assert len(err.splitlines()) == 1


FAULTS: list[tuple[dict[str, Any], str]] = [
    (
        {"kind": "status", "status": 429, "retry_after": 3600},
        "thinkaloud: deepseek refused the request (HTTP 429, rate_limit_error): Rate limited. "
        "Wait 3600 s, then ask again.",
    ),
    (
        {"kind": "status", "status": 400},
        "thinkaloud: deepseek refused the request (HTTP 400, invalid_request_error): Overloaded. "
        "Change what it names, then ask again.",
    ),
    (
        {"kind": "html", "status": 404},
        "Check the name of the model and the provider's base_url.",
    ),
    (
        {"kind": "cut", "after_events": 4},
        "The connection was lost before the answer was complete.",
    ),
]


@pytest.mark.parametrize(("fault", "message"), FAULTS, ids=[str(fault) for fault, _ in FAULTS])
def test_provider_fault_messages(fault: dict[str, Any], message: str, home: UserHome, capsys: Output) -> None:
    """The exit code is 1, and the last line has the message."""
    with running_simulator("deepseek", [{"thinking": "Hm.", "text": "one two", "fault": fault}]) as server:
        home.use_simulators(server)
        home.set_keys("deepseek")
        assert main(["ask", "--model", MODEL, "Hi"]) == 1
    assert capsys.readouterr().err.splitlines()[-1].endswith(message)


def test_wrong_key_message(home: UserHome, capsys: Output) -> None:
    with running_simulator("deepseek", key="another") as server:
        home.use_simulators(server)
        home.set_keys("deepseek")
        assert main(["ask", "--model", MODEL, "Hi"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("thinkaloud: deepseek refused the request (HTTP 401, ")
    assert err.endswith(" Check the key (env:DEEPSEEK_API_KEY) and what it is allowed to do.\n")
    assert KEY not in err


def test_unreachable_provider_message(home: UserHome, capsys: Output) -> None:
    with running_simulator("vllm") as server:
        home.use_simulators(server)
    assert main(["ask", "--model", "vllm/demo", "Hi"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("thinkaloud: vllm ")
    assert server.url in err
