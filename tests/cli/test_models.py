"""`thinkaloud models` and `thinkaloud route`: the table, a provider's own list, and the explained route."""

import os
import pty
import subprocess
import sys
from datetime import date

import pytest
from tests.cli.environment import CATALOG_ROWS, KEY, UserHome, running_simulator
from tests.patience import PATIENCE_S

from thinkaloud.cli import main
from thinkaloud.client.user_catalog import load_catalog, user_catalog_path
from thinkaloud.core.catalog import ThinkingSupport, builtin_catalog, list_models
from thinkaloud.simulators.openrouter import MODELS, OpenRouterModel

Output = pytest.CaptureFixture[str]
LISTED = sorted(name for name, row in CATALOG_ROWS.items() if builtin_catalog().providers[row].models_path)


def test_r034_models_lists_every_row(home: UserHome, capsys: Output) -> None:
    """R034: each model with its thinking, controls, visibility and providers."""
    assert main(["models"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["model", "thinks", "asked", "by", "shows", "at"]
    listed = list_models(builtin_catalog(), today=date.today().isoformat())
    assert [row.split()[0] for row in rows] == [model.id for model in listed]
    assert [row.split()[0] for row in rows if "(family)" in row] == [
        model.id for model in listed if model.family
    ]
    opus = next(row for row in rows if row.startswith("claude-opus-4.5 "))
    assert " ".join(opus.split()) == (
        "claude-opus-4.5 optional budget+effort low-high summary anthropic openrouter"
    )
    assert next(row for row in rows if row.startswith("gpt-4o ")).split()[1:4] == ["none", "-", "-"]


def test_models_thinking_option(home: UserHome, capsys: Output) -> None:
    assert main(["models", "--thinking"]) == 0
    out = capsys.readouterr().out
    assert "claude-opus-4.5 " in out
    assert "gpt-4o " not in out


def test_models_table_fits_a_hundred_columns(home: UserHome) -> None:
    controller, terminal = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "thinkaloud", "models"],
        stdout=terminal,
        check=True,
        timeout=PATIENCE_S,
        env={**os.environ, "PAGER": "cat", "COLUMNS": "100"},
    )
    os.close(terminal)
    output = b""
    try:
        while piece := os.read(controller, 65536):
            output += piece
    except OSError:  # reading a closed pseudo-terminal raises
        os.close(controller)
    lines = output.decode().splitlines()
    assert len(lines) > 100
    assert max(map(len, lines)) <= 100
    assert next(line for line in lines if line.startswith("gpt-oss-20b ")).endswith(" ollama groq +5")


def test_user_catalog_rows_are_listed_and_routed(home: UserHome, capsys: Output) -> None:
    """R034: the user's own rows extend the table."""
    mine = '[models.gpt-7]\nlike = "gpt-6-astra"\nat = { openai = "gpt-7" }\n'
    home.use_simulators(extra=mine + '[models.gpt-5]\nat_with_thinking = ["openai"]\n')
    assert main(["models"]) == 0
    assert "gpt-7 " in capsys.readouterr().out
    assert main(["route", "gpt-5", "--thinking", "high"]) == 0
    assert "provider   openai," in capsys.readouterr().out


@pytest.mark.parametrize("name", LISTED)
def test_models_refresh_reads_the_providers_list(name: str, home: UserHome, capsys: Output) -> None:
    provider = CATALOG_ROWS[name]
    with running_simulator(name) as server:
        home.use_simulators(server)
        if builtin_catalog().providers[provider].key:
            home.set_keys(provider)
        assert main(["models", "refresh", provider]) == 0
        assert [request.method for request in server.requests] == ["GET"]
        assert server.refusals == []
    out, err = capsys.readouterr()
    assert [line.partition(":")[0] for line in out.splitlines()[:2]] == [
        f"new at {provider}",
        f"gone at {provider}",
    ]
    assert KEY not in out + err


