"""A simulated provider on a loopback port: it takes a request, asks the rules, and answers by the script.

Everything that came in is kept as it came, and everything that was refused with the rule that did it.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from aiohttp import web

from thinkaloud import loopback
from thinkaloud.simulators import faults
from thinkaloud.simulators.api import Api, Asked, Json, Memory, Refusal, Reply, compact, refused
from thinkaloud.simulators.script import Answer, Fault, Script
from thinkaloud.simulators.signing import Secret

LARGEST_BODY = 32 * 1024 * 1024


@dataclass(frozen=True)
class Received:
    """A request as it came; its headers may hold a key and are left out of what is printed."""

    method: str
    path: str
    raw: bytes
    body: Any
    headers: Mapping[str, str] = field(repr=False)


class Refused(NamedTuple):
    """A request that was refused: by which rule, in which words, and which request it was."""

    rule: str
    refusal: Refusal
    request: int


class Simulator:
    """One simulated provider, its memory and its record of what it was asked.

    One that serves for days sets `keeps` to False, and its record is of the last request only.
    """

    def __init__(self, api: Api, script: Script, secret: bytes, key: str | None) -> None:
        self.api = api
        self.script = script
        self.port = 0
        self.keeps = True
        self.requests: list[Received] = []
        self.refusals: list[Refused] = []
        self._secret = Secret(secret)
        self._key = key
        self._memory = Memory(mark=self._secret.mark)

    @property
    def url(self) -> str:
        """Where it listens."""
        return loopback.url_of(self.port)

    @property
    def base_url(self) -> str:
        """What the provider's own client library takes as its base URL."""
        return self.url + self.api.base

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer any request, the way this provider would."""
        raw = await request.read()
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = None
        headers = {name.lower(): value for name, value in request.headers.items()}
        if not self.keeps:
            self.requests.clear()
            self.refusals.clear()
        self.requests.append(Received(request.method, request.path_qs, raw, body, headers))
        found = re.fullmatch(self.api.path, request.path)
        if request.method == "POST" and found:
            if not isinstance(body, dict):
                return self._refuse("json", Refusal(400, "The request body is not a JSON object."))
            return await self._converse(request, self._asked(request, body, headers, found))
        return self._look(request, body if isinstance(body, dict) else {}, headers)

    def _asked(
        self, request: web.Request, body: Json, headers: dict[str, str], found: re.Match[str]
    ) -> Asked:
        model = found.groupdict().get("model") or body.get("model")
        return Asked(
            body=body,
            model=model if isinstance(model, str) else "",
            headers=headers,
            query=dict(request.query),
            path=request.path,
            secret=self._secret,
            memory=self._memory,
            key=self._key,
        )

    def _look(self, request: web.Request, body: Json, headers: dict[str, str]) -> web.Response:
        for lookup in self.api.lookups:
            found = re.fullmatch(lookup.path, request.path)
            if found and lookup.method == request.method:
                told = lookup.look(self._asked(request, body, headers, found))
                return self._refuse("lookup", told) if isinstance(told, Refusal) else _json(told)
        return self._refuse("path", Refusal(404, f"Not found: {request.method} {request.path}"))

    async def _converse(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        if broken := refused(self.api.rules, asked):
            return self._refuse(broken[0].id, broken[1])
        answer = self.script.next(self.api.hear(asked))
        if answer.fault is not None and (instead := self._before(answer.fault)):
            return instead
        return await self._send(request, asked, answer)

    def _before(self, fault: Fault) -> web.Response | None:
        """The response to a request that fails before its first byte."""
        if fault.kind == "gzip_bomb":
            headers = {"content-encoding": "gzip", "content-type": "text/event-stream"}
            return web.Response(body=faults.bomb(fault.size), headers=headers)
        if fault.kind != "status":
            return faults.instead(fault)
        words = "Rate limited" if fault.status == 429 else "Overloaded"
        return _json(self.api.error(Refusal(fault.status, words)), fault.status, faults.retry_after(fault))

    async def _send(self, request: web.Request, asked: Asked, answer: Answer) -> web.StreamResponse:
        reply = self.api.answer(asked, answer)
        fault = answer.fault
        if not reply.stream and fault is not None and fault.kind == "overload":
            status = self.api.overloaded
            return _json(self.api.error(Refusal(status, "Overloaded")), status)
        response = _opened(reply)
        events = reply.events if reply.stream else (compact(reply.whole).encode(),)
        try:
            await response.prepare(request)
            async for data in faults.damaged(events, fault, self._breaks(reply), self.api.keep_alive):
                await response.write(data)
                if answer.delay_ms and reply.stream:
                    await asyncio.sleep(answer.delay_ms / 1000)
            await response.write_eof()
        except faults.Cut:
            await faults.reset(request)
        except ConnectionError:
            pass  # the other side went away: there is nobody to tell
        return response

    def _breaks(self, reply: Reply) -> Callable[[int], bytes]:
        told = reply.interrupted
        return self.api.interrupted if told is None else lambda place: told

    def _refuse(self, rule: str, refusal: Refusal) -> web.Response:
        self.refusals.append(Refused(rule, refusal, len(self.requests) - 1))
        return _json(self.api.error(refusal), refusal.status)


def _opened(reply: Reply) -> web.StreamResponse:
    media = reply.media if reply.stream else "application/json; charset=utf-8"
    headers = {"content-type": media, "cache-control": "no-cache", **reply.headers}
    return web.StreamResponse(headers=headers)


def _json(body: Json, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(
        status=status, text=compact(body), content_type="application/json", headers=dict(headers or {})
    )


def as_script(told: Script | str | bytes | list[Any] | None) -> Script:
    """A script from what a caller may give for one."""
    return told if isinstance(told, Script) else Script.read(told)


@asynccontextmanager
async def listening(simulator: Simulator, port: int = 0) -> AsyncIterator[Simulator]:
    """Listen on the loopback address until the block ends; port 0 takes any free one."""
    async with loopback.listen(simulator.handle, port=port, largest_body=LARGEST_BODY) as simulator.port:
        yield simulator


async def serve(simulator: Simulator, port: int, announce: Callable[[str], None]) -> None:
    """Listen until cancelled."""
    simulator.keeps = False
    async with listening(simulator, port):
        announce(simulator.url)
        await asyncio.Event().wait()


def script_at(path: str | Path | None) -> Script:
    """The script in a file, or none."""
    return Script() if path is None else Script.load(path)
