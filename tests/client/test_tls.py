"""TLS: a private certificate authority is trusted only if it is configured."""

import asyncio
import datetime
import ipaddress
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.client.upstream import KEY, STORY, STREAM, UpstreamRequest, prepared, serve_upstream

from thinkaloud.client import Unreachable, ask
from thinkaloud.transcript import Turn


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


async def ask_over_tls(certificate: Path) -> Turn:
    async def send_story(request: UpstreamRequest) -> None:
        await request.send(STREAM, *STORY)

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    async with serve_upstream(send_story, tls=context) as upstream:
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
