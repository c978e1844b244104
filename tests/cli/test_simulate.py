"""`thinkaloud simulate`: prints its address, serves, follows a script, and stops."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.environment import UserHome
from tests.patience import PATIENCE_S

from thinkaloud.cli import main

COMMAND = [sys.executable, "-m", "thinkaloud"]
GUIDE = Path(__file__).parents[2] / "docs/how-to/ask.md"
Output = pytest.CaptureFixture[str]


@contextmanager
def simulating(*words: str) -> Iterator[str]:
    """Run the command as a process and yield its address."""
    with subprocess.Popen(
        [*COMMAND, "simulate", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout
        try:
            yield run.stdout.readline().strip()
        finally:
            run.send_signal(signal.SIGINT)
            try:
                out, err = run.communicate(timeout=PATIENCE_S)
            finally:
                run.kill()
    assert (run.returncode, out) == (0, "")
    assert err == f"Simulating {words[0]}; no model is asked. Press Ctrl-C to stop.\n"


def test_simulate_prints_its_address_and_serves(home: UserHome, capsys: Output) -> None:
    with simulating("vllm") as url:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
        _points_at(home, url)
        assert main(["ask", "--model", "vllm/demo", "Hello?"]) == 0
    out, err = capsys.readouterr()
    assert out == "This is a simulated answer; no model was asked. The last message was: Hello?\n"
    assert err.startswith("[think] A simulated thought: no model was asked.\n")


def test_simulate_follows_a_script(home: UserHome, tmp_path: Path, capsys: Output) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"thinking": "Easy.", "text": "Four."}]))
    with simulating("vllm", "--script", str(script)) as url:
        _points_at(home, url)
        assert main(["ask", "--model", "vllm/demo", "2 + 2?"]) == 0
    assert capsys.readouterr().out == "Four.\n"


def test_simulate_reports_a_port_in_use(home: UserHome, capsys: Output) -> None:
    with simulating("vllm") as url:
        port = url.rpartition(":")[2]
        assert main(["simulate", "vllm", "--port", port]) == 2
    assert f"Cannot listen on port {port}: " in capsys.readouterr().err


def test_simulate_unknown_name_lists_the_known_ones(capsys: Output) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["simulate", "hal"])
    assert stopped.value.code == 2
    err = capsys.readouterr().err
    assert "hal" in err
    assert "anthropic" in err


def test_simulate_guide_commands_work_without_a_key(home: UserHome) -> None:
    """The two commands of the guide run unchanged except for the port."""
    lines = GUIDE.read_text("utf-8").splitlines()
    serve = next(line for line in lines if line.startswith("thinkaloud simulate "))
    ask = next(line for line in lines if line.startswith("thinkaloud ask --model vllm"))
    name = serve.split()[2]
    assert serve == "thinkaloud simulate vllm --port 8000 &"
    with simulating(name) as url:
        _points_at(home, url)
        shell = ask.replace("thinkaloud", " ".join(COMMAND), 1)
        completed = subprocess.run(
            ["bash", "-c", shell], capture_output=True, text=True, check=True, timeout=PATIENCE_S
        )
    at = lines.index(ask)
    output = [line for line in lines[at + 1 : lines.index("```", at)] if line.startswith("# ")]
    assert [f"# {line}" for line in (completed.stderr + completed.stdout).splitlines()] == output


def _points_at(home: UserHome, url: str) -> None:
    (home.folder / "catalog.toml").write_text(f'[providers.vllm]\nbase_url = "{url}/v1"\n')
