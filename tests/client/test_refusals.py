"""Before the first byte: what is tried again, what is raised, and that every error says what to do."""

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
    Act,
    Naps,
    Seen,
    answer,
    client,
    run,
    serving,
    write,
)

from thinkaloud.canon import LimitExceeded, ProviderFault
from thinkaloud.catalog.rows import Provider
from thinkaloud.client import (
    Client,
    ProviderRefused,
    RateLimited,
    Retries,
    Timeouts,
    Unreachable,
    ask,
)
from thinkaloud.client.faults import read_problem
from thinkaloud.client.retrying import retry_after_ms
from thinkaloud.transcript import Turn

BUSY = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'


def says(*data: bytes) -> Act:
    async def act(seen: Seen) -> None:
        await seen.send(*data)

    return act


async def resets(seen: Seen) -> None:
    seen.reset()


tells = says(STREAM, *STORY)


def asked(*acts: Act, own: Client | None = None) -> tuple[Turn, int]:
    """The turn, and how many requests it took."""

    async def story() -> tuple[Turn, int]:
        async with serving(*acts) as upstream, own or client() as opened:
            turn = await ask(REQUEST, upstream.route(), client=opened, write=write)
            return turn, len(upstream.seen)

    return run(story())


def refused(*acts: Act, own: Client | None = None) -> tuple[ProviderFault, int]:
    """The error, and how many requests it took."""

    async def story() -> tuple[ProviderFault, int]:
        async with serving(*acts) as upstream, own or client() as opened:
            with pytest.raises(ProviderFault) as caught:
                await ask(REQUEST, upstream.route(), client=opened, write=write)
            return caught.value, len(upstream.seen)

    return run(story())


def test_too_many_requests_are_repeated_when_the_provider_says() -> None:
    naps = Naps()
    limit = says(answer("429 Too Many Requests", BUSY, Retry_After="7"))
    turn, requests = asked(limit, tells, own=client(naps))
    assert (turn.answer, requests) == ("Four.", 2)
    assert naps.taken == [7.25]


def test_a_wait_may_be_given_as_a_date() -> None:
    naps = Naps()
    date = "Tue, 14 Nov 2023 22:13:30 GMT"  # ten seconds after the test's own time
    assert asked(says(answer("503 Busy", Retry_After=date)), tells, own=client(naps))[1] == 2
    assert naps.taken == [10.25]


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
def test_how_long_to_wait_is_read_in_every_form(headers: dict[str, str], ms: int | None) -> None:
    assert retry_after_ms(headers, 1_700_000_000.0) == ms


def test_three_faults_are_enough() -> None:
    naps = Naps()
    body = b'{"error":{"message":"The server had an error","type":"server_error"}}'
    error, requests = refused(
        says(answer("500 Internal Server Error", body, x_request_id="req_1")), own=client(naps)
    )
    assert requests == 3
    assert naps.taken == [0.375, 0.75]
    assert isinstance(error, ProviderRefused)
    assert (error.status, error.code, error.message, error.request_id, error.retryable) == (
        500,
        "server_error",
        "The server had an error",
        "req_1",
        True,
    )
    assert str(error) == (
        "acme refused the request (HTTP 500, server_error): The server had an error. "
        "The fault is the provider's: ask again later, or choose another provider. (request req_1)"
    )


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_tried_again(status: int) -> None:
    assert asked(says(answer(f"{status} No", BUSY)), tells)[1] == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 501])
def test_what_will_not_pass_is_not(status: int) -> None:
    error, requests = refused(says(answer(f"{status} No", BUSY)), tells)
    assert requests == 1
    assert isinstance(error, ProviderRefused)
    assert error.status == status


def test_the_providers_own_word_on_trying_again_counts() -> None:
    assert refused(says(answer("503 No", x_should_retry="false")), tells)[1] == 1
    assert asked(says(answer("400 No", x_should_retry="true")), tells)[1] == 2


def test_an_empty_purse_is_not_tried_again() -> None:
    body = b'{"error":{"message":"You exceeded your current quota.","code":"insufficient_quota"}}'
    error, requests = refused(says(answer("429 No", body)), tells)
    assert requests == 1
    assert not isinstance(error, RateLimited)
    assert "billing" in str(error)


