"""`serve_simulator` serves until it is interrupted."""

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

from tests.patience import PATIENCE_S

SERVE = """
import sys
from thinkaloud.simulators import serve_simulator
serve_simulator("deepseek", script_path=sys.argv[1], announce=lambda url: print(url, flush=True))
"""


def test_serve_simulator_announces_its_url_and_stops_on_an_interrupt(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"thinking": "Two and two.", "text": "Four."}]')
    command = [sys.executable, "-c", SERVE, str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        body = json.dumps(
            {"model": "deepseek-v4-pro", "messages": [{"role": "user", "content": "2+2"}]}
        ).encode()
        headers = {"authorization": "Bearer k", "content-type": "application/json"}
        request = urllib.request.Request(f"{url}/chat/completions", body, headers)
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
            message = json.load(response)["choices"][0]["message"]
        server.send_signal(signal.SIGINT)
        _, complaint = server.communicate(timeout=PATIENCE_S)
    assert (message["reasoning_content"], message["content"]) == ("Two and two.", "Four.")
    assert (server.returncode, complaint) == (0, "")
