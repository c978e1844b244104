"""The bytes of an error response, for requests that are refused before they reach the application."""

from http import HTTPStatus

from thinkaloud.server.app import JSON, SECURITY_HEADERS
from thinkaloud.server.errors import HttpRefusal, error_response


def response_bytes(refusal: HttpRefusal) -> bytes:
    """Return a whole response that closes the connection."""
    response = error_response(refusal)
    body = response.body
    headers = [
        (b"content-type", JSON.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        *SECURITY_HEADERS,
    ]
    status_line = f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}\r\n".encode()
    return status_line + b"".join(b"%b: %b\r\n" % pair for pair in headers) + b"\r\n" + body
