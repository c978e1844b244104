"""Talk to a simulator over plain HTTP, and cases that show one rule from both sides."""

import asyncio
import copy
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import aiohttp
from tests.patience import PATIENCE_S

from thinkaloud.simulators import Simulator, running

Json = dict[str, Any]
T = TypeVar("T")
KEY = {
    "x-api-key": "sim-key",
    "authorization": "Bearer sim-key",
    "x-goog-api-key": "sim-key",
    "anthropic-version": "2023-06-01",
}


class Told(NamedTuple):
    """What a server said."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def post(server: Simulator, path: str, body: object, headers: Mapping[str, str] | None = None) -> Told:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=PATIENCE_S)) as session,
        session.post(server.url + path, data=sent, headers=KEY if headers is None else headers) as response,
    ):
        return Told(response.status, await response.read(), response.headers)


async def get(server: Simulator, path: str) -> Told:
    async with aiohttp.ClientSession() as session, session.get(server.url + path, headers=KEY) as response:
        return Told(response.status, await response.read(), response.headers)


def told(name: str, path: str, body: object, **options: Any) -> Told:
    """One request to a server of its own."""

    async def talk(server: Simulator) -> Told:
        return await post(server, path, body)

    return with_server(name, talk, **options)


def with_server(name: str, talk: Callable[[Simulator], Awaitable[T]], **options: Any) -> T:
    async def held() -> T:
        async with running(name, **options) as server:
            return await talk(server)

    return asyncio.run(held())


def changed(body: Json, **fields: Any) -> Json:
    """A copy with these fields; None takes one away."""
    copied = copy.deepcopy(body | fields)
    return {name: value for name, value in copied.items() if value is not None}


Next = Callable[[Json, Json], Json]
"""The next request, from the one before and its answer."""


class Case(NamedTuple):
    """One rule from both sides: one request that passes, and one that is refused with these words."""

    rule: str
    good: Next
    bad: Next
    words: str
    status: int = 400
    opening: Json | None = None
    headers: Mapping[str, str] | None = None
    bad_headers: Mapping[str, str] | None = None
    path: str = ""
    bad_path: str = ""


def same(body: Json, _: Json) -> Json:
    return body


def instead(**fields: Any) -> Next:
    """The request before, with these fields."""
    return lambda body, _: changed(body, **fields)


def check(name: str, path: str, opening: Json, case: Case, message: Callable[[Json], str]) -> None:
    """Both sides of a rule against a running server, and the record that the server keeps of them."""

    async def talk(server: Simulator) -> None:
        asked = case.opening or opening
        at = case.path or path
        first = await post(server, at, asked, case.headers)
        assert first.status == 200, first.body
        passed = await post(server, at, case.good(copy.deepcopy(asked), first.json), case.headers)
        assert passed.status == 200, passed.body
        assert server.refusals == []
        headers = case.headers if case.bad_headers is None else case.bad_headers
        failed = await post(server, case.bad_path or at, case.bad(copy.deepcopy(asked), first.json), headers)
        assert failed.status == case.status, failed.body
        assert failed.headers["Content-Type"].startswith("application/json")
        assert case.words in message(failed.json)
        assert [(refused.rule, refused.request) for refused in server.refusals] == [(case.rule, 2)]
        assert len(server.requests) == 3

    with_server(name, talk)
