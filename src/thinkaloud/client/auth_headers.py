"""The headers that carry or use a provider's key.

Amazon Bedrock requires AWS Signature Version 4. The rules:
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html. The key that signs
is derived from the secret for one day, region and service, and never leaves this machine. No I/O.
"""

import hashlib
import hmac
import time
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, quote

from yarl import URL

from thinkaloud.client.keys import Secret
from thinkaloud.core.catalog.rows import AuthScheme

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


_AWS_SERVICE = "bedrock"


def auth_headers(auth: AuthScheme, key: Secret) -> dict[str, str]:
    """Return the header with the key itself."""
    match auth:
        case AuthScheme.BEARER | AuthScheme.AWS:
            return {"Authorization": key.header("Bearer ")}
        case AuthScheme.X_API_KEY | AuthScheme.X_GOOG_API_KEY | AuthScheme.API_KEY as name:
            return {name.value.title(): key.header()}
        case AuthScheme.NONE:
            return {}


def signs_requests(auth: AuthScheme, key: Secret, environ: Mapping[str, str]) -> bool:
    """Return whether requests are signed: the key is the secret of an AWS access key, and no bearer token."""
    return auth is AuthScheme.AWS and key.reveal() == environ.get("AWS_SECRET_ACCESS_KEY", "").strip()


def aws_headers(
    url: URL, content_type: str, body: bytes, environ: Mapping[str, str], now_s: float
) -> dict[str, str]:
    """Return the headers of an AWS signature. Only what no proxy changes is signed."""
    credentials = AwsCredentials(
        environ.get("AWS_ACCESS_KEY_ID", "").strip(),
        environ["AWS_SECRET_ACCESS_KEY"].strip(),
        environ.get("AWS_SESSION_TOKEN", "").strip(),
    )
    at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now_s))
    signed = signed_headers(
        "POST" if body else "GET",
        url,
        {"Content-Type": content_type} if content_type else {},
        body,
        credentials=credentials,
        scope=SigningScope(at, _region(url, environ), _AWS_SERVICE),
    )
    del signed["Host"]  # the HTTP library sends it
    return {name: Secret(value).header() for name, value in signed.items()}


def _region(url: URL, environ: Mapping[str, str]) -> str:
    """Return the region of the host `service.REGION.amazonaws.com`, or that of the environment."""
    labels = (url.host or "").split(".")
    if labels[-2:] == ["amazonaws", "com"] and len(labels) == 4:
        return labels[1]
    return environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or "us-east-1"
