"""The HTTP client for all providers, over kept-alive HTTP/1.1 connections.

All requests to providers go through it.

A key is sent only to the origin of its provider's row: redirects are not followed, cookies are not kept, and
no address is taken from a request. Before the first byte of a body, a fault is an exception and may be
retried; after it, nothing is retried.
"""

import asyncio
import contextlib
import itertools
import os
import random
import ssl
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from types import TracebackType
from typing import Protocol, Self

from yarl import URL

import thinkaloud
from thinkaloud.client import keys
from thinkaloud.client.address import (
    fill_address,
    may_send_key,
    proxy_for,
    redirect_origin,
    request_url,
)
from thinkaloud.client.auth_headers import auth_headers, aws_headers, signs_requests
from thinkaloud.client.connection import ConnectionPool, HttpConnection, HttpResponse, Origin
from thinkaloud.client.errors import (
    ConnectionLost,
    ErrorResponse,
    ProviderRefused,
    Stalled,
    Unreachable,
    no_answer_error,
    read_error_body,
    refusal_error,
    unreachable_error,
)
from thinkaloud.client.response import (
    SIZE_LIMITS,
    ResponseStream,
    SizeLimits,
    can_inflate,
)
from thinkaloud.client.retry import (
    RETRY_POLICY,
    TIMEOUTS,
    RetryPolicy,
    Timeouts,
    retry_after_ms,
    should_retry,
)
from thinkaloud.core.canon import ProviderFault, Refused
from thinkaloud.core.canon.errors import UnsafeAddress
from thinkaloud.core.catalog.rows import AuthScheme, Provider

_MAX_CONNECTIONS = 2000
"""More requests wait for a connection."""
_ERROR_BODY_TIMEOUT_S = 5.0
_REQUEST_ID_HEADERS = ("request-id", "x-request-id", "x-goog-request-id", "x-amzn-requestid", "cf-ray")
_HTML_TYPES = ("text/html", "application/xhtml+xml")


class HttpRequest(Protocol):
    """The request a dialect builds: a path below the base URL, headers without the key, and a body."""

    @property
    def path(self) -> str:
        """The path, with leading slash and query."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, without the key."""

    @property
    def body(self) -> bytes:
        """The encoded body."""


@dataclass(frozen=True)
class GetRequest:
    """A GET request, such as for a provider's list of models."""

    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True)
class ClientEnvironment:
    """What the client uses of the machine it runs on. Tests pass their own."""

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    read_file: Callable[[str], str] = keys.read_key_file
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[], float] = random.random
    now_s: Callable[[], float] = time.time


@dataclass(frozen=True)
class _PreparedCall:
    """One request with its URL, key and proxy."""

    provider: Provider
    http_request: HttpRequest
    url: URL
    key: keys.Secret | None
    proxy: URL | None = field(repr=False)
    environment: ClientEnvironment = field(repr=False)

    @property
    def method(self) -> str:
        return "POST" if self.http_request.body else "GET"

    @property
    def origin(self) -> Origin:
        return Origin(self.url.raw_host or "", self.url.port or 0, self.url.scheme == "https", self.proxy)

    def check_headers(self) -> None:
        """Refuse a header that would break the request."""
        if not all(map(str.isprintable, self.headers().values())):
            raise Refused(
                "A header for {name} has a line break or another control character, so nothing was "
                "sent. Check the key for characters that do not belong to it.",
                name=self.provider.name,
            )

    def send(self, connection: HttpConnection) -> HttpResponse:
        """Send the request over this connection."""
        return connection.send(self.method, self.url, self.headers(), self.http_request.body)

    def headers(self) -> dict[str, str]:
        headers = {"Accept-Encoding": "identity", "User-Agent": f"thinkaloud/{thinkaloud.__version__}"}
        headers |= {name.title(): value for name, value in self.http_request.headers.items()}
        if self.key is None:
            return headers
        if not signs_requests(self.provider.auth, self.key, self.environment.environ):
            return headers | auth_headers(self.provider.auth, self.key)
        content_type, body = headers.get("Content-Type", ""), self.http_request.body
        environment = self.environment
        return headers | aws_headers(self.url, content_type, body, environment.environ, environment.now_s())

    def hide_key(self, text: str) -> str:
        """Return the text without the key, in case the provider quoted it."""
        return text if self.key is None else self.key.mask_in(text)


