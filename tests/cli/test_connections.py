"""The built-in model names the real models of this machine: local servers and keys, never a key's value."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.cli.environment import KEY, UserHome, running_simulator

import thinkaloud
from thinkaloud.cli import main
from thinkaloud.client.connections import find_connections
from thinkaloud.client.user_catalog import load_catalog

Output = pytest.CaptureFixture[str]


def test_ask_names_local_servers_and_keys(home: UserHome, capsys: Output) -> None:
    with running_simulator("ollama") as server:
        home.use_simulators(server)
        home.set_keys("deepseek")
        assert main(["ask", "how do I connect a real model?"]) == 0
        connections = find_connections(load_catalog())
    out, err = capsys.readouterr()
    assert [found.provider for found in connections.servers] == ["ollama"]
    assert f"- ollama runs at {connections.servers[0].url}" in out
    assert "- deepseek has a key (variable DEEPSEEK_API_KEY): deepseek/deepseek-" in out
    assert "Servers that answer: ollama." in err
    assert KEY not in out + err + repr(connections)


def test_python_names_keys_like_the_command(home: UserHome) -> None:
    home.set_keys("deepseek")
    turn = thinkaloud.ask_sync("how do I connect a real model?", model="builtin/solver")
    assert "- deepseek has a key (variable DEEPSEEK_API_KEY): deepseek/deepseek-" in turn.answer


def test_another_program_at_the_port_is_not_offered(home: UserHome) -> None:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>not a model server</html>")

        def log_message(self, *arguments: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        rows = f'[providers.vllm]\nbase_url = "http://127.0.0.1:{server.server_port}/v1"\n'
        (home.folder / "catalog.toml").write_text(rows, "utf-8")
        connections = find_connections(load_catalog())
        server.shutdown()
    assert "vllm" not in [found.provider for found in connections.servers]
