"""`thinkaloud export`: traces to a file, from a file, and to a collector."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.integrations.traced_session import ANSWER, THOUGHT, traced_session
from tests.patience import PATIENCE_S

from thinkaloud.cli import main
from thinkaloud.cli.output.console import EXIT_FAILED
from thinkaloud.core.export.otlp import encode_request, requests
from thinkaloud.core.export.record import write_json
from thinkaloud.core.export.span_attributes import SpanContent
from thinkaloud.core.export.spans import SpanOptions

pytestmark = pytest.mark.usefixtures("home")


class Collector:
    """A server that takes traces, or refuses them with a status."""

    def __init__(self) -> None:
        self.status = 200
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                collector.requests.append((self.path, headers, body))
                self.send_response(collector.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    thread = threading.Thread(target=collector.server.serve_forever, daemon=True)
    thread.start()
    yield collector
    collector.server.shutdown()
    collector.server.server_close()
    thread.join(PATIENCE_S)


@pytest.fixture
def session(tmp_path: Path) -> str:
    file = tmp_path / "session.json"
    file.write_bytes(write_json(traced_session()))
    return str(file)


def test_file_is_written_as_traces(session: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "session.otlp.jsonl"
    assert main(["export", session, "--format", "otlp", "-o", str(target)]) == 0
    assert ANSWER not in target.read_text("utf-8")
    assert main(["export", session, "--format", "otlp", "--content", "thoughts"]) == 0
    out = capsys.readouterr().out
    assert ANSWER in out
    assert THOUGHT in out


def test_traces_are_sent_to_a_collector(
    session: str,
    collector: Collector,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api_key=a%20b, X-Tenant=me")
    for url in (collector.url, f"{collector.url}/v1/traces"):
        assert main(["export", session, "--content", "messages", "--openinference", "--send", url]) == 0
    assert "1 trace sent to" in capsys.readouterr().err
    expected = [
        encode_request(request)
        for request in requests(traced_session(), SpanOptions(SpanContent.MESSAGES, openinference=True))
    ]
    for path, headers, body in collector.requests:
        assert path == "/v1/traces"
        assert headers["content-type"] == "application/x-protobuf"
        assert (headers["api_key"], headers["x-tenant"]) == ("a b", "me")
        assert [body] == expected
    assert len(collector.requests) == 2


def test_collector_that_refuses_is_told(
    session: str, collector: Collector, capsys: pytest.CaptureFixture[str]
) -> None:
    collector.status = 415
    assert main(["export", session, "--send", collector.url]) == EXIT_FAILED
    assert "415" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Add --format otlp or --send"),
        (["--format", "markdown"], "Add --format otlp or --send"),
        (["--format", "otlp", "--turn", "trn_1"], "Leave out --turn"),
        (["--send", "ftp://x"], "is not an address"),
    ],
)
def test_what_a_file_cannot_be_exported_as_is_refused(
    session: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(["export", session, *arguments])
    except SystemExit as ended:
        code = int(str(ended.code))
    assert code == 2
    assert message in " ".join(capsys.readouterr().err.split())
