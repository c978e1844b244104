"""Azure OpenAI, Vertex and Bedrock: their addresses, their keys, and deployments under another name."""

import asyncio
from collections.abc import Mapping

import pytest

from thinkaloud.client import Options, ask
from thinkaloud.client.address import fill_address
from thinkaloud.client.http import Client, ClientEnvironment
from thinkaloud.core.canon.errors import UnsafeAddress
from thinkaloud.core.catalog import builtin_catalog, builtin_texts, parse_catalog, route
from thinkaloud.core.context import AnsweredTurn
from thinkaloud.core.context.replay_rules import issued_by_route
from thinkaloud.core.transcript import Turn
from thinkaloud.simulators import run_simulator

AWS = {
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI",
    "AWS_SESSION_TOKEN": "token-1",
    "AWS_REGION": "eu-west-1",
}


def test_address_is_filled_from_the_environment() -> None:
    environ = {"AWS_REGION": "eu-west-1", "GOOGLE_CLOUD_PROJECT": "p-1", "GOOGLE_CLOUD_LOCATION": "us-east4"}
    bedrock, vertex = (builtin_catalog().providers[name].base_url for name in ("bedrock", "vertex"))
    assert fill_address("bedrock", bedrock, environ) == "https://bedrock-runtime.eu-west-1.amazonaws.com"
    assert fill_address("vertex", vertex, environ) == (
        "https://us-east4-aiplatform.googleapis.com/v1/projects/p-1/locations/us-east4/publishers/google"
    )
    with pytest.raises(UnsafeAddress, match="contains AWS_REGION, which is not set"):
        fill_address("bedrock", bedrock, {})


@pytest.mark.parametrize("region", ["evil.test/", "a@b", "..", "x y"])
def test_address_takes_no_value_that_changes_the_host(region: str) -> None:
    with pytest.raises(UnsafeAddress, match="cannot be part of the address"):
        fill_address("bedrock", "https://bedrock-runtime.{AWS_REGION}.amazonaws.com", {"AWS_REGION": region})


def sent_headers(row: str, environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return the headers of a request to a provider with these fields, at a server that checks no key."""

    async def scenario() -> Mapping[str, str]:
        async with run_simulator("ollama") as server:
            rows = f'[providers.ollama]\nbase_url = "{server.url}"\n{row}'
            client = Client(environment=ClientEnvironment(environ=environ))
            options = Options(catalog=parse_catalog(*builtin_texts(), rows), client=client)
            await ask("Hello?", model="ollama/tinyllama", options=options)
            return server.requests[-1].headers

    return asyncio.run(scenario())


def test_azure_key_header(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "sk-azure")
    assert builtin_catalog().providers["azure"].auth == "api-key"
    headers = sent_headers('auth = "api-key"\nkey = "env:A_KEY"\n', {"A_KEY": "sk-azure"})
    assert headers["api-key"] == "sk-azure"
    assert "authorization" not in headers


def test_bedrock_request_is_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", AWS["AWS_SECRET_ACCESS_KEY"])
    key = builtin_catalog().providers["bedrock"].key
    headers = sent_headers(f'auth = "aws"\nkey = "{key}"\n', AWS)
    assert "/eu-west-1/bedrock/aws4_request, " in headers["authorization"]
    assert headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token" in headers["authorization"]
    assert headers["x-amz-security-token"] == "token-1"
    assert AWS["AWS_SECRET_ACCESS_KEY"] not in "".join(headers.values())


def test_bedrock_bearer_token_goes_before_a_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "token-2")
    key = builtin_catalog().providers["bedrock"].key
    headers = sent_headers(f'auth = "aws"\nkey = "{key}"\n', {**AWS, "AWS_BEARER_TOKEN_BEDROCK": "token-2"})
    assert headers["authorization"] == "Bearer token-2"


def test_deployment_is_known_as_the_model_it_is() -> None:
    """Its responses have the model's name, and its thoughts go back to it and not to the model elsewhere."""
    row = '[models.team-chat]\ndeployment_of = "gpt-5"\nat = { azure = "team-chat" }\n'
    catalog = parse_catalog(*builtin_texts(), row)
    deployment = route(catalog, "team-chat", thinking=True, have_key=lambda _: True)
    assert (deployment.provider.name, deployment.model_id) == ("azure", "team-chat")
    assert deployment.model.efforts == catalog.models["gpt-5"].efforts
    turn = Turn(dialect="openai_responses", model="gpt-5-2025-08-07")
    assert issued_by_route(AnsweredTurn(turn, provider="azure"), deployment)
    assert not issued_by_route(AnsweredTurn(turn, provider="openai"), deployment)
    other = Turn(dialect="openai_responses", model="o3")
    assert not issued_by_route(AnsweredTurn(other, provider="azure"), deployment)
