"""The options of `ask` for sampling, shapes and files, without a gateway and through one."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.environment import UserHome, running_simulator

from thinkaloud.cli import main
from thinkaloud.simulators import Simulator

Output = pytest.CaptureFixture[str]
CITY = '{"name": "Lima"}'
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


@pytest.fixture
def claude(home: UserHome) -> Iterator[Simulator]:
    with running_simulator("anthropic", [{"thinking": "Peru.", "text": CITY}]) as server:
        home.use_simulators(server)
        home.set_keys("anthropic")
        yield server


@pytest.mark.parametrize("save", [[], ["--no-save"]], ids=["kept", "not-kept"])
def test_sampling_schema_extra_and_files_reach_the_model(
    save: list[str], claude: Simulator, tmp_path: Path, capsys: Output
) -> None:
    (tmp_path / "city.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "report.pdf").write_bytes(b"%PDF-1.7")
    (tmp_path / "notes.txt").write_text("It never rains.")
    options = ["--temperature", "0", "--stop", "END", "--seed", "7", "--extra", "metadata.user_id=1"]
    files = ["-f", str(tmp_path / "report.pdf"), "-f", str(tmp_path / "notes.txt")]
    schema = ["--schema", str(tmp_path / "city.json")]
    code = main(["ask", "-m", "claude-opus-4.5", *options, *schema, *files, *save, "Which city?"])
    out, err = capsys.readouterr()
    assert (code, out, claude.refusals) == (0, f"{CITY}\n", []), err
    assert "anthropic has no parameter for seed, so seed was not sent." in " ".join(err.split())
    sent = claude.requests[0].body
    assert (sent["temperature"], sent["stop_sequences"], sent["metadata"]) == (0, ["END"], {"user_id": 1})
    assert sent["output_config"]["format"]["schema"]["properties"] == SCHEMA["properties"]
    assert [part["type"] for part in sent["messages"][0]["content"]] == ["document", "text"]
    assert "It never rains." in sent["messages"][0]["content"][1]["text"]


@pytest.mark.parametrize("save", [[], ["--no-save"]], ids=["kept", "not-kept"])
def test_answer_that_does_not_match_the_schema_fails_the_command(
    save: list[str], claude: Simulator, tmp_path: Path, capsys: Output
) -> None:
    (tmp_path / "city.json").write_text(json.dumps({**SCHEMA, "required": ["name", "people"]}))
    schema = ["--schema", str(tmp_path / "city.json")]
    assert main(["ask", "-m", "claude-opus-4.5", *schema, *save, "Which city?"]) == 1
    out, err = capsys.readouterr()
    assert out == f"{CITY}\n"
    assert "'people' is a required property" in " ".join(err.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--temperature", "3"], "Invalid sampling parameter"),
        (["--extra", "top_k"], "Invalid value for --extra"),
        (["--schema", "none.json"], "none.json"),
        (["-f", "none.pdf"], "Cannot attach none.pdf"),
    ],
)
def test_invalid_options_are_refused_before_anything_is_sent(
    options: list[str], message: str, claude: Simulator, capsys: Output
) -> None:
    assert main(["ask", "-m", "claude-opus-4.5", *options, "Which city?"]) == 2
    assert message in capsys.readouterr().err
    assert claude.requests == []


def test_agent_with_a_temperature_asks_gpt_5_without_it(home: UserHome, capsys: Output) -> None:
    (home.folder / "agents.toml").write_text('[agents.calm]\nmodel = "openai/gpt-5"\ntemperature = 0.2\n')
    with running_simulator("openai-responses", [{"text": "Hello."}]) as server:
        home.use_simulators(server)
        home.set_keys("openai")
        assert main(["ask", "--agent", "calm", "Hi"]) == 0
        assert server.refusals == []
        assert "temperature" not in server.requests[0].body
    assert "gpt-5 does not take temperature" in " ".join(capsys.readouterr().err.split())


def test_context_shows_the_cache_marks(home: UserHome, tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "weather.json"
    path.write_text('{"system":"Brief.","tools":[{"name":"t"}],"messages":[{"role":"user","text":"Hi"}]}')
    assert main(["context", str(path), "--model", "claude-opus-4.5"]) == 0
    assert "cache: marks after tools, system prompt, message 1 of 1" in capsys.readouterr().err
    assert main(["context", str(path), "--model", "openai/gpt-5"]) == 0
    assert "cache: key " in capsys.readouterr().err
