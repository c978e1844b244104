"""Faults before the first byte: which are retried, which are raised, and that every error says what to do."""

import asyncio
import gzip
import socket
import time

import pytest
from tests.client.upstream import (
    CHUNKED,
    FACT,
    KEY,
    REQUEST,
    STORY,
    STREAM,
    FakeSleep,
    RequestHandler,
    UpstreamRequest,
    http_response,
    make_client,
    prepared,
    run,
    serve_upstream,
    write_request,
)

from thinkaloud.client import (
    Client,
    Options,
    ProviderRefused,
    RateLimited,
    RetryPolicy,
    Timeouts,
    Unreachable,
    ask,
)
from thinkaloud.client.errors import read_error_body
from thinkaloud.client.retry import retry_after_ms
from thinkaloud.core.canon import LimitExceeded, ProviderFault
from thinkaloud.core.catalog.rows import Provider
from thinkaloud.core.transcript import Turn

BUSY = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'


def sends(*data: bytes) -> RequestHandler:
    async def act(request: UpstreamRequest) -> None:
        await request.send(*data)

    return act


async def resets(request: UpstreamRequest) -> None:
    request.reset()


send_story = sends(STREAM, *STORY)


def ask_turn(*acts: RequestHandler, http_client: Client | None = None) -> tuple[Turn, int]:
    """Return the turn and the number of requests it took."""

    async def scenario() -> tuple[Turn, int]:
        async with serve_upstream(*acts) as upstream, http_client or make_client() as opened:
            turn = await ask(prepared(upstream.route()), options=Options(client=opened))
            return turn, len(upstream.requests)

    return run(scenario())


def refusal(*acts: RequestHandler, http_client: Client | None = None) -> tuple[ProviderFault, int]:
    """Return the error and the number of requests it took."""

    async def scenario() -> tuple[ProviderFault, int]:
        async with serve_upstream(*acts) as upstream, http_client or make_client() as opened:
            with pytest.raises(ProviderFault) as error_info:
                await ask(prepared(upstream.route()), options=Options(client=opened))
            return error_info.value, len(upstream.requests)

    return run(scenario())


def test_rate_limited_request_is_retried_after_retry_after() -> None:
    sleep = FakeSleep()
    limit = sends(http_response("429 Too Many Requests", BUSY, Retry_After="7"))
    turn, requests = ask_turn(limit, send_story, http_client=make_client(sleep))
    assert (turn.answer, requests) == ("Four.", 2)
    assert sleep.durations_s == [7.25]


def test_retry_after_may_be_a_date() -> None:
    sleep = FakeSleep()
    date = "Tue, 14 Nov 2023 22:13:30 GMT"  # ten seconds after the test's own time
    assert (
        ask_turn(
            sends(http_response("503 Busy", Retry_After=date)), send_story, http_client=make_client(sleep)
        )[1]
        == 2
    )
    assert sleep.durations_s == [10.25]


