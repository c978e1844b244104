"""Log lines: one per record, named fields only, secrets masked."""

import io
import json
import logging
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.patience import PATIENCE_S

from thinkaloud.gateway.server import logs
from thinkaloud.gateway.server.logs import LogFormat, QueuedHandler, log_to_file, redact

TOKEN = "tka_" + "Ab-_9" * 8 + "xyz"
KEY = "sk-ant-api03-canary_0123456789"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Restore the logging configuration, which is global."""
    root = logging.getLogger()
    previous = root.handlers[:], root.level
    yield
    logging.captureWarnings(False)
    root.handlers[:], root.level = previous
    for name in ("thinkaloud", "uvicorn"):
        logging.getLogger(name).setLevel(logging.NOTSET)


def written(stream: io.StringIO) -> str:
    """Return what was written, after all lines are."""
    for handler in logging.getLogger().handlers:
        handler.flush()
    return stream.getvalue()


def lines(stream: io.StringIO) -> list[str]:
    return written(stream).splitlines()


def test_json_lines_have_named_fields_only() -> None:
    stream = io.StringIO()
    logs.set_up(LogFormat.JSON, stream)
    fields = {"method": "GET", "route": "/api/sessions", "status": 200, "ms": 1.25, "user": "usr_1"}
    logging.getLogger("thinkaloud.requests").info(
        "GET %s", "/api/sessions", extra={**fields, "body": "canary", "headers": {"a": "canary"}}
    )
    [line] = map(json.loads, lines(stream))
    assert line.pop("at").endswith("Z")
    assert line == {
        "level": "info",
        "logger": "thinkaloud.requests",
        "message": "GET /api/sessions",
        **fields,
    }


def test_text_log_lines() -> None:
    stream = io.StringIO()
    logs.set_up(LogFormat.TEXT, stream)
    logging.getLogger("thinkaloud.requests").info("GET /healthz 200", extra={"ms": 1.5, "status": 200})
    [line] = lines(stream)
    assert line[8:] == " info    GET /healthz 200 1.5 ms"


@pytest.mark.parametrize(("stream", "text"), [(Terminal(), True), (io.StringIO(), False)])
def test_log_format_follows_the_terminal(stream: io.StringIO, text: bool) -> None:
    logs.set_up(None, stream)
    logging.getLogger("thinkaloud").warning("hello")
    assert lines(stream)[0].startswith("{") is not text


@pytest.mark.parametrize("form", LogFormat)
def test_log_message_is_one_line_without_control_characters(form: LogFormat) -> None:
    stream = io.StringIO()
    logs.set_up(form, stream)
    logging.getLogger("thinkaloud").warning("one\ntwo\x1b[2J\x07\x9b31m\rthree")
    [line] = lines(stream)
    assert not [char for char in line if ord(char) < 32 or 127 <= ord(char) < 160]
    assert "three" in line


SECRETS = [
    ("{token}", "***"),
    ("a {token}, b", "a ***, b"),
    ("Authorization: Bearer {token}", "Authorization: ***"),
    ("authorization: Bearer abc.def", "authorization: ***"),
    ("{{'Authorization': 'Bearer canary'}}", "{{'Authorization': '***'}}"),
    ('{{"x-api-key": "canary", "a": 1}}', '{{"x-api-key": "***", "a": 1}}'),
    ("(b'authorization', b'Bearer canary')", "(b'authorization', b'***')"),
    ("X-Api-Key=canary;q", "X-Api-Key=***;q"),
    ("x-goog-api-key: canary", "x-goog-api-key: ***"),
    ("api_key='canary'", "api_key='***'"),
    ("BEARER  canary", "BEARER  ***"),
    ("Authorization: Basic Y2FuYXJ5", "Authorization: ***"),
    ("{key} was refused", "*** was refused"),
    ("/api?token={token}&x=1", "/api?token=***&x=1"),
]


@pytest.mark.parametrize(("text", "expected"), SECRETS)
def test_secrets_are_redacted(text: str, expected: str) -> None:
    redacted = redact(text.format(token=TOKEN, key=KEY))
    assert redacted.replace("Bearer ", "").replace("Basic ", "") == expected.format()


@pytest.mark.parametrize(
    "text", ["the bearer of news", "tka_", "a task-force", "authorization is needed", ""]
)
def test_ordinary_words_are_not_redacted(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize("form", LogFormat)
def test_secrets_in_arguments_and_tracebacks_are_redacted(form: LogFormat) -> None:
    stream = io.StringIO()
    logs.set_up(form, stream)
    logger = logging.getLogger("some.library")
    logger.error("refused %s with %r", TOKEN, {"Authorization": f"Bearer {KEY}"})
    try:
        raise RuntimeError(f"Authorization: Bearer {TOKEN}")
    except RuntimeError:
        logger.exception("it broke for %s", KEY)
    output = written(stream)
    assert "RuntimeError" in output
    assert "***" in output
    assert not [secret for secret in (TOKEN, KEY, TOKEN[4:20], "canary") if secret in output]


def test_warnings_are_logged() -> None:
    stream = io.StringIO()
    logs.set_up(LogFormat.JSON, stream)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        warnings.warn(f"do not use {TOKEN}", UserWarning, stacklevel=1)
    logging.captureWarnings(False)
    [line] = map(json.loads, lines(stream))
    assert (line["logger"], line["level"]) == ("py.warnings", "warning")
    assert "do not use ***" in line["message"]


def test_libraries_log_only_warnings() -> None:
    stream = io.StringIO()
    logs.set_up(LogFormat.JSON, stream)
    logging.getLogger("aiohttp.client").info("chatter")
    logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
    logging.getLogger("uvicorn.error").error("broken")
    assert [json.loads(line)["message"] for line in lines(stream)] == ["broken"]


class BlockedPipe(io.StringIO):
    """A pipe that nobody reads until the gate opens."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()

    def write(self, text: str) -> int:
        self.gate.wait(PATIENCE_S)
        return super().write(text)


def test_log_output_that_nobody_reads_blocks_nobody() -> None:
    """Lines are dropped and counted; what was dropped is told when somebody reads again."""
    pipe = BlockedPipe()
    handler = QueuedHandler(pipe, max_lines=10)
    logger = logging.Logger("thinkaloud.test")
    logger.addHandler(handler)
    for number in range(1_000):
        logger.warning("line %d", number)
    pipe.gate.set()
    until_s = time.monotonic() + PATIENCE_S
    while "dropped" not in pipe.getvalue() and time.monotonic() < until_s:
        time.sleep(0.01)
    kept = pipe.getvalue().splitlines()
    assert kept[:10] == [f"line {number}" for number in range(10)]
    dropped = int(kept[-1].split()[0])
    assert kept[-1] == f"{dropped} log lines were dropped because the output was not read"
    assert dropped + len(kept) - 1 == 1_000


def test_closed_log_output_is_survived() -> None:
    stream = io.StringIO()
    handler = QueuedHandler(stream)
    stream.close()
    handler.emit(logging.makeLogRecord({"msg": "lost"}))
    handler.flush()
    handler.emit(logging.makeLogRecord({"msg": "lost too"}))
    handler.flush()
    assert handler.waiting_lines == 0


def test_log_file_is_private_and_a_full_disk_prints_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "gateway.log"
    with log_to_file(path):
        logging.getLogger("thinkaloud").warning("kept")
    assert path.stat().st_mode & 0o777 == 0o600
    assert '"message":"kept"' in path.read_text()
    with log_to_file(Path("/dev/full")):
        logging.getLogger("thinkaloud").warning("lost")
    assert capsys.readouterr().err == ""
