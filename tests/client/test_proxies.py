"""Proxies by the usual variables, for both kinds of addresses."""

import pytest
from tests.client.upstream import KEY, STORY, STREAM, Seen, answer, client, run, serving
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
def test_which_proxy(url: str, environ: dict[str, str], proxy: str | None) -> None:
    assert proxy_for(URL(url), environ) == (proxy and URL(proxy))


def test_a_proxy_of_a_kind_that_is_not_known() -> None:
    with pytest.raises(UnsafeAddress, match="socks5 proxy"):
        proxy_for(URL("https://a.b"), {"https_proxy": "socks5://me:secret@p:1"})


def test_a_request_goes_through_the_proxy() -> None:
    async def tells(seen: Seen) -> None:
        await seen.send(STREAM, *STORY)

    async def story() -> tuple[str, int]:
        async with serving(tells) as proxy, serving(tells) as upstream:
            environ = {"ACME_KEY": KEY, "http_proxy": f"http://me:pass@127.0.0.1:{proxy.port}"}
            async with client(environ=environ) as own:
                await own.fetch(upstream.provider(), "/models")
            return proxy.seen[0].head, len(upstream.seen)

    head, direct = run(story())
    assert head.startswith("GET http://127.0.0.1:")
    assert "Proxy-Authorization: Basic" in head
    assert direct == 0


def test_a_proxy_that_refuses_is_named_without_its_password() -> None:
    async def refuses(seen: Seen) -> None:
        await seen.send(answer("407 Who are you"))

    async def story() -> str:
        async with serving(refuses) as proxy, serving(refuses) as upstream:
            environ = {"ACME_KEY": KEY, "https_proxy": f"http://me:secret@127.0.0.1:{proxy.port}"}
            async with client(environ=environ) as own:
                route = upstream.provider()
                asked = type(route)(
                    name="acme",
                    dialect=route.dialect,
                    base_url=f"https://127.0.0.1:{upstream.port}",
                    key="env:ACME_KEY",
                    fact=route.fact,
                )
                with pytest.raises(Unreachable) as caught:
                    await own.fetch(asked, "/models")
            assert upstream.seen == []
            assert KEY not in proxy.seen[0].head
            return str(caught.value)

    told = run(story())
    assert "the proxy answered HTTP 407" in told
    assert "secret" not in told
