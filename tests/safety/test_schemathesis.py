"""The gateway against its OpenAPI document: every operation, with valid and invalid data.

Every response has a status, a content type and a body that the document allows, invalid data is refused,
and nothing crashes. One run uses random ids. The other uses existing ids, and every operation must succeed
at least once, so that its response is checked.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema
from tests.safety.gateway_under_test import MODEL, WAIT_S, GatewayUnderTest, Person, run_gateway, session_file

from thinkaloud.gateway.server.http.routes import ROUTES

SEED = 20261116
EXAMPLES = 15 if "ALL_CASES" in os.environ else 5
"""Examples per operation, in addition to the bounds of every parameter."""
WITH_A_LIVE_TURN = ("POST /api/turns/{turn}/answer-now", "POST /api/turns/{turn}/approvals")
"""These are tested in tests/server/test_agent_turns.py: here no turn waits for approval."""
RESOURCE_COUNT = 60

ACCEPTED = ["2xx", "401", "404", "409", "422", "429"]
"""Statuses for data that matches the document. 422 means an unknown model, language or cursor. 400 is not
allowed: what a schema can express, it must express."""

REFUSED = ["400", "401", "404", "409", "413", "415", "422", "429", "431"]
"""Statuses for data that does not match the document, including too large."""

# Two checks say nothing here. `ignored_auth`: the document says that no token is needed, as is so on the
# machine itself; the matrix tries every route without one. `object_level_authorization` wants a second user
# in its configuration; the matrix and the state machine have three.
CHECKS: dict[str, Any] = {
    "positive_data_acceptance": {"expected-statuses": ACCEPTED},
    "negative_data_rejection": {"expected-statuses": REFUSED},
    "ignored_auth": {"enabled": False},
    "object_level_authorization": {"enabled": False},
}
OPERATORS_ONLY = "GET /metrics"
METRICS_CHECKS: dict[str, Any] = {
    "include-path": "/metrics",
    "checks": {"positive_data_acceptance": {"expected-statuses": [*ACCEPTED, "403"]}},
}
"""Metrics count the use of everybody, so that only the local user may read them."""
# A stream is one string in OpenAPI 3.1, and schemathesis compares single events with that. A place that is
# given twice and differently is malformed, which no schema of single parameters can say.
STREAM_CHECKS: dict[str, Any] = {
    "include-path": "/api/turns/{turn}/events",
    "checks": {
        "response_schema_conformance": {"enabled": False},
        "positive_data_acceptance": {"expected-statuses": [*ACCEPTED, "400"]},
    },
}


class OwnedResources(NamedTuple):
    """The resources that operations work on."""

    person: Person
    sessions: list[str]
    turns: list[str]
    agents: list[str]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayUnderTest]:
    with run_gateway(tmp_path_factory.mktemp("schemathesis")) as gateway:
        yield gateway


def create_resources(gateway: GatewayUnderTest, name: str) -> OwnedResources:
    person = gateway.create_person(name, name)
    imported = [
        gateway.import_session(person.headers, f"Session {number}", "word")
        for number in range(RESOURCE_COUNT)
    ]
    agents = [gateway.create_agent(person.headers, f"Agent {number}") for number in range(RESOURCE_COUNT)]
    return OwnedResources(
        person, [session for session, _ in imported], [turn for _, turn in imported], agents
    )


def known_values(stock: OwnedResources) -> dict[str, list[str]]:
    """Return ids that exist."""
    return {
        "path.session": stock.sessions,
        "path.turn": stock.turns,
        "path.agent": stock.agents,
        "header.Thinkaloud-Workspace": [stock.person.workspace_id],
        "body.model": [MODEL],
        "body.agent": ["", stock.agents[0]],
        "body.language": ["pt-BR"],
        "body.prompt": ["Hello."],
        "query.q": ["word"],
        "query.scope": ["prompts,thoughts"],
        "query.after": [""],
        "query.lang": ["pt-BR"],
    }


def configure(
    gateway: GatewayUnderTest, stock: OwnedResources, values: dict[str, list[str]]
) -> SchemathesisConfig:
    """Configure all checks. Known values are used in four of five requests."""
    names = {name: name.replace(".", "-") for name in values}
    settings = {
        "seed": SEED,
        "base-url": gateway.url,
        "headers": dict(stock.person.headers),
        "request-timeout": WAIT_S,
        "continue-on-failure": True,
        "generation": {"max-examples": EXAMPLES, "deterministic": True, "database": "none"},
        "checks": CHECKS,
        "operations": [STREAM_CHECKS, METRICS_CHECKS],
        "dictionaries": {names[name]: {"values": value_list} for name, value_list in values.items()},
        "parameters": {name: {"dictionary": names[name], "probability": 0.8} for name in values},
    }
    return SchemathesisConfig.from_dict(settings)


class SchemathesisResult(NamedTuple):
    """The result of a run."""

    failures: list[str]
    statuses: Counter[tuple[str, int]]
    """The number of responses by route and status."""


def run(gateway: GatewayUnderTest, config: SchemathesisConfig) -> SchemathesisResult:
    # Loaded from where it is, the operation that gives it would be left out.
    schema = schemathesis.openapi.from_dict(gateway.request("GET", "/api/openapi.json").json, config=config)
    schema.hook("map_body")(_with_content)
    result = SchemathesisResult([], Counter())
    for event in from_schema(schema).execute():
        match event:
            case events.ScenarioFinished():
                result.failures.extend(_failures(event))
                result.statuses.update(_statuses(event))
            case events.NonFatalError() | events.FatalError():
                result.failures.append(repr(event))
    return result


def _with_content(context: schemathesis.HookContext, body: Any) -> Any:
    """Give some bodies what no schema describes: a valid file, and a prompt where there is nothing yet."""
    path = context.operation.path if context.operation is not None else ""
    if path == "/api/import" and isinstance(body, dict | list | int | float | None):  # not a text of markdown
        return session_file("Imported", "word")
    if path == "/api/sessions/{session}/turns" and body == {}:
        return {"prompt": "Hello.", "model": MODEL}
    return body


def _failures(event: events.ScenarioFinished) -> Iterator[str]:
    for check in chain.from_iterable(event.recorder.checks.values()):
        if (failure_info := check.failure_info) is not None:
            failure = failure_info.failure
            yield f"{event.recorder.label}: {failure.title}: {failure.message}\n{failure_info.code_sample}"


def _statuses(event: events.ScenarioFinished) -> Iterator[tuple[str, int]]:
    for interaction in event.recorder.interactions.values():
        if interaction.response is not None:
            yield (
                f"{interaction.request.method} {_template(interaction.request.uri)}",
                interaction.response.status_code,
            )


def _template(url: str) -> str:
    path = "/" + url.partition("?")[0].split("/", 3)[3]
    for route in ROUTES:
        if re.fullmatch(re.sub(r"{\w+}", "[^/]+", route.path), path):
            return route.path
    return "none"


@pytest.mark.parametrize("informed", [False, True])
def test_gateway_conforms_to_its_openapi_document(informed: bool, gateway: GatewayUnderTest) -> None:
    stock = create_resources(gateway, f"informed-{informed}")
    result = run(gateway, configure(gateway, stock, known_values(stock) if informed else {}))
    assert not result.failures, "\n\n".join(result.failures)
    for route in ROUTES:
        key = f"{route.method} {route.path}"
        statuses = [status for name, status in result.statuses if name == key]
        assert statuses, f"{key} was not tried"
        succeeded = min(statuses) < 300 or key in WITH_A_LIVE_TURN or key == OPERATORS_ONLY
        assert not informed or succeeded, f"{key} never succeeded"
