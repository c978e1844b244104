"""The only outgoing HTTP: one client, for every provider, over HTTP/1.1 connections that are kept.

A key goes to the origin of its provider's row and nowhere else: no redirect is followed, no cookie kept, no
address taken from a request. Before the first byte of a body a fault is an exception and may be retried;
after it nothing is retried.
"""

import asyncio
import contextlib
import io
import itertools
import os
import random
import ssl
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from types import TracebackType
from typing import Protocol, Self
from weakref import WeakSet

import aiohttp
from yarl import URL

import thinkaloud
from thinkaloud.canon import ProviderFault, Refused
from thinkaloud.catalog.rows import Auth, Provider
from thinkaloud.client import keys
from thinkaloud.client.address import GuardedResolver, UnsafeAddress, key_may_go, proxy_for, target
from thinkaloud.client.faults import (
    Answer,
    ConnectionLost,
    ProviderRefused,
    Stalled,
    Unreachable,
    read_problem,
    refused,
)
from thinkaloud.client.inflate import CAPS, MIB, Caps, Inflater, unpacks
from thinkaloud.client.reaching import silent, unreachable
from thinkaloud.client.reply import TIMEOUTS, Reply, Timeouts
from thinkaloud.client.retrying import RETRIES, Retries, retry_after_ms, should_retry

_MOST_CONNECTIONS = 1000
_ERROR_BODY_S = 5.0
_REQUEST_IDS = ("request-id", "x-request-id", "x-goog-request-id", "x-amzn-requestid", "cf-ray")
_WEB_PAGES = ("text/html", "application/xhtml+xml")


class Outgoing(Protocol):
    """What a dialect wrote: a path below the base URL, headers without a key, and a body."""

    @property
    def path(self) -> str:
        """The path, with its slash and its query."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers, but for those that show a key."""

    @property
    def body(self) -> bytes:
        """The body, ready to be sent."""


@dataclass(frozen=True)
class Get:
    """A request for what is at a path, such as a provider's list of models."""

    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True)
class Shell:
    """What the client takes from the machine it runs on; tests bring their own."""

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    read_file: Callable[[str], str] = keys.read_key_file
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random
    now_s: Callable[[], float] = time.time


@dataclass
class _Way:
    """The connection that a request took: to be dropped, and whether it had been used before."""

    connection: aiohttp.connector.Connection | None = None
    used_before: bool = False

    def drop(self) -> None:
        if self.connection is not None:
            if self.connection.transport is not None:
                self.connection.transport.abort()
            self.connection.close()


_way: ContextVar[_Way] = ContextVar("_way")
_used: WeakSet[object] = WeakSet()


class _Request(aiohttp.ClientRequest):
    """A request that tells which way it took, so that giving up can drop it even unsent."""

    async def send(self, conn: aiohttp.connector.Connection) -> aiohttp.ClientResponse:
        way = _way.get()
        way.connection, way.used_before = conn, conn.protocol in _used
        _used.add(conn.protocol)
        return await super().send(conn)


@dataclass(frozen=True)
class _Call:
    """One request, ready to be tried."""

    provider: Provider
    outgoing: Outgoing
    url: URL
    key: keys.Secret | None
    proxy: URL | None = field(repr=False)

    def headers(self) -> dict[str, str]:
        told = {"Accept-Encoding": "identity", "User-Agent": f"thinkaloud/{thinkaloud.__version__}"}
        told |= {name.title(): value for name, value in self.outgoing.headers.items()}
        if self.key is not None:
            match self.provider.auth:
                case Auth.BEARER:
                    told["Authorization"] = self.key.header("Bearer ")
                case Auth.X_API_KEY | Auth.X_GOOG_API_KEY as name:
                    told[name.value.title()] = self.key.header()
        return told

    def body(self) -> bytes | io.BytesIO | None:
        body = self.outgoing.body
        return io.BytesIO(body) if len(body) > MIB else body or None  # a large one is sent in pieces

    def hide(self, text: str) -> str:
        """The text without the key, in case the other side quoted it."""
        return text if self.key is None else self.key.hidden_in(text)


