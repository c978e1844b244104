"""Visits to the chat page: a gateway of its own, and a browser window in which nothing may go wrong.

A visit fails its test when a script breaks, the policy stops anything, or anything is asked of another host.
"""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from playwright.sync_api import Browser, BrowserContext, Page, Route
from tests import patient_gateway
from tests.fork_server import FORKING
from tests.patience import PATIENCE_S, patient_context

from thinkaloud.gateway.server.http.static_files import FOLDER
from thinkaloud.gateway.store.engine.file_lock import lock_holder, lock_path

WEB = Path(__file__).parents[2] / "web"
SLOW_PUZZLE = "reach 952 from 25 50 75 100 3 6"
"""Takes the solver some seconds to tell."""
STARTED_MS = 1_790_000_000_000
PUZZLE = "make 24 from 4 7 8 8"
QUICK_QUESTION = "how much is 17 * 3"
"""Is told in a few words, where what matters is something else."""
ANSWER = "8 × (7 + 4 − 8) = 24"

_CHECKER_MODULE = '''
def checker(task: str) -> str:
    """Check an answer."""
    return "Right."
'''
_AGENTS_TOML = """
[functions.checker]
from = "pad:checker"
approval = true

[agents.careful]
description = "Asks before it has anything checked."
model = "builtin/solver"
tools = ["checker"]
"""

_VIOLATION_SCRIPT = """
window.__violations = [];
document.addEventListener("securitypolicyviolation", ({violatedDirective, blockedURI, sample}) =>
  window.__violations.push(`${violatedDirective} ${blockedURI} ${sample}`));
window.__ran = 0;
"""


def require_built_page() -> None:
    """The page must be there before it can be visited."""
    assert (FOLDER / "index.html").is_file(), "the page is not built: make page"


