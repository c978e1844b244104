"""Signs requests with AWS Signature Version 4, as Amazon Bedrock requires. No I/O.

The rules: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html. The key
that signs is derived from the secret for one day, region and service, and never leaves this machine.
"""

import hashlib
import hmac
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, quote

from yarl import URL

_ALGORITHM = "AWS4-HMAC-SHA256"


class AwsCredentials(NamedTuple):
    """An access key, and the token of a session that is limited in time."""

    access_key: str
    secret_key: str
    session_token: str = ""

    def __repr__(self) -> str:
        return f"AwsCredentials({self.access_key!r}, ***)"


class SigningScope(NamedTuple):
    """What a signature is valid for. `at` is the time in the form 20150830T123600Z."""

    at: str
    region: str
    service: str

    def __str__(self) -> str:
        return f"{self.at[:8]}/{self.region}/{self.service}/aws4_request"


def signed_headers(
    method: str,
    url: URL,
    headers: Mapping[str, str],
    body: bytes,
    *,
    credentials: AwsCredentials,
    scope: SigningScope,
) -> dict[str, str]:
    """Return these headers with those of the signature. The given headers are part of what is signed."""
    sent = {**headers, "Host": _host(url), "X-Amz-Date": scope.at}
    if credentials.session_token:
        sent["X-Amz-Security-Token"] = credentials.session_token
    lines = {name.lower(): " ".join(value.split()) for name, value in sent.items()}
    names = ";".join(sorted(lines))
    request = "\n".join(
        (
            method,
            quote(url.raw_path or "/", safe="/-_.~"),  # quoted once more: only S3 takes it as it is sent
            _query(url),
            "".join(f"{name}:{lines[name]}\n" for name in sorted(lines)),
            names,
            hashlib.sha256(body).hexdigest(),
        )
    )
    text = "\n".join((_ALGORITHM, scope.at, str(scope), hashlib.sha256(request.encode()).hexdigest()))
    signature = _hmac(_signing_key(credentials.secret_key, scope), text).hex()
    sent["Authorization"] = (
        f"{_ALGORITHM} Credential={credentials.access_key}/{scope}, SignedHeaders={names}, "
        f"Signature={signature}"
    )
    return sent


def _signing_key(secret_key: str, scope: SigningScope) -> bytes:
    key = f"AWS4{secret_key}".encode()
    for part in (scope.at[:8], scope.region, scope.service, "aws4_request"):
        key = _hmac(key, part)
    return key


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _query(url: URL) -> str:
    pairs = parse_qsl(url.raw_query_string, keep_blank_values=True)
    quoted = sorted((quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in pairs)
    return "&".join(f"{name}={value}" for name, value in quoted)


def _host(url: URL) -> str:
    host = url.host or ""
    return host if url.is_default_port() else f"{host}:{url.port}"