def test_models_refresh_writes_rows_for_new_models(
    home: UserHome, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that only the provider lists gets a row, and is then asked as the list says."""
    monkeypatch.setitem(MODELS, "acme/anvil-9", OpenRouterModel(mandatory=True))
    with running_simulator("openrouter") as server:
        home.use_simulators(server)
        home.set_keys("openrouter")
        own_rows = user_catalog_path().read_text()
        assert main(["models", "refresh", "openrouter", "--write"]) == 0
    assert f"1 row added to {user_catalog_path()}." in capsys.readouterr().out
    assert user_catalog_path().read_text().startswith(own_rows)
    row = load_catalog().models["acme/anvil-9"]
    assert (row.thinking, row.at) == (ThinkingSupport.ALWAYS, {"openrouter": "acme/anvil-9"})
    assert "the list of models of openrouter" in row.fact.source


def test_models_refresh_shows_differences(home: UserHome, capsys: Output) -> None:
    with running_simulator("anthropic") as server:
        home.use_simulators(server, extra='[models."claude-opus-4.5"]\nthinking = "none"\n')
        home.set_keys("anthropic")
        assert main(["models", "refresh", "anthropic"]) == 0
    assert "thinking is yes at anthropic, no in the catalog row claude-opus-4.5" in capsys.readouterr().out


def test_r035_r039_a_thinking_claude_goes_to_anthropic(home: UserHome, capsys: Output) -> None:
    """R035 R036 R039: directly, with the control of its row; a key of another provider changes nothing."""
    home.set_keys("openrouter")
    assert main(["route", "claude-opus-4.5", "--thinking", "high"]) == 0
    out = capsys.readouterr().out
    assert "provider   anthropic, https://api.anthropic.com/v1\n" in out
    assert "key        missing (env:ANTHROPIC_API_KEY | credentials:ai.claude.api_token)\n" in out
    assert "thinking   mode enabled, budget 24576 tokens\n" in out
    assert "why        With thinking on, the catalog sends claude-opus-4.5 to anthropic.\n" in out
    assert main(["route", "claude-opus-4.8", "--thinking", "high"]) == 0
    assert "thinking   mode adaptive, effort high, display summarized\n" in capsys.readouterr().out


def test_r038_others_go_to_openrouter(home: UserHome, capsys: Output) -> None:
    """R038: the output says why."""
    home.set_keys("openrouter", "openai")
    assert main(["route", "gpt-5", "--thinking", "high"]) == 0
    out = capsys.readouterr().out
    assert "provider   openrouter," in out
    assert "key        there (env:OPENROUTER_API_KEY)\n" in out
    assert "why        With thinking on, the catalog sends gpt-5 to openrouter.\n" in out
    assert KEY not in out


def test_r037_claude_blocks_arrive_in_order(home: UserHome, capsys: Output) -> None:
    """R037: thoughts and text of the answer keep their order."""
    with running_simulator("anthropic", [{"thinking": ["First.", "Second."], "text": "Third."}]) as server:
        home.use_simulators(server)
        home.set_keys("anthropic")
        assert (
            main(["ask", "--model", "claude-opus-4.5", "--thinking", "low", "--format", "ndjson", "Hi"]) == 0
        )
    out = capsys.readouterr().out
    assert out.index("First.") < out.index("Second.") < out.index("Third.")


@pytest.mark.parametrize(
    ("model", "thinking", "line_start"),
    [
        ("openai/gpt-5", "", "why        The name specifies openai."),
        ("claude-3.7-sonnet:thinking", "", "why        The name ends in :thinking, so thinking is on."),
        ("vllm/my-own", "", "why        my-own is not in the catalog."),
        (
            "gemini-3-pro",
            "off",
            "note       Thinking cannot be turned off: gemini-3-pro-preview always thinks.",
        ),
        ("deepseek-r1", "", "goes back  no thoughts"),
        ("deepseek-v4-pro", "", "goes back  thoughts of turns with tools, in reasoning_content"),
        ("ollama/qwen3:8b", "", "key        none needed"),
        ("vllm/qwen3-8b", "off", "thinking   enable_thinking=false"),
        ("bedrock/some-model", "", "provider   bedrock, https://bedrock-runtime.{AWS_REGION}.amazonaws.com"),
        ("claude-opus-4.8", "", "as of      2"),
    ],
)
def test_route_explains(model: str, thinking: str, line_start: str, home: UserHome, capsys: Output) -> None:
    """R034: provider, request and reason, in lines of at most 80 columns."""
    assert main(["route", model, "--thinking", thinking]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith(line_start) for line in lines), "\n".join(lines)
    assert all(len(line) <= 80 or " " not in line.strip() for line in lines)


def test_route_without_thinking_uses_the_next_provider_with_a_key(home: UserHome, capsys: Output) -> None:
    """R034: the output says so."""
    home.set_keys("openrouter")
    assert main(["route", "claude-opus-4.5"]) == 0
    out = capsys.readouterr().out
    assert "provider   openrouter," in out
    assert "why        No key found for anthropic, so openrouter is used.\n" in out