class GatewayProcess:
    """`thinkaloud serve` on a port that stays the same over a restart."""

    def __init__(self, home: Path, *options: str) -> None:
        self.home = home
        self._options = options
        self.url = ""
        self.port = 0
        """Any free port at the first start, the same one afterwards."""
        self.log_path = home / "gateway.log"
        self.start()

    def start(self) -> None:
        env = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        env["THINKALOUD_HOME"] = str(self.home)
        command = ["thinkaloud", "serve", "--port", str(self.port), *self._options]
        receiver, sender = FORKING.Pipe(duplex=False)
        self._process = FORKING.Process(target=_run_command, args=(command, env, sender, self.log_path))
        self._process.start()
        sender.close()
        self._stdout = os.fdopen(os.dup(receiver.fileno()), encoding="utf-8")
        receiver.close()
        printed_url = self._stdout.readline().strip()
        if not printed_url:
            self._stdout.close()  # left open, it would fail another test as well
        assert printed_url, self.log_path.read_text()
        assert self.url in ("", printed_url), "it came back at another address"
        self.url = printed_url
        self.port = urlsplit(printed_url).port or 0

    @property
    def token(self) -> str:
        """The token of the local user until the gateway stops."""
        holder = lock_holder(lock_path(self.home / "thinkaloud.db"))
        assert holder is not None
        return holder.token

    def stop(self, how: int = signal.SIGINT) -> None:
        """Stop it, whatever it is at; the second signal says that nothing need be waited for."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            if self._process.pid is not None and self._process.is_alive():
                os.kill(self._process.pid, how)
            self._process.join(0.4)
            if self._process.exitcode is not None:
                self._stdout.close()
                return
        raise AssertionError(f"the gateway does not stop: {self.log_path.read_text()}")

    def call(self, path: str, body: object = None, method: str = "") -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} if data else {}
        with urlopen(
            Request(self.url + path, data, headers, method=method or ("POST" if data else "GET")),
            timeout=PATIENCE_S,
        ) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def command(self, *arguments: str) -> str:
        """What a command of `thinkaloud` prints, beside the gateway that runs."""
        env = {**os.environ, "THINKALOUD_HOME": str(self.home)}
        completed = subprocess.run(
            [sys.executable, "-m", "thinkaloud", *arguments],
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
        return completed.stdout.strip()

    def import_exchanges(self, title: str = "", *exchanges: tuple[str, str, str]) -> str:
        """A session of prompts, thoughts and answers, without asking anybody."""
        return self._import_session(title, [_exchange_of_texts(*exchange) for exchange in exchanges])

    def import_events(self, title: str, events: list[dict[str, Any]], **origin: str) -> str:
        """A session of one turn that went like this, a tenth of a second between two events."""
        started = {"type": "turn.started", "model": origin.get("model", "trial")}
        return self._import_session(
            title, [_exchange_of_events(title, list(_timed_events([started, *events])), **origin)]
        )

    def _import_session(self, title: str, exchanges: list[dict[str, Any]]) -> str:
        file = {"thinkaloud": 1, "title": title, "created_ms": STARTED_MS, "exchanges": exchanges}
        return str(self.call("/api/import", file)["id"])

    def multiply_turn(self, session: str, times: int) -> None:
        """Make the only turn of a session into so many, behind the back of a gateway that is stopped."""
        database = sqlite3.connect(self.home / "thinkaloud.db")
        (turn,) = database.execute(
            "SELECT t.key FROM turns t JOIN sessions s ON s.key = t.session WHERE s.id = ?", (session,)
        ).fetchone()
        numbers = f"SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {times - 1}"
        counted = f"(WITH RECURSIVE n(i) AS ({numbers}) SELECT i FROM n)"
        columns = {
            table: [name for _, name, *_ in database.execute(f"PRAGMA table_info({table})")]
            for table in ("turns", "messages", "parts")
        }
        (most,) = database.execute("SELECT max(key) FROM messages").fetchone()
        (last,) = database.execute("SELECT max(key) FROM turns").fetchone()

        def copy_rows(table: str, condition: str, **changed: str) -> None:
            values = ", ".join(changed.get(name, f'x."{name}"') for name in columns[table])
            names = ", ".join(f'"{name}"' for name in columns[table])
            database.execute(
                f"INSERT INTO {table} ({names}) SELECT {values} FROM {table} x, {counted} n WHERE {condition}"
            )

        copy_rows(
            "turns",
            f"x.key = {turn}",
            key=f"{last} + n.i",
            id="'trn_' || printf('%022d', n.i)",
            position="x.position + n.i",
            parent=f"CASE n.i WHEN 1 THEN {turn} ELSE {last} + n.i - 1 END",
            idempotency_key="NULL",
        )
        copy_rows(
            "messages",
            f"x.turn = {turn}",
            key=f"{most} * n.i + x.key",
            turn=f"{last} + n.i",
            content="x.content || ' #' || n.i",
        )
        copy_rows(
            "parts",
            f"x.message IN (SELECT key FROM messages WHERE turn = {turn})",
            message=f"{most} * n.i + x.message",
        )
        database.commit()
        database.close()


def _run_command(command: list[str], env: dict[str, str], stdout: Connection, log_path: Path) -> None:
    """Run a command of `thinkaloud` in a process that was just forked."""
    os.environ.clear()
    os.environ.update(env)
    log = os.open(log_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(stdout.fileno(), 1)
    os.dup2(log, 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w", buffering=1), os.fdopen(2, "w", buffering=1)
    sys.argv = command
    sys.exit(patient_gateway.main())


def with_approval_agent(home: Path) -> Path:
    """A folder for a gateway that has an agent, Careful, whose tool waits for approval."""
    (home / "pad.py").write_text(_CHECKER_MODULE, "utf-8")
    (home / "agents.toml").write_text(_AGENTS_TOML, "utf-8")
    return home


@contextmanager
def gateway_at(home: Path, *options: str) -> Iterator[GatewayProcess]:
    """A gateway with this folder, until the block ends."""
    require_built_page()
    gateway = GatewayProcess(home, *options)
    try:
        yield gateway
    finally:
        gateway.stop()


class PageVisit:
    """One window on the page."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.context = context
        self.url = url
        self.foreign_requests: list[str] = []
        self.errors: list[str] = []
        self.pages: list[Page] = []
        context.add_init_script(_VIOLATION_SCRIPT)
        context.on("request", lambda request: self._record_request(request.url))

    def _record_request(self, url: str) -> None:
        if not url.startswith((self.url, "blob:", "data:", "about:")):
            self.foreign_requests.append(url)

    def open(self, hash_: str = "") -> Page:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self._record_console(message.type, message.text))
        page.goto(f"{self.url}/{hash_ and '#'}{hash_}")
        page.wait_for_selector(".composer")
        self.pages.append(page)
        return page

    def _record_console(self, kind: str, text: str) -> None:
        # A request that the gateway refuses, or that finds nobody, is told by the browser itself.
        if kind == "error" and not text.startswith("Failed to load resource"):
            self.errors.append(text)

    def check_errors(self) -> None:
        for page in self.pages:
            if not page.is_closed():
                assert page.evaluate("() => window.__violations") == []
                assert page.evaluate("() => window.__ran") == 0
        assert self.foreign_requests == []
        assert self.errors == [], self.errors


