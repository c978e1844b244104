"""The headers that carry or use a provider's key."""

import time
from collections.abc import Mapping

from yarl import URL

from thinkaloud.client.aws_signature import AwsCredentials, SigningScope, signed_headers
from thinkaloud.client.keys import Secret
from thinkaloud.core.catalog.rows import AuthScheme

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