def test_a_wait_beyond_patience_is_told_instead() -> None:
    naps = Naps()
    error, requests = refused(says(answer("429 No", BUSY, Retry_After="3600")), own=client(naps))
    assert (requests, naps.taken) == (1, [])
    assert isinstance(error, RateLimited)
    assert error.after_ms == 3_600_000
    assert "Wait 3600 s" in str(error)


@pytest.mark.parametrize("act", [resets, says(CHUNKED)], ids=["no head", "no first byte"])
def test_a_connection_that_gives_nothing_is_tried_again(act: Act) -> None:
    assert asked(act, tells)[1] == 2
    error, requests = refused(act)
    assert requests == 3
    assert isinstance(error, Unreachable)
    assert "without an answer" in str(error) or "reset" in str(error)


@pytest.mark.parametrize("head", [b"", CHUNKED], ids=["no head", "no first byte"])
def test_no_first_byte_in_time_is_an_error_and_not_tried_again(head: bytes) -> None:
    async def waits(seen: Seen) -> None:
        await seen.send(head)
        await seen.gone()

    start = time.monotonic()
    error, requests = refused(waits, own=client(timeouts=Timeouts(first_byte_s=0.3)))
    assert time.monotonic() - start >= 0.3
    assert requests == 1
    assert isinstance(error, Unreachable)
    assert "sent no answer within 0.3 s" in str(error)


def nowhere(host: str, port: int) -> Provider:
    return Provider(
        name="acme", dialect="openai_chat", base_url=f"http://{host}:{port}", local=True, fact=FACT
    )


def unreached(provider: Provider, own: Client) -> Unreachable:
    async def story() -> Unreachable:
        async with own as opened:
            with pytest.raises(Unreachable) as caught:
                await opened.fetch(provider, "/models")
            return caught.value

    return run(story())


def test_a_port_where_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    naps = Naps()
    error = unreached(nowhere("127.0.0.1", port), client(naps))
    assert len(naps.taken) == 2
    assert str(error).startswith(f"acme cannot be reached at http://127.0.0.1:{port}: ")
    assert "Check that it runs there" in str(error)


def test_a_name_that_is_not_known() -> None:
    error = unreached(nowhere("no-such-host.invalid", 80), client())
    assert "its name is not known" in str(error)


def test_a_host_that_takes_no_connections() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(3)]  # fills the queue; further calls are left to wait
        for caller in waiting:
            caller.setblocking(False)
            caller.connect_ex(full.getsockname())
        own = client(timeouts=Timeouts(connect_s=0.3), retries=Retries(most=0))
        error = unreached(nowhere(*full.getsockname()), own)
        for caller in waiting:
            caller.close()
    assert "no connection within 0.3 s" in str(error)


