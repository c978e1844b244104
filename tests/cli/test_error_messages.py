"""The exact error messages of the commands: what happened, why, and what to do."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.environment import KEY, UserHome, running_simulator

from thinkaloud.cli import main
from thinkaloud.cli.commands import ask

ROOT = Path(__file__).parents[2]
TALK = str(ROOT / "examples/conversation.json")
MODEL = "deepseek/deepseek-v4-pro"
Output = pytest.CaptureFixture[str]

REFUSED = [
    (
        ["replay", "nope"],
        "There is no file 'nope', and no such turn. Give the path of a recording, the id of a turn, which "
        "begins with trn_, or `latest`.",
    ),
    (
        ["ask", "--model", MODEL, " "],
        "The prompt is empty, so nothing was sent. Write it after the command, or pipe it in: "
        "thinkaloud ask what is 2+2",
    ),
    (
        ["ask", "--model", MODEL, "Hi"],
        "No API key found for deepseek. Set DEEPSEEK_API_KEY, run `thinkaloud keys set deepseek`, or use "
        "another provider, such as openrouter/deepseek/deepseek-v4-pro. Nothing was sent.",
    ),
    (
        ["ask", "--model", "claude-opus-4.5", "--thinking", "high", "Hi"],
        "No API key found for anthropic. With thinking on, claude-opus-4.5 is sent only to anthropic. "
        "Set ANTHROPIC_API_KEY or ai.claude.api_token in credentials.toml (mode 600), "
        "or run `thinkaloud keys set anthropic`. Nothing was sent.",
    ),
    (
        ["ask", "--model", MODEL, "--thinking", "lots", "Hi"],
        "Invalid thinking level: 'lots'. Use one of off, low, medium, high, max, or a number of tokens.",
    ),
    (
        ["ask", "--model", "gpt-4o", "--thinking", "low", "Hi"],
        "Thinking is on, but gpt-4o does not support thinking. Turn thinking off, or choose a "
        "model listed by: thinkaloud models --thinking",
    ),
    (
        ["ask", "--model", "claude-opus-4.5", "--thinking", "10", "Hi"],
        "A budget of 10 tokens is too small: claude-opus-4-5 needs at least 1024. Set 1024 or "
        "more, or turn thinking off.",
    ),
    (
        ["route", "hal"],
        "Unknown model 'hal': it is not in the catalog and does not start with a provider. "
        "Add the provider, such as openrouter/hal, or add a row for the model to your own catalog file.",
    ),
    (
        ["route", "gpt-55"],
        "Unknown model 'gpt-55': it is not in the catalog and does not start with a provider. "
        "Did you mean gpt-5.5, gpt-5, gpt-5.6, gpt-5.4, gpt-5.2? Add the provider, such as "
        "openrouter/gpt-55, or add a row for the model to your own catalog file.",
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
        "This is not a conversation: JSON is malformed: invalid character (byte 0). Use a JSON "
        "object with `messages`, each with the role user, assistant or tool.",
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
        "No API key found for bedrock. Set AWS_BEARER_TOKEN_BEDROCK or AWS_SECRET_ACCESS_KEY, or run "
        "`thinkaloud keys set bedrock`. Nothing was sent.",
    ),
]


@pytest.mark.parametrize(("words", "message"), REFUSED, ids=[" ".join(words)[:40] for words, _ in REFUSED])
def test_command_error_messages(words: list[str], message: str, home: UserHome, capsys: Output) -> None:
    """R046: one line, exit code 2, nothing on stdout, nothing sent."""
    assert main(words) == 2
    assert capsys.readouterr() == ("", f"thinkaloud: {message}\n")


def test_prompt_that_is_too_long_names_the_limit_and_what_to_do(
    home: UserHome, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setattr(ask, "read_chunks", lambda name: [b"x" * 5_000_000] * 2)
    assert main(["ask", "-"]) == 2
    message = capsys.readouterr().err
    assert "Standard input has more than 8,000,000 bytes" in message
    assert "head -c 1000000 FILE | thinkaloud ask" in message


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
        (b"models = [", "is not valid TOML: "),
        (b"[modells.x]\n", "unknown section [modells]. A catalog has: [providers.NAME], "),
        (
            b"[models.gpt-5]\nthinks = true\n",
            "[models.gpt-5]: Object contains unknown field `thinks`. Correct the field. ",
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
        "The answer failed: deepseek refused the request (HTTP 429, rate_limit_error): Rate limited. "
        "Wait 3600 s, then retry.",
    ),
    (
        {"kind": "status", "status": 400},
        "The answer failed: deepseek refused the request (HTTP 400, invalid_request_error): Overloaded. "
        "Correct the request, then retry.",
    ),
    (
        {"kind": "html", "status": 404},
        "Check the model name and the provider's base_url.",
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
    assert err.startswith("The answer failed: deepseek refused the request (HTTP 401, ")
    assert err.endswith(" Check the key (env:DEEPSEEK_API_KEY) and its permissions.\n")
    assert KEY not in err


def test_unreachable_provider_message(home: UserHome, capsys: Output) -> None:
    with running_simulator("vllm") as server:
        home.use_simulators(server)
    assert main(["ask", "--model", "vllm/demo", "Hi"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("The answer failed: Cannot reach vllm ")
    assert server.url in err