class Client:
    """Sends requests to providers. Open it with `async with`; it serves any number of requests at once."""

    def __init__(
        self,
        *,
        timeouts: Timeouts = TIMEOUTS,
        retries: Retries = RETRIES,
        caps: Caps = CAPS,
        shell: Shell | None = None,
    ) -> None:
        self.timeouts = timeouts
        self.retries = retries
        self.caps = caps
        self._shell = shell or Shell()
        self._keys: dict[str, keys.Secret | None] = {}
        self._session: aiohttp.ClientSession | None = None

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent."""
        return self._session is not None

    async def __aenter__(self) -> Self:
        if self._session is not None:
            raise Refused("This client is open already. Share it, or make another one.")
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=_MOST_CONNECTIONS, resolver=GuardedResolver()),
            cookie_jar=aiohttp.DummyCookieJar(),
            request_class=_Request,
            timeout=aiohttp.ClientTimeout(total=None, connect=self.timeouts.connect_s),
            auto_decompress=False,
            max_line_size=self.caps.header,
            max_field_size=self.caps.header,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def send(self, provider: Provider, outgoing: Outgoing) -> Reply:
        """Send a request and wait for the first byte of its answer, trying again where that can help.

        Raises `Unreachable`, `ProviderRefused` or `RateLimited`. The caller closes the reply.
        """
        call = await self._prepare(provider, outgoing)
        for attempt in itertools.count():
            fault = await self._attempt(call)
            if isinstance(fault, Reply):
                return fault
            again = isinstance(fault, Unreachable | ProviderRefused) and fault.retryable
            after_ms = fault.after_ms if isinstance(fault, ProviderRefused) else None
            wait_s = self.retries.wait_s(attempt, after_ms, self._shell.chance()) if again else None
            if wait_s is None:
                raise fault
            await self._shell.sleep(wait_s)
        raise AssertionError("unreachable")

    async def stream(self, provider: Provider, outgoing: Outgoing) -> AsyncGenerator[bytes, None]:
        """The bytes of the answer as they come."""
        reply = await self.send(provider, outgoing)
        try:
            async for chunk in reply:
                yield chunk
        finally:
            reply.close()

    async def whole(self, provider: Provider, outgoing: Outgoing) -> bytes:
        """The bytes of the answer, all of them."""
        return b"".join([chunk async for chunk in self.stream(provider, outgoing)])

    async def fetch(self, provider: Provider, path: str) -> bytes:
        """What a provider has at a path below its base URL."""
        return await self.whole(provider, Get(path))

    async def hide(self, provider: Provider, text: str) -> str:
        """The text without the provider's key, in case the other side quoted it."""
        key = await self._key(provider)
        return text if key is None else key.hidden_in(text)

    async def _prepare(self, provider: Provider, outgoing: Outgoing) -> _Call:
        url = target(provider.name, provider.base_url, outgoing.path)
        key = await self._key(provider)
        if key is not None and not key_may_go(url, local=provider.local):
            raise UnsafeAddress(
                f"{provider.name} is at {url.origin()}, and its key would go there unencrypted. "
                "Nothing was sent. Use https in base_url, or say local = true in its row if it is your own."
            )
        return _Call(provider, outgoing, url, key, proxy_for(url, self._shell.environ))

    async def _key(self, provider: Provider) -> keys.Secret | None:
        reference = provider.key if provider.auth is not Auth.NONE else ""
        if reference.startswith("env:") or not reference:
            return self._found(reference)
        if reference not in self._keys:
            self._keys[reference] = await asyncio.to_thread(self._found, reference)
        return self._keys[reference]

    def _found(self, reference: str) -> keys.Secret | None:
        # Never in a local name: what holds the environment holds keys, and a traceback may show its locals.
        return keys.resolve(reference, environ=self._shell.environ, read_file=self._shell.read_file)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """The system's certificates, or those that SSL_CERT_FILE and SSL_CERT_DIR name."""
        context = ssl.create_default_context()
        path = self._shell.environ.get("SSL_CERT_FILE", "")
        if path and path != os.environ.get("SSL_CERT_FILE"):
            context.load_verify_locations(cafile=path)
        return context

    async def _attempt(self, call: _Call) -> Reply | ProviderFault:
        """A reply whose first byte is there, or why there is none.

        A kept connection that the other side had closed meanwhile says nothing about the other side.
        """
        way = _Way()
        fault = await self._try(call, way)
        if way.used_before and isinstance(fault, Unreachable) and fault.retryable:
            return await self._try(call, _Way())
        return fault

    async def _try(self, call: _Call, way: _Way) -> Reply | ProviderFault:
        if self._session is None:
            raise Refused("This client is not open, so it cannot send. Use it inside `async with client:`.")
        sent_s = asyncio.get_running_loop().time()
        token = _way.set(way)
        try:
            async with asyncio.timeout(self.timeouts.first_byte_s):
                response = await self._session.request(
                    "POST" if call.outgoing.body else "GET",
                    call.url,
                    headers=call.headers(),
                    data=call.body(),
                    allow_redirects=False,
                    proxy=call.proxy,
                    ssl=self._tls if call.url.scheme == "https" else True,
                )
            return await self._judge(call, response, sent_s)
        except (aiohttp.ClientError, OSError) as error:
            way.drop()
            return unreachable(call.provider.name, str(call.url.origin()), error, self.timeouts)
        except BaseException:
            way.drop()
            raise
        finally:
            _way.reset(token)

    async def _judge(
        self, call: _Call, response: aiohttp.ClientResponse, sent_s: float
    ) -> Reply | ProviderFault:
        encoding = response.headers.get("Content-Encoding", "").strip().lower()
        if response.status // 100 != 2 or response.content_type in _WEB_PAGES or not unpacks(encoding):
            answer = await self._answer(call, response, encoding)
            if answer.status == HTTPStatus.UNAUTHORIZED:
                self._keys.pop(call.provider.key, None)  # it may be replaced meanwhile: look again next time
            return refused(call.provider.name, answer, call.provider.key)
        clock = asyncio.get_running_loop().time
        reply = Reply(call.provider.name, response, encoding, self.timeouts, self.caps)
        try:
            await reply.begin(max(0.0, sent_s + self.timeouts.first_byte_s - clock()))
        except (ConnectionLost, Stalled) as fault:
            lost = isinstance(fault, ConnectionLost)
            return silent(call.provider.name, str(call.url.origin()), self.timeouts, lost=lost)
        reply.waited_ms = round((clock() - sent_s) * 1000)
        return reply

    async def _answer(self, call: _Call, response: aiohttp.ClientResponse, encoding: str) -> Answer:
        """What the provider said instead of a response, without the key."""
        headers = response.headers
        code, message = "", ""
        if response.status // 100 == 3:
            code, message = "redirected", f"it points to {_origin(headers.get('Location', ''))}"
            response.close()
        elif response.status // 100 == 2:
            code, message = "not_a_response", f"it sent {response.content_type} {encoding}".rstrip()
            response.close()
        else:
            code, message = read_problem(await self._error_body(response, encoding))
        ids = (headers[name] for name in _REQUEST_IDS if name in headers)
        return Answer(
            response.status,
            call.hide(code),
            call.hide(message),
            call.hide(next(ids, "")),
            retry_after_ms(headers, self._shell.now_s()),
            should_retry(headers),
        )

    async def _error_body(self, response: aiohttp.ClientResponse, encoding: str) -> bytes:
        body = bytearray()
        with contextlib.suppress(aiohttp.ClientError, OSError):
            async with asyncio.timeout(_ERROR_BODY_S):
                while len(body) < self.caps.error and (chunk := await response.content.readany()):
                    body += chunk
        response.close()
        if encoding in ("", "identity") or not unpacks(encoding):
            return bytes(body[: self.caps.error])
        return Inflater(encoding, self.caps).feed(bytes(body))[: self.caps.error]


def _origin(location: str) -> str:
    """Where a redirect leads, without what may be secret in it."""
    try:
        return str(URL(location).origin())
    except ValueError:
        return "another path" if location.startswith("/") else "nowhere"
