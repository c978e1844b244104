"""AWS signatures equal those of the examples that AWS publishes for Signature Version 4."""

import pytest
from yarl import URL

from thinkaloud.client.auth_headers import AwsCredentials, SigningScope, signed_headers

CREDENTIALS = AwsCredentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
AT = "20150830T123600Z"
FORM = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}


@pytest.mark.parametrize(
    ("method", "url", "headers", "service", "signature"),
    [
        (
            "GET",
            "https://example.amazonaws.com/",
            {},
            "service",
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
        ),
        (
            "POST",
            "https://example.amazonaws.com/",
            {},
            "service",
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
        ),
        (
            "GET",
            "https://example.amazonaws.com/?Param2=value2&Param1=value1",
            {},
            "service",
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        (
            "GET",
            "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08",
            FORM,
            "iam",
            "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
        ),
    ],
    ids=["get-vanilla", "post-vanilla", "get-vanilla-query-order-key-case", "iam-list-users"],
)
def test_signature_of_published_examples(
    method: str, url: str, headers: dict[str, str], service: str, signature: str
) -> None:
    signed = signed_headers(
        method,
        URL(url),
        headers,
        b"",
        credentials=CREDENTIALS,
        scope=SigningScope(AT, "us-east-1", service),
    )
    assert signed["Authorization"].endswith(f"Signature={signature}")
    assert f"Credential=AKIDEXAMPLE/20150830/us-east-1/{service}/aws4_request" in signed["Authorization"]


def test_session_token_is_signed_and_secrets_are_not_printed() -> None:
    credentials = CREDENTIALS._replace(session_token="a-token")
    scope = SigningScope(AT, "us-east-1", "bedrock")
    signed = signed_headers(
        "POST", URL("https://h/model/a%3A0"), {}, b"{}", credentials=credentials, scope=scope
    )
    assert signed["X-Amz-Security-Token"] == "a-token"
    assert "host;x-amz-date;x-amz-security-token" in signed["Authorization"]
    assert CREDENTIALS.secret_key not in repr(credentials) + str(signed)
