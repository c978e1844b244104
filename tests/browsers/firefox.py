"""A page in the distribution's Firefox, driven over WebDriver BiDi: https://w3c.github.io/webdriver-bidi/.

Playwright drives only a Firefox of its own, which no distribution has. Firefox itself listens for BiDi, so
that no driver program is needed.
"""

import json
import re
import subprocess
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from shutil import which
from types import TracebackType
from typing import Any, Self

from tests.patience import PATIENCE_S
from websockets.sync.client import connect

FIREFOX = which("firefox-esr") or which("firefox") or ""
_LISTENING = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
_PREFERENCES = (
    'user_pref("remote.active-protocols", 1);\n'
    'user_pref("focusmanager.testmode", true);\n'
    'user_pref("browser.shell.checkDefaultBrowser", false);\n'
    'user_pref("datareporting.policy.dataSubmissionEnabled", false);\n'
    'user_pref("toolkit.telemetry.reportingpolicy.firstRun", false);\n'
    'user_pref("network.captive-portal-service.enabled", false);\n'
    'user_pref("app.update.enabled", false);\n'
)


class Firefox:
    """One browser with one page; use it as a context manager."""

    def __init__(self, profile: Path) -> None:
        (profile / "user.js").write_text(_PREFERENCES, "utf-8")
        self._process = subprocess.Popen(
            [FIREFOX, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._ids = count(1)
        self._closing = ExitStack()
        self._closing.callback(self._stop)

    def __enter__(self) -> Self:
        try:
            self._connect()
        except BaseException:
            self._closing.close()
            raise
        return self

    def _connect(self) -> None:
        assert self._process.stderr is not None
        lines: list[str] = []
        for line in self._process.stderr:
            lines.append(line)
            if address := _LISTENING.search(line):
                break
        else:
            raise RuntimeError(f"Firefox ended before it listened: {''.join(lines)[-1000:]}")
        connecting = connect(
            f"{address[1]}/session", open_timeout=PATIENCE_S, max_size=None, compression=None
        )
        self._socket = self._closing.enter_context(connecting)
        capabilities = self._send("session.new", capabilities={})["capabilities"]
        self.version = str(capabilities["browserVersion"])
        contexts = self._send("browsingContext.getTree")["contexts"]
        self._context = contexts[0]["context"]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.close()

    def _stop(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE_S)
        if self._process.stderr is not None:
            self._process.stderr.close()

    def go_to(self, url: str) -> None:
        """Open an address and wait until it is loaded."""
        self._send("browsingContext.navigate", context=self._context, url=url, wait="complete")
        self._send("browsingContext.activate", context=self._context)  # keys act only on an active page

    def resize(self, width: int, height: int) -> None:
        viewport = {"width": width, "height": height}
        self._send("browsingContext.setViewport", context=self._context, viewport=viewport)

    def evaluate(self, function: str, *arguments: Any) -> Any:
        """Call a function of the page with JSON arguments, await it, and return its result as JSON."""
        passed = ", ".join(map(json.dumps, arguments))
        expression = f"Promise.resolve(({function})({passed})).then(value => JSON.stringify(value ?? null))"
        response = self._send(
            "script.evaluate",
            expression=expression,
            target={"context": self._context},
            awaitPromise=True,
            userActivation=True,
        )
        if response["type"] != "success":
            raise RuntimeError(response["exceptionDetails"]["text"])
        return json.loads(response["result"]["value"])

    def click(self, element: str) -> None:
        """Click in the middle of an element, which an expression of the page returns."""
        x, y = self.evaluate(
            f"""() => {{
              const box = ({element}).getBoundingClientRect();
              return [Math.round(box.x + box.width / 2), Math.round(box.y + box.height / 2)];
            }}"""
        )
        self._act("pointer", [{"type": "pointerMove", "x": x, "y": y}, *_press("pointer", button=0)])

    def drag(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        """Press at one point and release at another, as a reader selects text."""
        moves = [
            {"type": "pointerMove", "x": start[0], "y": start[1]},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerMove", "x": end[0], "y": end[1], "duration": 100},
            {"type": "pointerUp", "button": 0},
        ]
        self._act("pointer", moves)

    def scroll_wheel(self, x: int, y: int, pixels: int) -> None:
        self._act("wheel", [{"type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": pixels}])

    def screenshot(self) -> str:
        """Return a picture of the page as base64."""
        return str(self._send("browsingContext.captureScreenshot", context=self._context)["data"])

    def _act(self, kind: str, actions: list[dict[str, Any]]) -> None:
        sources = [{"type": kind, "id": kind, "actions": actions}]
        self._send("input.performActions", context=self._context, actions=sources)

    def _send(self, method: str, **params: Any) -> Any:
        message_id = next(self._ids)
        self._socket.send(json.dumps({"id": message_id, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv(PATIENCE_S))
            if message.get("id") == message_id:
                if message["type"] == "error":
                    raise RuntimeError(f"{method}: {message['error']}: {message['message']}")
                return message["result"]


def _press(kind: str, **what: Any) -> list[dict[str, Any]]:
    return [{"type": f"{kind}Down", **what}, {"type": f"{kind}Up", **what}]
