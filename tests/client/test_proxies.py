"""Proxies from the usual variables, for http and https addresses."""

import pytest
from tests.client.upstream import (
    KEY,
    STORY,
    STREAM,
    UpstreamRequest,
    http_response,
    make_client,
    run,
    serve_upstream,
)
from yarl import URL

from thinkaloud.client import Unreachable, UnsafeAddress
from thinkaloud.client.address import proxy_for


@pytest.mark.parametrize(
    ("url", "environ", "proxy"),
    [
        ("https://a.b", {}, None),
        ("https://a.b", {"https_proxy": "http://p:1"}, "http://p:1"),
        ("https://a.b", {"HTTPS_PROXY": "p:1"}, "http://p:1"),
        ("https://a.b", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://a.b", {"HTTP_PROXY": "http://p:1"}, "http://p:1"),
        ("http://a.b", {"HTTP_PROXY": "http://p:1", "REQUEST_METHOD": "GET"}, None),
        ("https://a.b", {"all_proxy": "http://p:1"}, "http://p:1"),
        ("https://a.b", {"all_proxy": "http://p:1", "no_proxy": "*"}, None),
        ("https://a.b", {"all_proxy": "http://p:1", "no_proxy": "x, b"}, None),
        ("https://a.b", {"all_proxy": "http://p:1", "no_proxy": ".b"}, None),
        ("https://a.b", {"all_proxy": "http://p:1", "no_proxy": "a.b:443"}, None),
        ("https://a.b", {"all_proxy": "http://p:1", "no_proxy": "a.b:80"}, "http://p:1"),
        ("https://ab", {"all_proxy": "http://p:1", "no_proxy": "b,"}, "http://p:1"),
        ("http://[::1]:80", {"all_proxy": "http://p:1", "NO_PROXY": "[::1]:80"}, None),
    ],
)
def test_proxy_for(url: str, environ: dict[str, str], proxy: str | None) -> None:
    assert proxy_for(URL(url), environ) == (proxy and URL(proxy))


def test_an_unsupported_proxy_scheme_is_refused() -> None:
    with pytest.raises(UnsafeAddress, match="socks5 proxy"):
        proxy_for(URL("https://a.b"), {"https_proxy": "socks5://me:secret@p:1"})


def test_a_request_is_sent_through_the_proxy() -> None:
    async def send_story(request: UpstreamRequest) -> None:
        await request.send(STREAM, *STORY)

    async def scenario() -> tuple[str, int]:
        async with serve_upstream(send_story) as proxy, serve_upstream(send_story) as upstream:
            environ = {"ACME_KEY": KEY, "http_proxy": f"http://me:pass@127.0.0.1:{proxy.port}"}
            async with make_client(environ=environ) as http_client:
                await http_client.fetch(upstream.provider(), "/models")
            return proxy.requests[0].head, len(upstream.requests)

    head, direct = run(scenario())
    assert head.startswith("GET http://127.0.0.1:")
    assert "Proxy-Authorization: Basic" in head
    assert direct == 0


def test_a_refusing_proxy_is_named_without_its_password() -> None:
    async def refuses(request: UpstreamRequest) -> None:
        await request.send(http_response("407 Who are you"))

    async def scenario() -> str:
        async with serve_upstream(refuses) as proxy, serve_upstream(refuses) as upstream:
            environ = {"ACME_KEY": KEY, "https_proxy": f"http://me:secret@127.0.0.1:{proxy.port}"}
            async with make_client(environ=environ) as http_client:
                route = upstream.provider()
                request_coroutine = type(route)(
                    name="acme",
                    dialect=route.dialect,
                    base_url=f"https://127.0.0.1:{upstream.port}",
                    key="env:ACME_KEY",
                    fact=route.fact,
                )
                with pytest.raises(Unreachable) as error_info:
                    await http_client.fetch(request_coroutine, "/models")
            assert upstream.requests == []
            assert KEY not in proxy.requests[0].head
            return str(error_info.value)

    message = run(scenario())
    assert "the proxy answered HTTP 407" in message
    assert "secret" not in message
