"""Plain HTTP requests to a simulator, and cases that test a rule with an accepted and a refused one."""

import asyncio
import copy
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import aiohttp
from tests.patience import PATIENCE_S

from thinkaloud.simulators import Simulator, run_simulator

Json = dict[str, Any]
ResultT = TypeVar("ResultT")
KEY_HEADERS = {
    "x-api-key": "sim-key",
    "authorization": "Bearer sim-key",
    "x-goog-api-key": "sim-key",
    "anthropic-version": "2023-06-01",
}


class HttpReply(NamedTuple):
    """A server's response."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def post_json(
    server: Simulator, path: str, body: object, headers: Mapping[str, str] | None = None
) -> HttpReply:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=PATIENCE_S)) as session,
        session.post(
            server.url + path, data=sent, headers=KEY_HEADERS if headers is None else headers
        ) as response,
    ):
        return HttpReply(response.status, await response.read(), response.headers)


async def get_path(server: Simulator, path: str) -> HttpReply:
    async with (
        aiohttp.ClientSession() as session,
        session.get(server.url + path, headers=KEY_HEADERS) as response,
    ):
        return HttpReply(response.status, await response.read(), response.headers)


def request_once(name: str, path: str, body: object, **options: Any) -> HttpReply:
    """Send one request to a new server."""

    async def scenario(server: Simulator) -> HttpReply:
        return await post_json(server, path, body)

    return with_simulator(name, scenario, **options)


def with_simulator(name: str, scenario: Callable[[Simulator], Awaitable[ResultT]], **options: Any) -> ResultT:
    async def run_scenario() -> ResultT:
        async with run_simulator(name, **options) as server:
            return await scenario(server)

    return asyncio.run(run_scenario())


def with_fields(body: Json, **fields: Any) -> Json:
    """Return a copy with these fields; None removes a field."""
    copied = copy.deepcopy(body | fields)
    return {name: value for name, value in copied.items() if value is not None}


CLOSED_SCHEMA: Json = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
OPEN_SCHEMA: Json = CLOSED_SCHEMA | {"additionalProperties": True}
ANY_JSON = {"type": "json_object"}


def schema_format(schema: Json, *, strict: bool = True) -> Json:
    """Return the `response_format` of an answer that matches a schema."""
    return {"type": "json_schema", "json_schema": {"name": "city", "schema": schema, "strict": strict}}


BuildRequest = Callable[[Json, Json], Json]
"""Builds the next request from the previous one and its response."""


class RuleCase(NamedTuple):
    """A rule, a request that passes, and a request that is refused with this message."""

    rule: str
    accepted: BuildRequest
    refused: BuildRequest
    message: str
    status: int = 400
    opening: Json | None = None
    headers: Mapping[str, str] | None = None
    refused_headers: Mapping[str, str] | None = None
    path: str = ""
    refused_path: str = ""


def unchanged(body: Json, _: Json) -> Json:
    return body


def with_changes(**fields: Any) -> BuildRequest:
    """Return a builder that changes these fields of the request."""
    return lambda body, _: with_fields(body, **fields)


def check_case(name: str, path: str, opening: Json, case: RuleCase, message: Callable[[Json], str]) -> None:
    """Check both requests of a rule case, and the server's record of them."""

    async def scenario(server: Simulator) -> None:
        first_body = case.opening or opening
        request_path = case.path or path
        first = await post_json(server, request_path, first_body, case.headers)
        assert first.status == 200, first.body
        passed = await post_json(
            server, request_path, case.accepted(copy.deepcopy(first_body), first.json), case.headers
        )
        assert passed.status == 200, passed.body
        assert server.refusals == []
        headers = case.headers if case.refused_headers is None else case.refused_headers
        failed = await post_json(
            server,
            case.refused_path or request_path,
            case.refused(copy.deepcopy(first_body), first.json),
            headers,
        )
        assert failed.status == case.status, failed.body
        assert failed.headers["Content-Type"].startswith("application/json")
        assert case.message in message(failed.json)
        assert [(refused.rule, refused.request) for refused in server.refusals] == [(case.rule, 2)]
        assert len(server.requests) == 3

    with_simulator(name, scenario)