def test_what_is_not_http() -> None:
    error, requests = refused(says(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"))
    assert requests == 1
    assert "does not speak proper HTTP" in str(error)


def test_a_head_that_is_too_long() -> None:
    error, _ = refused(says(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 20_000 + b"\r\n\r\n"))
    assert isinstance(error, Unreachable)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_error_and_takes_no_key_along(status: int) -> None:
    async def story() -> tuple[ProviderRefused, int]:
        async with serving(tells) as other:
            url = f"{other.base_url}/take?key=it"
            async with (
                serving(says(answer(f"{status} Elsewhere", Location=url))) as upstream,
                client() as own,
            ):
                with pytest.raises(ProviderRefused) as caught:
                    await ask(REQUEST, upstream.route(), client=own, write=write)
                return caught.value, len(other.seen)

    error, elsewhere = run(story())
    assert (error.status, error.code, elsewhere) == (status, "redirected", 0)
    assert "Redirects are not followed" in str(error)
    assert "key=it" not in str(error)


def test_a_web_page_is_no_answer() -> None:
    page = says(answer("200 OK", b"<html>Please log in</html>", Content_Type="text/html; charset=utf-8"))
    error, requests = refused(page)
    assert requests == 1
    assert str(error) == (
        "acme refused the request (HTTP 200, not_a_response): it sent text/html. "
        "That is no model's answer. Check base_url, and whether a login page stands between."
    )


def test_a_coding_that_nobody_asked_for_and_nobody_knows() -> None:
    error, _ = refused(
        says(answer("200 OK", b"...", Content_Encoding="br", Content_Type="text/event-stream"))
    )
    assert "it sent text/event-stream br" in str(error)


def test_a_bomb_before_anything_else_is_raised() -> None:
    bomb = gzip.compress(bytes(40 << 20))
    head = STREAM.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")

    async def story() -> int:
        async with serving(says(head + bomb)) as upstream, client() as own:
            reply = await own.send(upstream.provider(), write(upstream.route(), REQUEST))
            first = await reply.read()
            with pytest.raises(LimitExceeded):
                await reply.read()
            return len(first)

    assert run(story()) < 4 << 20


def test_an_error_without_end_is_read_in_part() -> None:
    async def endless(seen: Seen) -> None:
        await seen.send(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        while True:
            await seen.send(b"x" * 65536)

    error, _ = refused(endless)
    assert len(str(error)) < 1000


def test_a_compressed_error_is_read() -> None:
    body = gzip.compress(b'{"error":"model \'x\' not found"}')
    error, _ = refused(says(answer("404 No", body, Content_Encoding="gzip")))
    assert "model 'x' not found" in str(error)


@pytest.mark.parametrize(
    ("body", "told"),
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
def test_an_error_is_read_in_every_shape(body: bytes, told: tuple[str, str]) -> None:
    assert read_problem(body) == told


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        (400, "Change what it names"),
        (401, "Check the key (env:ACME_KEY)"),
        (404, "Check the name of the model"),
        (407, "The proxy wants"),
        (413, "Send less"),
        (429, "Wait a while"),
        (503, "ask again later"),
    ],
)
def test_every_refusal_says_what_to_do(status: int, remedy: str) -> None:
    error, _ = refused(says(answer(f"{status} No", b'{"error":{"message":"Nope"}}')))
    assert str(error).startswith(f"acme refused the request (HTTP {status}): Nope. ")
    assert remedy in str(error)


def test_a_replaced_key_is_taken_up_after_a_refusal() -> None:
    async def story() -> list[str]:
        shown = iter(["old-key-1", "new-key-2", "never"])
        own = Client(shell=type(client()._shell)(read_file=lambda path: next(shown)))
        async with serving(says(answer("401 No")), tells) as upstream, own as opened:
            provider = Provider(
                name="acme", dialect="openai_chat", base_url=upstream.base_url, key="file:k", fact=FACT
            )
            with pytest.raises(ProviderRefused):
                await opened.fetch(provider, "/models")
            await opened.fetch(provider, "/models")
            await opened.fetch(provider, "/models")
            return [seen.head for seen in upstream.seen]

    heads = run(story())
    assert ["old-key-1" in heads[0], "new-key-2" in heads[1], "new-key-2" in heads[2]] == [True] * 3
    assert KEY not in "".join(heads)


def test_waiting_to_try_again_can_be_cancelled() -> None:
    async def story() -> float:
        async with serving(says(answer("503 No", Retry_After="30"))) as upstream:
            shell = type(client()._shell)(environ={"ACME_KEY": KEY})
            async with Client(shell=shell) as own:
                task = asyncio.create_task(own.fetch(upstream.provider(), "/models"))
                while not upstream.seen:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.2)
                start = time.monotonic()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                return time.monotonic() - start

    assert run(story()) < 20, "it waited for its next try"


def test_a_kept_connection_that_was_closed_meanwhile_costs_no_attempt() -> None:
    naps = Naps()

    async def story() -> int:
        async with serving(says(answer("200 OK", b"{}"))) as upstream, client(naps) as own:
            for _ in range(4):
                await own.whole(upstream.provider(), write(upstream.route(), REQUEST))
            return len({seen.connection for seen in upstream.seen})

    assert run(story()) == 4
    assert naps.taken == []
