"""TLS: a private certificate authority is trusted only if it is configured."""

import asyncio
import contextlib
import datetime
import ipaddress
import ssl
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import pytest
import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.client.upstream import (
    KEY,
    STORY,
    STREAM,
    UpstreamRequest,
    http_response,
    make_client,
    prepared,
    serve_upstream,
)
from tests.patience import PATIENCE_S

from thinkaloud.client import Unreachable, ask
from thinkaloud.core.transcript import Turn


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Write a file with a key and a self-signed certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a test")])
    today = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - datetime.timedelta(days=1))
        .not_valid_after(today + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "server.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    return path


def server_context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


async def ask_over_tls(certificate: Path) -> Turn:
    async def send_story(request: UpstreamRequest) -> None:
        await request.send(STREAM, *STORY)

    async with serve_upstream(send_story, tls=server_context(certificate)) as upstream:
        return await ask(prepared(upstream.route()))


def test_a_configured_authority_is_trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_KEY", KEY)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert asyncio.run(ask_over_tls(certificate)).answer == "Four."


def test_an_unknown_authority_is_refused_with_what_to_do(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_KEY", KEY)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with pytest.raises(Unreachable, match="SSL_CERT_FILE"):
        asyncio.run(ask_over_tls(certificate))


TUNNEL_HEADS = [
    b"HTTP/1.1 200 Connection established\r\nProxy-Agent: test\r\n\r\n",
    # A proxy may send these, and a client must ignore them: what follows is the tunnel.
    b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
]


async def tunnel(request: UpstreamRequest, head: bytes) -> None:
    """Connect to the origin that the request names, and pass bytes on in both directions."""
    host, _, port = request.head.split()[1].rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    await request.send(head)
    await asyncio.gather(_pass_on(request.reader, writer), _pass_on(reader, request.writer))


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
    writer.close()


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("proxy_scheme", ["http", "https"])
@pytest.mark.parametrize("head", TUNNEL_HEADS)
def test_tunnel_through_a_proxy_hides_the_request_and_is_kept(
    head: bytes, proxy_scheme: str, new_loop: Callable[[], asyncio.AbstractEventLoop], certificate: Path
) -> None:
    async def answer(request: UpstreamRequest) -> None:
        await request.send(http_response("200 OK", b'{"data":[]}'))

    async def scenario() -> tuple[list[str], list[int]]:
        tls = server_context(certificate)
        async with (
            serve_upstream(partial(tunnel, head=head), tls=tls if proxy_scheme == "https" else None) as proxy,
            serve_upstream(answer, keep=True, tls=tls) as upstream,
        ):
            environ = {
                "ACME_KEY": KEY,
                "SSL_CERT_FILE": str(certificate),
                "https_proxy": f"{proxy_scheme}://me:p%40ss@127.0.0.1:{proxy.port}",
            }
            async with make_client(environ=environ) as client:
                for _ in range(2):
                    assert await client.fetch(upstream.provider(), "/models") == b'{"data":[]}'
            return [request.head for request in proxy.requests], [one.connection for one in upstream.requests]

    with asyncio.Runner(loop_factory=new_loop) as runner:
        heads, connections = runner.run(asyncio.wait_for(scenario(), PATIENCE_S))
    assert len(heads) == 1
    assert heads[0].startswith("CONNECT 127.0.0.1:")
    assert "Proxy-Authorization: Basic bWU6cEBzcw==" in heads[0]  # me:p@ss
    assert KEY not in heads[0]
    assert connections == [1, 1]


def test_requests_at_once_never_share_a_tunnel_that_is_being_opened(certificate: Path) -> None:
    """Else the second one would be sent, with its key, before the connection is encrypted."""

    async def answer(request: UpstreamRequest) -> None:
        await request.send(http_response("200 OK", b"[]"))

    async def scenario() -> list[str]:
        tls = server_context(certificate)
        async with (
            serve_upstream(partial(tunnel, head=TUNNEL_HEADS[1])) as proxy,
            serve_upstream(answer, keep=True, tls=tls) as upstream,
        ):
            environ = {
                "ACME_KEY": KEY,
                "SSL_CERT_FILE": str(certificate),
                "https_proxy": f"http://127.0.0.1:{proxy.port}",
            }
            async with make_client(environ=environ) as client:
                await asyncio.gather(*(client.fetch(upstream.provider(), "/models") for _ in range(8)))
            return [request.head for request in proxy.requests]

    heads = asyncio.run(asyncio.wait_for(scenario(), PATIENCE_S))
    assert all(head.startswith("CONNECT ") for head in heads)
    assert KEY not in "".join(heads)


def test_certificate_of_a_proxy_is_named_when_it_is_not_trusted(certificate: Path) -> None:
    async def scenario() -> str:
        async with serve_upstream(partial(tunnel, head=b""), tls=server_context(certificate)) as proxy:
            environ = {"ACME_KEY": KEY, "https_proxy": f"https://127.0.0.1:{proxy.port}"}
            async with make_client(environ=environ) as client:
                provider = msgspec.structs.replace(proxy.provider(), base_url="https://acme.invalid/v1")
                with pytest.raises(Unreachable) as error_info:
                    await client.fetch(provider, "/models")
        return str(error_info.value)

    assert "SSL_CERT_FILE" in asyncio.run(asyncio.wait_for(scenario(), PATIENCE_S))