@contextmanager
def open_visit(browser: Browser, url: str, **options: Any) -> Iterator[PageVisit]:
    """A visit by somebody who was never here."""
    context_options: dict[str, Any] = {
        "viewport": {"width": 1280, "height": 860},
        "locale": "en-US",
        **options,
    }
    with patient_context(browser, **context_options) as context:
        visit = PageVisit(context, url)
        yield visit
        visit.check_errors()


def ask(page: Page, text: str) -> None:
    """Write a message and send it."""
    page.fill("#message", text)
    page.keyboard.press("Enter")


def change_language(page: Page, language: str) -> None:
    """Choose another language in the settings of the English page."""
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_label("Language").select_option(language)
    page.wait_for_function("language => document.documentElement.lang === language", arg=language)
    page.keyboard.press("Escape")


def wait_for_answers(page: Page, count: int = 1) -> None:
    """Wait until so many answers are there."""
    page.wait_for_function(
        """count => {
          const all = [...document.querySelectorAll(".exchange")];
          const done = one => !one.ariaBusy && one.querySelector(".reply-foot:not([hidden])");
          return all.length >= count && all.every(done);
        }""",
        arg=count,
    )


def thinking_text(page: Page, nth: int = 0) -> str:
    """All the text of a thinking block."""
    return str(page.evaluate("nth => document.querySelectorAll('thinking-block')[nth].text", nth))


def refuse(route: Route) -> None:
    route.abort()


def normalized_space(text: str) -> str:
    """The text with runs of space as one."""
    return re.sub(r"\s+", " ", text).strip()


def block_events(
    number: int, kind: str, text: str, *, parent: int | None = None, name: str = "", result: str | None = None
) -> list[dict[str, Any]]:
    """The events of one block from its beginning to its end, and what a call came back with."""
    block_fields = {"kind": kind, "name": name, "parent": parent}
    events: list[dict[str, Any]] = [
        {"type": "block.started", "block": number, **block_fields},
        {"type": "block.grew", "block": number, "text": text},
        {"type": "block.ended", "block": number},
    ]
    return (
        events if result is None else [*events, {"type": "tool.finished", "block": number, "result": result}]
    )


def _timed_events(events: list[dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each event with the milliseconds since the first."""
    return ((index * 100, event) for index, event in enumerate(events))


def _exchange_of_texts(prompt: str, thinking: str, answer: str) -> dict[str, Any]:
    events: list[tuple[int, dict[str, Any]]] = [
        (0, {"type": "turn.started", "dialect": "openai_chat", "model": "trial"})
    ]
    number = 0
    for kind, text in (("reasoning", thinking), ("text", answer)):
        if text:
            pieces = [text[cut : cut + 40] for cut in range(0, len(text), 40)]
            events.append((events[-1][0] + 100, {"type": "block.started", "block": number, "kind": kind}))
            events += [
                (events[-1][0] + 100 * index, {"type": "block.grew", "block": number, "text": piece})
                for index, piece in enumerate(pieces)
            ]
            events.append((events[-1][0] + 100, {"type": "block.ended", "block": number}))
            number += 1
    events.append(
        (events[-1][0], {"type": "usage.reported", "usage": {"input": 1200, "output": 345, "reasoning": 210}})
    )
    events.append((events[-1][0], {"type": "turn.ended", "finish": "stop"}))
    return _exchange_of_events(prompt, events)


def _exchange_of_events(
    prompt: str, events: list[tuple[int, dict[str, Any]]], *, model: str = "trial", provider: str = "builtin"
) -> dict[str, Any]:
    entries = [
        {"seq": seq, "at_ms": STARTED_MS + offset_ms, "event": event}
        for seq, (offset_ms, event) in enumerate(events)
    ]
    return {
        "asked": [{"role": "user", "text": prompt}],
        "entries": entries,
        "model": model,
        "provider": provider,
        "created_ms": STARTED_MS,
    }
