"""Time to open a long session: the chat page, as the gateway serves it, with 10,000 messages.

Measured by the page's own clock, from the click until the newest exchanges are drawn, and from an empty tab,
with the page itself to be loaded. Half of the messages are answers with thinking.
"""

import json
import sqlite3
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING
from urllib.request import Request, urlopen

from benchmarks.report import Goal, Section, WrongAnswer, table
from benchmarks.serve import running_process
from benchmarks.web_browser import LIMIT_MS, ROOT, missing_requirement, running_browser

if TYPE_CHECKING:
    from playwright.sync_api import Page

TITLE = "Opening a long session"
MAX_MS = 1_000
STATIC = ROOT / "src" / "thinkaloud" / "gateway" / "server" / "static" / "index.html"
SERVE_COMMAND = ("-m", "thinkaloud", "serve", "--port", "0", "--log-format", "json")
AT_MS = 1_790_000_000_000
EXCHANGES_ON_SCREEN = 20

OPEN_SCRIPT = """async ({session, least, last}) => {
  const began = performance.now();
  const there = () => {
    const shown = [...document.querySelectorAll(".exchange")];
    const newest = [...document.querySelectorAll(".bubble")].at(-1);
    return shown.length >= least && newest.innerText.endsWith(last) &&
      shown.every((one) => !one.ariaBusy && one.querySelector(".reply-foot:not([hidden])"));
  };
  if (session) location.hash = session;
  while (!there()) await new Promise(requestAnimationFrame);
  return session ? performance.now() - began : performance.now();
}"""


def _exchange() -> dict[str, object]:
    events: list[dict[str, object]] = [{"type": "turn.started", "dialect": "openai_chat", "model": "bench"}]
    texts = {"reasoning": "A thought about what comes next. " * 20, "text": "An answer about it. " * 20}
    for block, (kind, text) in enumerate(texts.items()):
        events.append({"type": "block.started", "block": block, "kind": kind})
        events.append({"type": "block.grew", "block": block, "text": text})
        events.append({"type": "block.ended", "block": block})
    events.append({"type": "turn.ended", "finish": "stop"})
    entries = [{"seq": seq, "at_ms": AT_MS + 500 * seq, "event": event} for seq, event in enumerate(events)]
    messages = [{"role": "user", "text": "What comes next?"}]
    return {
        "asked": messages,
        "entries": entries,
        "model": "bench",
        "provider": "builtin",
        "created_ms": AT_MS,
    }


def _import_session(url: str) -> str:
    """Create a session with one exchange; returns its id."""
    record = {"thinkaloud": 1, "title": "Long", "created_ms": AT_MS, "exchanges": [_exchange()]}
    request = Request(f"{url}/api/import", json.dumps(record).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=LIMIT_MS / 1000) as response:
        return str(json.loads(response.read())["id"])


def _multiply_turns(home: Path, times: int) -> None:
    """Copy the stored turn many times, each with its number, while the gateway is stopped."""
    with sqlite3.connect(home / "thinkaloud.db") as database:
        for table_, changed_columns in {
            "turns": {"key": "x.key + n", "id": "x.id || n", "position": "x.position + n"},
            "messages": {"key": "x.key + 9 * n", "turn": "x.turn + n", "content": "x.content || ' #' || n"},
            "parts": {"message": "x.message + 9 * n"},
        }.items():
            names = [name for _, name, *_ in database.execute(f"PRAGMA table_info({table_})")]
            chosen = ", ".join(changed_columns.get(name, f'x."{name}"') for name in names)
            count = f"WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {times - 1})"
            columns = ", ".join(f'"{name}"' for name in names)
            database.execute(f"{count} INSERT INTO {table_} ({columns}) SELECT {chosen} FROM {table_} x, c")
        (message_count,) = database.execute("SELECT count(*) FROM messages").fetchone()
    database.close()
    if message_count != 2 * times:
        raise WrongAnswer(f"{message_count} messages were kept instead of {2 * times}")


def _time_opening(
    page: "Page", url: str, arguments: dict[str, object], rounds: int
) -> tuple[list[float], list[float]]:
    """Milliseconds from the click and from an empty tab, per round."""
    clicked, loaded = [], []
    for _ in range(rounds + 1):
        page.goto("about:blank")
        page.goto(f"{url}/")
        page.wait_for_selector(".composer")
        page.wait_for_timeout(300)
        clicked.append(float(page.evaluate(OPEN_SCRIPT, arguments)))
        page.goto("about:blank")
        page.goto(f"{url}/#{arguments['session']}", wait_until="commit")
        loaded.append(float(page.evaluate(OPEN_SCRIPT, arguments | {"session": ""})))
    # The first time, the browser has compiled no script and the gateway has cached nothing.
    return clicked[1:], loaded[1:]


def measure(turns: int, rounds: int) -> Section:
    """Measure and return the section for the report."""
    reason = missing_requirement() or ("" if STATIC.is_file() else "`npm run page` was not run in web/")
    if reason:
        return Section(TITLE, f"Not measured: {reason}.")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        env = {"THINKALOUD_HOME": folder}
        with running_process(*SERVE_COMMAND, env=env) as (_, url):
            session = _import_session(url)
        _multiply_turns(home, turns)
        with running_process(*SERVE_COMMAND, env=env) as (_, url), running_browser() as chromium:
            page = chromium.new_page(viewport={"width": 1280, "height": 860})
            page.set_default_timeout(LIMIT_MS)
            arguments = {
                "session": session,
                "least": min(EXCHANGES_ON_SCREEN, turns),
                "last": f"#{turns - 1}",
            }
            clicked, loaded = _time_opening(page, url, arguments, rounds)
            nodes = page.evaluate("() => document.querySelectorAll('*').length")
    return _section(turns, clicked, loaded, nodes)


def _section(turns: int, clicked: list[float], loaded: list[float], nodes: int) -> Section:
    title = f"a session of {2 * turns:,} messages"
    rows = [
        (name, f"{median(durations_ms):,.0f}", f"{min(durations_ms):,.0f}", f"{max(durations_ms):,.0f}")
        for name, durations_ms in (("from the click", clicked), ("from nothing, the page too", loaded))
    ]
    note = f"{nodes:,} elements are on the page then: only the newest exchanges are drawn."
    middle = median(clicked)
    goal = Goal(f"{title} opens within {MAX_MS / 1000:g} s", f"{middle / 1000:.2f} s", middle <= MAX_MS)
    return Section(TITLE, f"{table((title, 'ms', 'least', 'most'), rows)}\n\n{note}", (goal,))


if __name__ == "__main__":
    from benchmarks.report import report_text

    print(report_text([measure(turns=5_000, rounds=5)]))
