"""The OpenAPI document against the gateway it describes: every operation, with data that fits and that does not.

Whatever is sent, the gateway answers with a status, a content type and a body that the document promises,
refuses what the document refuses, and never breaks. Once with ids out of the air, and once with ids of
things that are there: then every operation must have succeeded, so that its answer was looked at.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import Status, events, from_schema
from tests.safety.ground import MODEL, Ground, Person, ground

from thinkaloud.server.routes import ROUTES

SEED = 20261116
EXAMPLES = 60
"""For each operation, beside the borders of every parameter, which are always tried."""
THINGS = 60

# Two checks do not fit, and say nothing here. `ignored_auth`: the document says that no token is needed, as is
# so on the machine itself, and the matrix tries every route without one. `object_level_authorization`: it
# wants a second user in its configuration; the matrix and the state machine have three.
CHECKS: dict[str, Any] = {
    "positive_data_acceptance": {
        # 422 is "understood, and not possible": a model, a language or a cursor that there is not. What a
        # schema can say, it says, so that data which fits it is never called malformed (400).
        "expected-statuses": ["2xx", "401", "404", "409", "422", "429"]
    },
    "ignored_auth": {"enabled": False},
}


class Stock(NamedTuple):
    """What somebody has, for operations to work on."""

    who: Person
    sessions: list[str]
    turns: list[str]
    agents: list[str]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with ground(tmp_path_factory.mktemp("schemathesis")) as found:
        yield found


def stocked(place: Ground, name: str) -> Stock:
    who = place.person(name, name)
    made = [place.imported(who.headers, f"Session {number}", "word") for number in range(THINGS)]
    agents = [place.agent(who.headers, f"Agent {number}") for number in range(THINGS)]
    return Stock(who, [one for one, _ in made], [turn for _, turn in made], agents)


def configured(place: Ground, stock: Stock, likely: float) -> SchemathesisConfig:
    """`likely` says how often a value is taken from what there is."""
    known = {
        "path.session": stock.sessions,
        "path.turn": stock.turns,
        "path.agent": stock.agents,
        "header.Thinkaloud-Workspace": [stock.who.workspace_id],
        "body.model": [MODEL],
        "body.agent": ["", stock.agents[0]],
        "body.language": ["pt-BR"],
        "body.prompt": ["Hello."],
        "query.q": ["word"],
        "query.scope": ["prompts,thoughts"],
        "query.after": [""],
        "query.lang": ["pt-BR"],
    }
    return SchemathesisConfig.from_dict(
        {
            "seed": SEED,
            "base-url": place.url,
            "headers": dict(stock.who.headers),
            "request-timeout": 30,
            "continue-on-failure": True,
            "generation": {"max-examples": EXAMPLES, "deterministic": True, "database": "none"},
            "checks": CHECKS,
            "dictionaries": {name.replace(".", "-"): {"values": values} for name, values in known.items()},
            "parameters": {
                name: {"dictionary": name.replace(".", "-"), "probability": likely} for name in known
            },
        }
    )


class Found(NamedTuple):
    """What a run came to."""

    failures: list[str]
    answers: Counter[tuple[str, int]]
    """How often each route gave each status."""


def run(place: Ground, config: SchemathesisConfig) -> Found:
    schema = schemathesis.openapi.from_url(f"{place.url}/api/openapi.json", config=config)
    found = Found([], Counter())
    for event in from_schema(schema).execute():
        match event:
            case events.ScenarioFinished():
                found.failures.extend(_failures(event))
                found.answers.update(_answers(event))
            case events.NonFatalError() | events.FatalError():
                found.failures.append(repr(event))
    return found


def _failures(event: events.ScenarioFinished) -> Iterator[str]:
    for checks in event.recorder.checks.values():
        for check in checks:
            if check.status is not Status.SUCCESS and check.failure_info is not None:
                told = check.failure_info
                yield f"{event.recorder.label}: {told.failure.title}: {told.failure.message}\n{told.code_sample}"


def _answers(event: events.ScenarioFinished) -> Iterator[tuple[str, int]]:
    for one in event.recorder.interactions.values():
        if one.response is not None:
            yield f"{one.request.method} {_template(one.request.uri)}", one.response.status_code


def _template(url: str) -> str:
    path = "/" + url.split("?")[0].split("/", 3)[3]
    for route in ROUTES:
        if re.fullmatch(re.sub(r"{\w+}", "[^/]+", route.path), path):
            return route.path
    return "none"


@pytest.mark.parametrize(("name", "likely"), [("blind", 0.0), ("informed", 0.8)])
def test_the_gateway_keeps_what_its_document_promises(name: str, likely: float, place: Ground) -> None:
    found = run(place, configured(place, stocked(place, name), likely))
    assert not found.failures, "\n\n".join(found.failures)
    assert found.answers.total() > EXAMPLES * len(ROUTES) // 2
    if likely:
        succeeded = {f"{route.method} {route.path}": route.status for route in ROUTES}
        never = {key: found.answers[key, status] for key, status in succeeded.items()}
        print(found.answers)
        assert min(never.values()) > 0, never
    tried = {key for key, _ in found.answers}
    assert {f"{route.method} {route.path}" for route in ROUTES} <= tried
