"""`thinkaloud context`: a report on stderr, and the exact request body on stdout."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.environment import UserHome, running_simulator

from thinkaloud.cli import main
from thinkaloud.client import Options, ask
from thinkaloud.client.user_catalog import load_catalog
from thinkaloud.core.canon import ProviderFault
from thinkaloud.core.context import read_conversation

FILE = Path(__file__).parents[2] / "examples/conversation.json"
Output = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("simulator", "model", "provider"),
    [
        ("anthropic", "anthropic/claude-opus-4.5", "anthropic"),
        ("deepseek", "deepseek/deepseek-v4-pro", "deepseek"),
        ("openai-responses", "openai/gpt-5", "openai"),
        ("gemini", "gemini/gemini-3-pro", "gemini"),
    ],
)
def test_context_body_is_what_the_client_sends(
    simulator: str, model: str, provider: str, home: UserHome, capsys: Output
) -> None:
    with running_simulator(simulator) as server:
        home.use_simulators(server)
        home.set_keys(provider)
        assert main(["context", str(FILE), "--model", model, "--thinking", "low"]) == 0
        out, err = capsys.readouterr()
        assert server.requests == []
        talk = read_conversation(FILE.read_bytes())
        options = Options(tools=talk.tools, catalog=load_catalog())
        try:
            asyncio.run(ask(talk, model=model, thinking="low", options=options))
        except ProviderFault:  # the example's signature is invented, and a simulator may refuse it
            assert server.refusals
        assert out.removesuffix("\n").encode() == server.requests[0].raw
    assert err.startswith("to ")
    assert json.loads(out)


def test_context_report_has_a_line_for_every_block(home: UserHome, capsys: Output) -> None:
    """Each line says whether a block is sent, and why."""
    assert main(["context", str(FILE), "--model", "deepseek/deepseek-v4-pro"]) == 0
    out, err = capsys.readouterr()
    assert err.splitlines() == [
        "to deepseek-v4-pro at deepseek",
        "withheld    step 1, block 0: reasoning. This thought of another model is kept here and not sent.",
        "sent        step 1, block 1: tool_call. Sent in plain form, which every model can read.",
        "sent        step 3, block 0: text. Sent in plain form, which every model can read.",
        "blocks: 2 sent, 1 withheld, 0 transformed",
    ]
    assert "I need the weather first." not in out


def test_context_modes_change_what_is_sent(home: UserHome, capsys: Output) -> None:
    arguments = ["context", str(FILE), "--model", "deepseek/deepseek-v4-pro", "--unsupported", "note"]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert "I need the weather first." in json.loads(out)["messages"][-1]["content"]
    assert "1 transformed" in err
    assert main(["context", str(FILE), "--model", "anthropic/claude-opus-4.5", "--mode", "strip"]) == 0
    assert "1 withheld" in capsys.readouterr().err


def test_context_notes_follow_the_report(home: UserHome, capsys: Output) -> None:
    assert main(["context", str(FILE), "--model", "deepseek/deepseek-v4-pro", "--thinking", "5000"]) == 0
    assert (
        "note: deepseek-v4-pro does not accept a budget at deepseek."
        in capsys.readouterr().err.splitlines()[-1]
    )


def test_context_reads_a_pipe_and_thinkaloud_model(home: UserHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THINKALOUD_MODEL", "openai/gpt-5")
    with FILE.open("rb") as piped:
        completed = subprocess.run(
            [sys.executable, "-m", "thinkaloud", "context", "-"], stdin=piped, capture_output=True, check=True
        )
    assert json.loads(completed.stdout)["model"] == "gpt-5"
