"""A simulated provider on a loopback port: receives a request, checks the rules, and answers from the script.

Every request is recorded as received, and every refusal with its rule.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from thinkaloud import loopback
from thinkaloud.loopback import ServerRequest, ServerResponse
from thinkaloud.simulators import faults
from thinkaloud.simulators.api import (
    ApiError,
    ApiRequest,
    Json,
    ServerState,
    SimulatedApi,
    SimulatedResponse,
    compact_json,
    first_violation,
)
from thinkaloud.simulators.script import Fault, Script, ScriptedAnswer
from thinkaloud.simulators.seals import SigningKey

MAX_BODY_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class ReceivedRequest:
    """A request as received. Its headers may hold a key, so they are not printed."""

    method: str
    path: str
    raw: bytes
    body: Any
    headers: Mapping[str, str] = field(repr=False)


class RefusedRequest(NamedTuple):
    """A refused request: the rule, the error, and the request."""

    rule: str
    error: ApiError
    request: int


class Simulator:
    """One simulated provider with its state and its record of requests.

    A server that runs for days sets `keeps` to False, so that only the last request is recorded.
    """

    def __init__(self, api: SimulatedApi, script: Script, secret: bytes, key: str | None) -> None:
        self.api = api
        self.script = script
        self.port = 0
        self.keeps_requests = True
        self.requests: list[ReceivedRequest] = []
        self.refusals: list[RefusedRequest] = []
        self._signing_key = SigningKey(secret)
        self._key = key
        self._state = ServerState(id_prefix=self._signing_key.id_prefix)

    @property
    def url(self) -> str:
        """The URL of the server."""
        return loopback.url_of(self.port)

    @property
    def base_url(self) -> str:
        """The base URL for the provider's own client library."""
        return self.url + self.api.base_path

    async def handle(self, request: ServerRequest) -> ServerResponse:
        """Answer any request, as the provider would."""
        if request.truncated:
            return self._refuse("size", ApiError(413, f"The body is larger than {MAX_BODY_BYTES} bytes."))
        try:
            body = json.loads(request.body) if request.body else None
        except ValueError:
            body = None
        if not self.keeps_requests:
            self.requests.clear()
            self.refusals.clear()
        received = ReceivedRequest(request.method, request.target, request.body, body, request.headers)
        self.requests.append(received)
        match = re.fullmatch(self.api.path_pattern, request.path)
        if request.method == "POST" and match:
            if not isinstance(body, dict):
                return self._refuse("json", ApiError(400, "The request body is not a JSON object."))
            return self._answer(self._api_request(request, body, match))
        return self._look_up(request, body if isinstance(body, dict) else {})

    def _api_request(self, request: ServerRequest, body: Json, match: re.Match[str]) -> ApiRequest:
        model = match.groupdict().get("model") or body.get("model")
        return ApiRequest(
            body=body,
            model=model if isinstance(model, str) else "",
            headers=request.headers,
            query=request.query,
            path=request.path,
            signing_key=self._signing_key,
            state=self._state,
            key=self._key,
        )

    def _look_up(self, request: ServerRequest, body: Json) -> ServerResponse:
        for lookup in self.api.lookups:
            match = re.fullmatch(lookup.path, request.path)
            if match and lookup.method == request.method:
                result = lookup.handle(self._api_request(request, body, match))
                if isinstance(result, ApiError):
                    return self._refuse("lookup", result)
                return _json_response(result)
        return self._refuse("path", ApiError(404, f"Not found: {request.method} {request.path}"))

    def _answer(self, api_request: ApiRequest) -> ServerResponse:
        api_request = self.api.complete(api_request)
        if violation := first_violation(self.api.rules, api_request):
            return self._refuse(violation[0].id, violation[1])
        answer = self.script.next_answer(self.api.read_prompt(api_request))
        if answer.fault is not None and (replacement := self._response_instead(answer.fault)):
            return replacement
        return self._respond(api_request, answer)

    def _response_instead(self, fault: Fault) -> ServerResponse | None:
        """Return the response to a request that fails before its first byte."""
        if fault.kind == "gzip_bomb":
            headers = {"content-encoding": "gzip", "content-type": "text/event-stream"}
            return ServerResponse(headers=headers, body=faults.gzip_bomb(fault.size))
        if fault.kind != "status":
            return faults.replacement_response(fault)
        message = "Rate limited" if fault.status == 429 else "Overloaded"
        return _json_response(
            self.api.error_body(ApiError(fault.status, message)), fault.status, faults.retry_after(fault)
        )

    def _respond(self, api_request: ApiRequest, answer: ScriptedAnswer) -> ServerResponse:
        simulated = self.api.respond(api_request, answer)
        fault = answer.fault
        if not simulated.stream and fault is not None and fault.kind == "overload":
            status = self.api.overload_status
            return _json_response(self.api.error_body(ApiError(status, "Overloaded")), status)
        content_type = simulated.content_type if simulated.stream else "application/json; charset=utf-8"
        headers = {"content-type": content_type, "cache-control": "no-cache", **simulated.headers}
        return ServerResponse(headers=headers, body=self._body(simulated, answer))

    async def _body(
        self, simulated: SimulatedResponse, answer: ScriptedAnswer
    ) -> AsyncGenerator[bytes, None]:
        """Yield the body piece by piece, also one that is not a stream: a fault may break it off."""
        events = simulated.events if simulated.stream else (compact_json(simulated.body).encode(),)
        interruption = self._interruption_for(simulated)
        async for data in faults.faulty_stream(events, answer.fault, interruption, self.api.keep_alive):
            yield data
            if answer.delay_ms and simulated.stream:
                await asyncio.sleep(answer.delay_ms / 1000)

    def _interruption_for(self, simulated: SimulatedResponse) -> Callable[[int], bytes]:
        interruption = simulated.interruption
        return self.api.interruption if interruption is None else lambda event_index: interruption

    def _refuse(self, rule: str, error: ApiError) -> ServerResponse:
        self.refusals.append(RefusedRequest(rule, error, len(self.requests) - 1))
        return _json_response(self.api.error_body(error), error.status)


def _json_response(body: Json, status: int = 200, headers: Mapping[str, str] | None = None) -> ServerResponse:
    all_headers = {"content-type": "application/json; charset=utf-8", **(headers or {})}
    return ServerResponse(status, all_headers, compact_json(body).encode())


def to_script(source: Script | str | bytes | list[Any] | None) -> Script:
    """Convert any accepted form of a script."""
    return source if isinstance(source, Script) else Script.parse(source)


@asynccontextmanager
async def listen(simulator: Simulator, port: int = 0) -> AsyncIterator[Simulator]:
    """Listen on the loopback address until the block ends; port 0 takes any free one."""
    async with loopback.listen(simulator.handle, port=port, max_body_bytes=MAX_BODY_BYTES) as simulator.port:
        yield simulator


async def serve(simulator: Simulator, port: int, announce: Callable[[str], None]) -> None:
    """Listen until cancelled."""
    simulator.keeps_requests = False
    async with listen(simulator, port):
        announce(simulator.url)
        await asyncio.Event().wait()


def load_script(path: str | Path | None) -> Script:
    """Load the script from a file, if one is given."""
    return Script() if path is None else Script.load(path)