@pytest.mark.parametrize(
    ("headers", "ms"),
    [
        ({"retry-after": "2"}, 2000),
        ({"retry-after": "0.5"}, 500),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1500),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:20 GMT"}, 0),
        ({"retry-after": "Tue, 14 Nov 2023 22:00:00 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e300"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_parsed_in_every_form(headers: dict[str, str], ms: int | None) -> None:
    assert retry_after_ms(headers, 1_700_000_000.0) == ms


def test_retries_stop_after_three_faults() -> None:
    sleep = FakeSleep()
    body = b'{"error":{"message":"The server had an error","type":"server_error"}}'
    error, requests = refusal(
        sends(http_response("500 Internal Server Error", body, x_request_id="req_1")),
        http_client=make_client(sleep),
    )
    assert requests == 3
    assert sleep.durations_s == [0.375, 0.75]
    assert isinstance(error, ProviderRefused)
    assert (error.status, error.code, error.message, error.request_id, error.retryable) == (
        500,
        "server_error",
        "The server had an error",
        "req_1",
        True,
    )
    assert str(error) == (
        "acme refused the request (HTTP 500, server_error): The server had an error. This is a "
        "fault at the provider: retry later, or use another provider. (request req_1)"
    )


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_retryable_statuses_are_retried(status: int) -> None:
    assert ask_turn(sends(http_response(f"{status} No", BUSY)), send_story)[1] == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 501])
def test_permanent_statuses_are_not_retried(status: int) -> None:
    error, requests = refusal(sends(http_response(f"{status} No", BUSY)), send_story)
    assert requests == 1
    assert isinstance(error, ProviderRefused)
    assert error.status == status


def test_x_should_retry_overrides_the_status() -> None:
    assert refusal(sends(http_response("503 No", x_should_retry="false")), send_story)[1] == 1
    assert ask_turn(sends(http_response("400 No", x_should_retry="true")), send_story)[1] == 2


def test_insufficient_quota_is_not_retried() -> None:
    body = b'{"error":{"message":"You exceeded your current quota.","code":"insufficient_quota"}}'
    error, requests = refusal(sends(http_response("429 No", body)), send_story)
    assert requests == 1
    assert not isinstance(error, RateLimited)
    assert "billing" in str(error)


def test_a_long_retry_after_is_reported_instead_of_waited_for() -> None:
    sleep = FakeSleep()
    error, requests = refusal(
        sends(http_response("429 No", BUSY, Retry_After="3600")), http_client=make_client(sleep)
    )
    assert (requests, sleep.durations_s) == (1, [])
    assert isinstance(error, RateLimited)
    assert error.after_ms == 3_600_000
    assert "Wait 3600 s" in str(error)


@pytest.mark.parametrize("act", [resets, sends(CHUNKED)], ids=["no head", "no first byte"])
def test_an_empty_connection_is_retried(act: RequestHandler) -> None:
    assert ask_turn(act, send_story)[1] == 2
    error, requests = refusal(act)
    assert requests == 3
    assert isinstance(error, Unreachable)
    assert "without a response" in str(error) or "reset" in str(error)


@pytest.mark.parametrize("head", [b"", CHUNKED], ids=["no head", "no first byte"])
def test_first_byte_timeout_is_an_error_and_not_retried(head: bytes) -> None:
    async def waits(request: UpstreamRequest) -> None:
        await request.send(head)
        await request.wait_closed()

    start = time.monotonic()
    error, requests = refusal(waits, http_client=make_client(timeouts=Timeouts(first_byte_s=0.3)))
    assert time.monotonic() - start >= 0.3
    assert requests == 1
    assert isinstance(error, Unreachable)
    assert "sent no response within 0.3 s" in str(error)


def provider_at(host: str, port: int) -> Provider:
    return Provider(
        name="acme", dialect="openai_chat", base_url=f"http://{host}:{port}", local=True, fact=FACT
    )


def unreachable(provider: Provider, http_client: Client) -> Unreachable:
    async def scenario() -> Unreachable:
        async with http_client as opened:
            with pytest.raises(Unreachable) as error_info:
                await opened.fetch(provider, "/models")
            return error_info.value

    return run(scenario())


def test_connection_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as bound_socket:
        port = bound_socket.getsockname()[1]
    sleep = FakeSleep()
    error = unreachable(provider_at("127.0.0.1", port), make_client(sleep))
    assert len(sleep.durations_s) == 2
    assert str(error).startswith(f"Cannot reach acme at http://127.0.0.1:{port}: ")
    assert "that the server is running" in str(error)


def test_unknown_host_name() -> None:
    error = unreachable(provider_at("no-such-host.invalid", 80), make_client())
    assert "the host name does not resolve" in str(error)


def test_connect_timeout() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(3)]  # fills the backlog, so further connections wait
        for caller in waiting:
            caller.setblocking(False)
            caller.connect_ex(full.getsockname())
        http_client = make_client(timeouts=Timeouts(connect_s=0.3), retries=RetryPolicy(max_retries=0))
        error = unreachable(provider_at(*full.getsockname()), http_client)
        for caller in waiting:
            caller.close()
    assert "no connection within 0.3 s" in str(error)


def test_invalid_http_response() -> None:
    error, requests = refusal(sends(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"))
    assert requests == 1
    assert "is not valid HTTP" in str(error)


def test_a_header_that_is_too_long_is_refused() -> None:
    """S16."""
    error, _ = refusal(sends(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 20_000 + b"\r\n\r\n"))
    assert isinstance(error, Unreachable)


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 500_000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\n" + (b"X: " + b"y" * 8_000 + b"\r\n") * 20 + b"\r\n",
        (b"HTTP/1.1 103 Early Hints\r\n" + b"X: y\r\n" * 20 + b"\r\n") * 20 + b"HTTP/1.1 200 OK\r\n\r\n",
    ],
)
def test_a_response_with_too_many_headers_is_refused(head: bytes) -> None:
    """S16."""
    error, _ = refusal(sends(head))
    assert isinstance(error, Unreachable)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_error_and_does_not_forward_the_key(status: int) -> None:
    """S12."""

    async def scenario() -> tuple[ProviderRefused, int]:
        async with serve_upstream(send_story) as other:
            url = f"{other.base_url}/take?key=it"
            async with (
                serve_upstream(sends(http_response(f"{status} Elsewhere", Location=url))) as upstream,
                make_client() as http_client,
            ):
                with pytest.raises(ProviderRefused) as error_info:
                    await ask(prepared(upstream.route()), options=Options(client=http_client))
                return error_info.value, len(other.requests)

    error, elsewhere = run(scenario())
    assert (error.status, error.code, elsewhere) == (status, "redirected", 0)
    assert "Redirects are not followed" in str(error)
    assert "key=it" not in str(error)


def test_an_html_page_is_refused() -> None:
    page = sends(
        http_response("200 OK", b"<html>Please log in</html>", Content_Type="text/html; charset=utf-8")
    )
    error, requests = refusal(page)
    assert requests == 1
    assert str(error) == (
        "acme refused the request (HTTP 200, not_a_response): content type text/html. This is "
        "not a model response. Check base_url, and whether a login page intercepts the request."
    )


