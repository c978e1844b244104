"""Each web framework as a real server: cut connections, several readers, wrong ids, broken sources.

A framework that is not installed here is tested in its own environment, which `make integrations` makes.
"""

import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import pytest
from tests.integrations.environments import ROOT
from tests.integrations.served_sources import WORDS
from tests.integrations.test_live_turns import Event, last_id, parse, turn_of
from tests.patience import PATIENCE_S

THOUGHT = "".join(WORDS * 4)
SERVERS = {"fastapi": "fastapi", "django": "django", "django_asgi": "django", "flask": "flask"}
"""Each server, and the package that it is of."""


def python_of(package: str) -> str:
    """Return the Python that has a package: that of its own environment, or this one."""
    own = ROOT / ".venv-frameworks" / package / "bin/python"
    if own.is_file():
        return str(own)
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed: make integrations")
    return sys.executable


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server(NamedTuple):
    """A server that runs in a process of its own."""

    name: str
    port: int

    @contextmanager
    def connect(self, path: str, last: str = "") -> Iterator[http.client.HTTPResponse]:
        """Request something, and close the connection after the block, wherever it is."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        with closing(connection):
            headers = {"Last-Event-ID": last} if last else {}
            if path.startswith("/ask"):
                headers["Accept-Encoding"] = "gzip"
            connection.request("GET", path, headers=headers)
            with connection.getresponse() as response:
                yield response

    def ask(self, path: str = "/ask", last: str = "", **query: str) -> tuple[int, bytes]:
        """Return status and body of a whole response."""
        with self.connect(f"{path}?{urlencode(query)}", last) as response:
            return response.status, response.read()

    def events(self) -> list[str]:
        events: list[str] = json.loads(self.ask("/events")[1])
        return events


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@contextmanager
def running(
    command: list[str], port: int, cwd: Path = ROOT, env: dict[str, str] | None = None
) -> Iterator[None]:
    """Run a server until the block ends."""
    with subprocess.Popen(command, cwd=cwd, env=env, stderr=subprocess.PIPE, text=True) as process:
        try:

            def listens() -> bool:
                assert process.poll() is None, process.stderr and process.stderr.read()
                with socket.socket() as probe:
                    return probe.connect_ex(("127.0.0.1", port)) == 0

            while not listens():  # however long it takes to start, as long as it runs
                time.sleep(0.05)
            yield
        finally:
            process.kill()


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    name: str = request.param
    port = free_port()
    command = [python_of(SERVERS[name]), "-m", "tests.integrations.served_sources", name, str(port)]
    with running(command, port):
        yield Server(name, port)


def ways(server: Server) -> list[tuple[str, str]]:
    """Return the paths and sources of a server: views and streams that block, and that do not."""
    paths = {"fastapi": ["/ask", "/ask-in-a-thread"], "flask": ["/ask"]}.get(
        server.name, ["/ask", "/ask-async"]
    )
    return [(path, source) for path in paths for source in ("slow", "slow_async")]


def test_stream_of_every_kind_of_view_and_source(server: Server) -> None:
    for path, source in ways(server):
        status, body = server.ask(path, source=source)
        turn = turn_of(parse(body))
        assert (status, turn.reasoning, turn.answer) == (200, THOUGHT, "42."), (path, source)


def test_headers_keep_proxies_from_holding_the_stream(server: Server) -> None:
    with server.connect("/ask?source=slow") as response:
        assert response.headers["Content-Type"] == "text/event-stream"
        assert response.headers["Cache-Control"] == "no-store"
        assert response.headers["X-Accel-Buffering"] == "no"
        assert response.headers["Content-Length"] is None
        assert len(response.headers["Thinkaloud-Turn"]) == 22


def test_events_arrive_while_the_source_is_at_work(server: Server) -> None:
    for path, source in ways(server):
        with server.connect(f"{path}?source={source}") as response:
            first = read_events(response, 3)
        assert len(first) < 10, (path, source)


def read_events(response: http.client.HTTPResponse, count: int) -> list[Event]:
    data = b""
    while len(parse(data)) < count:
        piece = response.read1(65_536)
        if not piece:
            break
        data += piece
    return parse(data)


def test_connection_cut_after_each_event(server: Server) -> None:
    """The browser leaves after every event and comes back with its id; the model is asked once."""
    for path, source in ways(server):
        asked = server.events().count("asked")
        seen: list[Event] = []
        last = ""
        while True:
            with server.connect(f"{path}?source={source}", last) as response:
                if response.status == 204:
                    break
                seen += read_events(response, 1)
                last = seen[-1].id if seen else ""
        assert turn_of(seen).reasoning == THOUGHT
        assert server.events().count("asked") == asked + 1


def test_two_readers_at_once_and_one_that_is_late(server: Server) -> None:
    with server.connect("/ask?source=slow") as first:
        turn = first.headers["Thinkaloud-Turn"]
        with server.connect(f"/ask?after={turn}") as second:
            bodies = [first.read(), second.read()]
    status, late = server.ask(after=turn)
    assert status == 200
    assert parse(bodies[0]) == parse(bodies[1]) == parse(late)


@pytest.mark.parametrize(
    ("last", "status"),
    [
        ("1", 400),
        ("x" * 9000, 400),
        ("A" * 22, 404),
        ("A" * 22 + ".1", 404),
        ("{turn}.999", 400),
        ("%00", 400),
    ],
)
def test_wrong_id_gets_a_clear_refusal(server: Server, last: str, status: int) -> None:
    with server.connect("/ask?source=slow") as response:
        turn = response.headers["Thinkaloud-Turn"]
        response.read()
    refused, body = server.ask(last=last.format(turn=turn), source="slow")
    assert refused == status
    assert json.loads(body)["error"]["message"]
    assert turn.encode() not in body


def test_turn_of_another_owner_is_unknown(server: Server) -> None:
    with server.connect("/ask?source=slow&owner=ana") as response:
        turn = response.headers["Thinkaloud-Turn"]
        response.read()
    assert server.ask(after=turn, owner="ben") == server.ask(after="A" * 22, owner="ben")
    assert server.ask(after=turn, owner="ben")[0] == 404
    assert server.ask(after=turn, owner="ana")[0] == 200


def test_nothing_to_go_on_with_is_refused(server: Server) -> None:
    assert server.ask()[0] == 400


def test_silence_has_comments_and_turn_has_one_end(server: Server) -> None:
    _, body = server.ask(source="silent")
    assert body.count(b": alive\n\n") >= 2
    assert turn_of(parse(body)).answer == "42."
    assert body.count(b"turn.ended") == 1


def test_errors_of_the_source_end_the_turn(server: Server) -> None:
    _, body = server.ask(source="failing")
    turn = turn_of(parse(body))
    assert turn.outcome is not None
    assert (turn.reasoning, turn.outcome.cause) == ("Hm.", "source_failed")
    assert b"sk-secret" not in body
    assert b"turn.failed" in server.ask(source="wrong")[1]


def test_client_that_leaves_stops_the_turn_only_if_asked(server: Server) -> None:
    closed = server.events().count("closed")
    with server.connect("/ask?source=endless") as response:
        kept = response.headers["Thinkaloud-Turn"]
        assert read_events(response, 3)
    with server.connect("/ask?source=endless&stop=0.1") as response:
        stopped = response.headers["Thinkaloud-Turn"]
        assert read_events(response, 3)
    wait_until(lambda: server.events().count("closed") > closed)
    assert turn_of(parse(server.ask(after=stopped)[1])).outcome is not None
    with server.connect(f"/ask?after={kept}") as response:
        assert len(read_events(response, 10)) >= 10
    assert server.events().count("ended cancelled") == 1


def test_large_thought_and_a_slow_reader(server: Server) -> None:
    """A reader that takes its time gets all of it, and others do not wait for it."""
    with server.connect("/ask?source=large") as response:
        turn = response.headers["Thinkaloud-Turn"]
        data = response.read(1000)
        began = time.monotonic()
        assert turn_of(parse(server.ask(source="slow")[1])).answer == "42."
        assert time.monotonic() - began < PATIENCE_S / 4
        while piece := response.read(50_000):
            data += piece
            time.sleep(0.001)
    whole = turn_of(parse(data))
    assert whole.reasoning == "x" * 500_000 + "y" * 500_000
    half = data[: len(data) // 2]
    rest = server.ask(last=last_id(half))[1]
    assert parse(half) + parse(rest) == parse(data)
    assert server.ask(last=f"{turn}.{len(parse(data)) - 1}") == (204, b"")


def test_script_of_the_element_is_served_and_not_sent_twice(server: Server) -> None:
    if not (ROOT / "src/thinkaloud/integrations/static/thinking-block.js").is_file():
        pytest.skip("the element is not built: make element")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    with closing(connection):
        connection.request("GET", "/thinking-block.js")
        first = connection.getresponse()
        assert first.headers["Content-Type"].startswith("text/javascript")
        assert b"thinking-block" in first.read()
        connection.request("GET", "/thinking-block.js", headers={"If-None-Match": first.headers["ETag"]})
        second = connection.getresponse()
        assert (second.status, second.read()) == (304, b"")