class Client:
    """Sends requests to providers, any number at once. Open it with `async with`."""

    def __init__(
        self,
        *,
        timeouts: Timeouts = TIMEOUTS,
        retries: RetryPolicy = RETRY_POLICY,
        limits: SizeLimits = SIZE_LIMITS,
        environment: ClientEnvironment | None = None,
    ) -> None:
        self.timeouts = timeouts
        self.retries = retries
        self.limits = limits
        self._environment = environment or ClientEnvironment()
        self._keys: dict[str, keys.Secret | None] = {}
        self._pool: ConnectionPool | None = None

    @property
    def opened(self) -> bool:
        """Whether the client is open."""
        return self._pool is not None

    async def __aenter__(self) -> Self:
        if self._pool is not None:
            raise Refused("This client is already open. Share it, or create another one.")
        self._pool = ConnectionPool(
            self.timeouts.connect_s, self.limits, lambda: self._tls, most=_MAX_CONNECTIONS
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    async def send(self, provider: Provider, http_request: HttpRequest) -> ResponseStream:
        """Send a request and wait for the first byte of its response, with retries.

        Raises `Unreachable`, `ProviderRefused` or `RateLimited`. The caller closes the response.
        """
        call = await self._prepare(provider, http_request)
        call.check_headers()
        for attempt in itertools.count():
            outcome = await self._attempt(call)
            if isinstance(outcome, ResponseStream):
                return outcome
            retryable = isinstance(outcome, Unreachable | ProviderRefused) and outcome.retryable
            after_ms = outcome.after_ms if isinstance(outcome, ProviderRefused) else None
            wait_s = self.retries.wait_s(attempt, after_ms, self._environment.jitter()) if retryable else None
            if wait_s is None:
                raise outcome
            await self._environment.sleep(wait_s)
        raise AssertionError("unreachable")

    async def stream(self, provider: Provider, http_request: HttpRequest) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of the response as they arrive."""
        response = await self.send(provider, http_request)
        try:
            async for chunk in response:
                yield chunk
        finally:
            response.close()

    async def read_all(self, provider: Provider, http_request: HttpRequest) -> bytes:
        """Return all bytes of the response."""
        return b"".join([chunk async for chunk in self.stream(provider, http_request)])

    async def fetch(self, provider: Provider, path: str) -> bytes:
        """Return the response to a GET request for a path below the provider's base URL."""
        return await self.read_all(provider, GetRequest(path))

    async def _prepare(self, provider: Provider, http_request: HttpRequest) -> _PreparedCall:
        base_url = fill_address(provider.name, provider.base_url, self._environment.environ)
        url = request_url(provider.name, base_url, http_request.path)
        key = await self._key(provider)
        if key is not None and not may_send_key(url, local=provider.local):
            raise UnsafeAddress(
                "The key of {name} would be sent unencrypted to {origin}. Nothing was sent. Use "
                "https in base_url, or set local = true in the row if the server is your own.",
                name=provider.name,
                origin=url.origin(),
            )
        proxy = proxy_for(url, self._environment.environ)
        return _PreparedCall(provider, http_request, url, key, proxy, self._environment)

    async def _key(self, provider: Provider) -> keys.Secret | None:
        reference = provider.key if provider.auth is not AuthScheme.NONE else ""
        variable = reference.partition(" ")[0].removeprefix("env:")
        if not reference or self._environment.environ.get(variable):
            return self._resolve_key(reference)
        if reference not in self._keys:
            self._keys[reference] = await asyncio.to_thread(self._resolve_key, reference)
        return self._keys[reference]

    def _resolve_key(self, reference: str) -> keys.Secret | None:
        # Do not bind the environment to a local name: it holds keys, and a traceback may print local
        # variables.
        return keys.resolve_key(
            reference, environ=self._environment.environ, read_file=self._environment.read_file
        )

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """The system's certificates, or those set by SSL_CERT_FILE and SSL_CERT_DIR."""
        context = ssl.create_default_context()
        path = self._environment.environ.get("SSL_CERT_FILE", "")
        if path and path != os.environ.get("SSL_CERT_FILE"):
            context.load_verify_locations(cafile=path)
        return context

    async def _attempt(self, call: _PreparedCall) -> ResponseStream | ProviderFault:
        """Return a response whose first byte has arrived, or the fault.

        A fault on a reused connection is tried again at once: the server may have closed the idle connection,
        which says nothing about the server's health.
        """
        outcome, reused = await self._try(call)
        if reused and isinstance(outcome, Unreachable) and outcome.retryable:
            outcome, _ = await self._try(call)
        return outcome

    async def _try(self, call: _PreparedCall) -> tuple[ResponseStream | ProviderFault, bool]:
        """Return the outcome, and whether the connection had been used before."""
        if self._pool is None:
            raise Refused("This client is not open, so it cannot send. Use it inside `async with client:`.")
        sent_s = asyncio.get_running_loop().time()
        reused = False
        try:
            async with asyncio.timeout(self.timeouts.first_byte_s):
                connection = await self._pool.acquire(call.origin)
                reused = connection.used_before
                response = await _send_and_wait(call, connection)
            return await self._check_response(call, response, sent_s), reused
        except OSError as error:
            fault = unreachable_error(call.provider.name, str(call.url.origin()), error, self.timeouts)
            return fault, reused

    async def _check_response(
        self, call: _PreparedCall, response: HttpResponse, sent_s: float
    ) -> ResponseStream | ProviderFault:
        encoding = response.headers.get("Content-Encoding", "").strip().lower()
        if response.status // 100 != 2 or response.content_type in _HTML_TYPES or not can_inflate(encoding):
            error_response = await self._read_error_response(call, response, encoding)
            if error_response.status == HTTPStatus.UNAUTHORIZED:
                self._keys.pop(
                    call.provider.key, None
                )  # the user may replace the key, so read it again next time
            return refusal_error(call.provider.name, error_response, call.provider.key)
        clock = asyncio.get_running_loop().time
        stream = ResponseStream(
            call.provider.name, response, encoding, self.timeouts, self.limits, call.hide_key
        )
        try:
            fault = await stream.wait_for_first(max(0.0, sent_s + self.timeouts.first_byte_s - clock()))
        except BaseException:
            stream.close()
            raise
        if isinstance(fault, ConnectionLost | Stalled):
            connection_lost = isinstance(fault, ConnectionLost)
            return no_answer_error(
                call.provider.name, str(call.url.origin()), self.timeouts, connection_lost=connection_lost
            )
        if fault is not None:
            raise fault
        stream.waited_ms = round((clock() - sent_s) * 1000)
        return stream

    async def _read_error_response(
        self, call: _PreparedCall, response: HttpResponse, encoding: str
    ) -> ErrorResponse:
        """Read an error response and remove the key from it."""
        headers = response.headers
        code, message = "", ""
        if response.status // 100 == 3:
            code, message = "redirected", f"redirect to {redirect_origin(headers.get('Location', ''))}"
            response.close()
        elif response.status // 100 == 2:
            code, message = "not_a_response", f"content type {response.content_type} {encoding}".rstrip()
            response.close()
        else:
            code, message = read_error_body(await self._error_body(call, response, encoding))
        request_ids = (headers[name] for name in _REQUEST_ID_HEADERS if name in headers)
        return ErrorResponse(
            response.status,
            call.hide_key(code),
            call.hide_key(message),
            call.hide_key(next(request_ids, "")),
            retry_after_ms(headers, self._environment.now_s()),
            should_retry(headers),
        )

    async def _error_body(self, call: _PreparedCall, response: HttpResponse, encoding: str) -> bytes:
        """Return the beginning of an error body. What cannot be read of it is left out."""
        readable = encoding if can_inflate(encoding) else ""
        stream = ResponseStream(call.provider.name, response, readable, self.timeouts, self.limits)
        body = bytearray()
        try:
            with contextlib.suppress(TimeoutError, ProviderFault):
                async with asyncio.timeout(_ERROR_BODY_TIMEOUT_S):
                    while len(body) < self.limits.error_bytes and (chunk := await stream.read()):
                        body += chunk
        finally:
            stream.close()
        return bytes(body[: self.limits.error_bytes])


async def _send_and_wait(call: _PreparedCall, connection: HttpConnection) -> HttpResponse:
    """Send a request and wait for the head of its response. A connection on which this fails is dropped."""
    try:
        response = call.send(connection)
        await response.wait_for_head()
    except BaseException:
        connection.abort()
        raise
    return response