def test_an_unknown_content_encoding_is_refused() -> None:
    error, _ = refusal(
        sends(http_response("200 OK", b"...", Content_Encoding="br", Content_Type="text/event-stream"))
    )
    assert "content type text/event-stream br" in str(error)


def test_a_compression_bomb_at_the_start_is_refused() -> None:
    bomb = gzip.compress(bytes(40 << 20))
    head = STREAM.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")

    async def scenario() -> int:
        async with serve_upstream(sends(head + bomb)) as upstream, make_client() as http_client:
            reply = await http_client.send(upstream.provider(), write_request(upstream.route(), REQUEST))
            sizes: list[int] = []

            async def read_all() -> None:
                async for chunk in reply:
                    sizes.append(len(chunk))

            with pytest.raises(LimitExceeded):
                await read_all()
            return sum(sizes)

    assert run(scenario()) < 4 << 20


def test_an_endless_error_body_is_read_in_part() -> None:
    async def endless(request: UpstreamRequest) -> None:
        await request.send(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        while True:
            await request.send(b"x" * 65536)

    error, _ = refusal(endless)
    assert len(str(error)) < 1000


def test_a_compressed_error_body_is_read() -> None:
    body = gzip.compress(b'{"error":"model \'x\' not found"}')
    error, _ = refusal(sends(http_response("404 No", body, Content_Encoding="gzip")))
    assert "model 'x' not found" in str(error)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"error":{"type":"invalid_request_error","message":"No."}}', ("invalid_request_error", "No.")),
        (b'{"error":{"message":"No.","code":"model_not_found"}}', ("model_not_found", "No.")),
        (b'[{"error":{"code":400,"message":"No.","status":"INVALID"}}]', ("INVALID", "No.")),
        (b'{"error":"No."}', ("", "No.")),
        (
            b'{"object":"error","message":"No.","type":"BadRequestError","code":400}',
            ("BadRequestError", "No."),
        ),
        (b'{"detail":"No."}', ("", "No.")),
        (b'{"message":"No."}', ("", "No.")),
        (b"Bad\n  Gateway", ("", "Bad Gateway")),
        (b"[]", ("", "")),
        (b"", ("", "")),
    ],
)
def test_an_error_body_is_read_in_every_shape(body: bytes, expected: tuple[str, str]) -> None:
    assert read_error_body(body) == expected


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        (400, "Correct the request"),
        (401, "Check the key (env:ACME_KEY)"),
        (404, "Check the model name"),
        (407, "The proxy requires"),
        (413, "too large"),
        (429, "Wait a while"),
        (503, "retry later"),
    ],
)
def test_every_refusal_says_what_to_do(status: int, remedy: str) -> None:
    error, _ = refusal(sends(http_response(f"{status} No", b'{"error":{"message":"Nope"}}')))
    assert str(error).startswith(f"acme refused the request (HTTP {status}): Nope. ")
    assert remedy in str(error)


def test_a_replaced_key_is_read_again_after_a_401() -> None:
    async def scenario() -> list[str]:
        shown = iter(["old-key-1", "new-key-2", "never"])
        http_client = Client(environment=type(make_client()._environment)(read_file=lambda path: next(shown)))
        async with (
            serve_upstream(sends(http_response("401 No")), send_story) as upstream,
            http_client as opened,
        ):
            provider = Provider(
                name="acme", dialect="openai_chat", base_url=upstream.base_url, key="file:k", fact=FACT
            )
            with pytest.raises(ProviderRefused):
                await opened.fetch(provider, "/models")
            await opened.fetch(provider, "/models")
            await opened.fetch(provider, "/models")
            return [request.head for request in upstream.requests]

    heads = run(scenario())
    assert ["old-key-1" in heads[0], "new-key-2" in heads[1], "new-key-2" in heads[2]] == [True] * 3
    assert KEY not in "".join(heads)


def test_waiting_for_a_retry_can_be_cancelled() -> None:
    async def scenario() -> float:
        async with serve_upstream(sends(http_response("503 No", Retry_After="30"))) as upstream:
            shell = type(make_client()._environment)(environ={"ACME_KEY": KEY})
            async with Client(environment=shell) as http_client:
                task = asyncio.create_task(http_client.fetch(upstream.provider(), "/models"))
                while not upstream.requests:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.2)
                start = time.monotonic()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                return time.monotonic() - start

    assert run(scenario()) < 20, "it waited for its next try"


def test_a_closed_idle_connection_costs_no_retry() -> None:
    sleep = FakeSleep()

    async def scenario() -> int:
        async with (
            serve_upstream(sends(http_response("200 OK", b"{}"))) as upstream,
            make_client(sleep) as http_client,
        ):
            for _ in range(4):
                await http_client.read_all(upstream.provider(), write_request(upstream.route(), REQUEST))
            return len({request.connection for request in upstream.requests})

    assert run(scenario()) == 4
    assert sleep.durations_s == []
