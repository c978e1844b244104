"""The access matrix: every route, tried by every role, with each form of credentials.

The table has one row per route; a route without a row fails. A refused request changes nothing and reveals
nothing: a resource of another user gets the same response as an unknown id.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from tests.safety.gateway_under_test import (
    CREDENTIAL_HEADERS,
    ENDLESS_PROMPT,
    MODEL,
    NOW_MS,
    GatewayUnderTest,
    HttpResponse,
    Person,
    Rows,
    run_gateway,
    session_file,
)

from thinkaloud.gateway.server.http.route import ApiRoute
from thinkaloud.gateway.server.http.routes import ROUTES
from thinkaloud.gateway.store.queries import users
from thinkaloud.gateway.store.queries.values import new_id
from thinkaloud.gateway.store.rows import Owner

TITLE, PROMPT, THOUGHT, ANSWER, AGENT = "owntitle", "ownprompt", "ownthought", "ownanswer", "ownagent"
NEW_AGENT = {"name": "other", "model": MODEL}


class Row(NamedTuple):
    """The expected status for the owner, the owner in another workspace, a member and a stranger."""

    owner: int
    elsewhere: int
    neighbour: int
    stranger: int
    anonymous: int = 401
    revoked: int = 401
    body: Any = None
    query: str = ""
    operator: int | None = None
    """What the local user gets, if not the same as a stranger."""


def public(status: int = 200) -> Row:
    """A public route. An invalid token is still refused."""
    return Row(status, status, status, status, anonymous=status)


def for_each_user(status: int, body: Any = None, query: str = "") -> Row:
    """Every user gets their own data."""
    return Row(status, status, status, status, body=body, query=query)


def private(status: int, body: Any = None) -> Row:
    """Only the owner, in the same workspace, has access."""
    return Row(status, 404, 404, 404, body=body)


TABLE = {
    "GET /healthz": public(),
    "GET /readyz": public(),
    "GET /metrics": Row(403, 403, 403, 403, operator=200),  # it counts the use of everybody
    "GET /api/openapi.json": public(),
    "GET /api/sessions": for_each_user(200),
    "POST /api/sessions": for_each_user(201, {"title": "another"}),
    "GET /api/sessions/{session}": private(200),
    "PATCH /api/sessions/{session}": private(200, {"title": "renamed"}),
    "DELETE /api/sessions/{session}": private(204),
    "GET /api/sessions/{session}/messages": private(200),
    "GET /api/sessions/{session}/export": private(200),
    "POST /api/import": for_each_user(201, session_file("another", "another")),
    "POST /api/sessions/{session}/turns": private(202, {"prompt": "Hello."}),
    "GET /api/turns/{turn}": private(200),
    "GET /api/turns/{turn}/events": private(200),
    "GET /api/turns/{turn}/context": private(200),
    "POST /api/turns/{turn}/cancel": private(202),
    "POST /api/turns/{turn}/answer-now": private(202),
    "POST /api/turns/{turn}/approvals": private(422, {"block": 0, "granted": True}),
    "GET /api/agents": for_each_user(200),
    "POST /api/agents": for_each_user(201, NEW_AGENT),
    "GET /api/agents/{agent}": Row(200, 404, 200, 404),
    "PUT /api/agents/{agent}": private(200, NEW_AGENT),
    "DELETE /api/agents/{agent}": private(204),
    "GET /api/models": for_each_user(200),
    "GET /api/preferences": for_each_user(200),
    "PUT /api/preferences": for_each_user(200, {"language": "pt-BR"}),
    "GET /api/workspaces": for_each_user(200),
    "GET /api/figures": for_each_user(200),
    "GET /api/search": for_each_user(200, query=f"?q={PROMPT}&scope=prompts,answers,tools,thoughts"),
}
WITH_A_RUNNING_TURN = [f"POST /api/turns/{{turn}}/{act}" for act in ("cancel", "answer-now", "approvals")]
SHARED = ("GET /api/agents", "GET /api/agents/{agent}")
"""Routes that the whole workspace may read."""


def key(route: ApiRoute) -> str:
    return f"{route.method} {route.path}"


def row_of(route: ApiRoute) -> Row:
    if key(route) not in TABLE:
        pytest.fail(f"Who may do {key(route)}? Add a row for it to TABLE in {__name__}.")
    return TABLE[key(route)]


class OwnedResources(NamedTuple):
    """The resources of the owner, created for each case."""

    session: str
    turn: str
    agent: str

    def path(self, route: ApiRoute) -> str:
        return route.path.format(**self._asdict())


class People(NamedTuple):
    """The callers of all roles."""

    owner: Person
    neighbour: Person
    stranger: Person
    revoked_token: str
    """A revoked token of the owner."""
    other_workspace: str

    def secret(self, role: str, gateway: GatewayUnderTest) -> str:
        if role in ("local", "revoked"):
            return gateway.token if role == "local" else self.revoked_token
        person: Person = self.owner if role == "elsewhere" else getattr(self, role)
        return person.secret


def create_people(gateway: GatewayUnderTest) -> People:
    owner = gateway.create_person("owner", "red")
    second = gateway.write(lambda conn: users.add_member(conn, owner.owner.user, "blue", NOW_MS))
    token, secret = gateway.write(lambda conn: users.create_token(conn, owner.owner.user, "old", NOW_MS))
    assert gateway.write(lambda conn: users.revoke_token(conn, token.id, NOW_MS))
    return People(
        owner,
        gateway.create_person("neighbour", "red"),
        gateway.create_person("stranger", "white"),
        secret,
        second.id,
    )


class GatewayWithPeople(NamedTuple):
    gateway: GatewayUnderTest
    people: People
    kept_resources: dict[bool, OwnedResources]
    """What the owner keeps while others try to get it, with a running turn or without."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayWithPeople]:
    with run_gateway(tmp_path_factory.mktemp("matrix")) as gateway:
        yield GatewayWithPeople(gateway, create_people(gateway), {})


def create_resources(stage: GatewayWithPeople, route: ApiRoute) -> OwnedResources:
    gateway, owner = stage.gateway, stage.people.owner.headers
    session, turn = gateway.import_session(owner, TITLE, PROMPT, THOUGHT, ANSWER)
    if key(route) in WITH_A_RUNNING_TURN:
        turn = gateway.start_turn(owner, session, ENDLESS_PROMPT)
    assert gateway.request("PUT", "/api/preferences", {"language": "en-US"}, owner).status == 200
    return OwnedResources(session, turn, gateway.create_agent(owner, AGENT, system=AGENT))


def cancel_turns(stage: GatewayWithPeople, resources: OwnedResources) -> None:
    """Cancel all turns before the next case."""
    owner = stage.people.owner.headers
    response = stage.gateway.request("GET", f"/api/sessions/{resources.session}", headers=owner)
    for turn in response.json["turns"] if response.status == 200 else ():
        stage.gateway.request("POST", f"/api/turns/{turn['id']}/cancel", headers=owner)


def unchanged(rows_before: Rows, rows_after: Rows, owner: Owner) -> bool:
    """Return whether all rows are unchanged, except preferences of other users."""
    own_preferences = {row for row in rows_before["preferences"] if row[:2] == (owner.user, owner.workspace)}
    assert own_preferences, "the owner has preferences to lose"
    return all(
        rows <= rows_after[table] for table, rows in (rows_before | {"preferences": own_preferences}).items()
    )


ROLES = ("owner", "elsewhere", "neighbour", "stranger", "local", "revoked", "anonymous")
CASES = [
    pytest.param(route, role, form, id=f"{key(route)}-{role}-{form}")
    for route in ROUTES
    for role in ROLES
    for form in (CREDENTIAL_HEADERS if role != "anonymous" else ("none",))
]


@pytest.mark.parametrize(("route", "role", "form"), CASES)
def test_access_matrix(route: ApiRoute, role: str, form: str, stage: GatewayWithPeople) -> None:
    """S6, S8."""
    row = row_of(route)
    running = key(route) in WITH_A_RUNNING_TURN
    # Others change nothing of these, or the check fails. Then the next case gets new ones.
    kept = None if role == "owner" else stage.kept_resources.pop(running, None)
    resources = kept or create_resources(stage, route)
    try:
        _check_access(route, role, form, stage, resources, row)
    except BaseException:
        cancel_turns(stage, resources)
        raise
    if role == "owner":
        cancel_turns(stage, resources)
    else:
        stage.kept_resources[running] = resources


def _check_access(
    route: ApiRoute, role: str, form: str, stage: GatewayWithPeople, resources: OwnedResources, row: Row
) -> None:
    gateway = stage.gateway
    headers = [] if role == "anonymous" else [CREDENTIAL_HEADERS[form](stage.people.secret(role, gateway))]
    if role == "elsewhere":
        headers.append(("Thinkaloud-Workspace", stage.people.other_workspace))

    def send_request(method: str, path: str) -> HttpResponse:
        return gateway.request(method, path + row.query, row.body, headers)

    rows_before = {} if role == "owner" else gateway.all_rows()
    if route.method == "GET":
        assert send_request("HEAD", resources.path(route)).status == _expected_status(row, role)
    response = send_request(route.method, resources.path(route))
    assert response.status == _expected_status(row, role), response
    if role == "owner":
        return
    rows_after = gateway.all_rows()
    if response.status < 400:
        assert unchanged(rows_before, rows_after, stage.people.owner.owner)
    else:
        changed = {
            name: rows ^ rows_after[name] for name, rows in rows_before.items() if rows != rows_after[name]
        }
        assert not changed
    assert not _leaked_texts(response, resources, shared=role == "neighbour" and key(route) in SHARED)
    if response.status == 404:
        unknown_resources = OwnedResources(new_id("ses"), new_id("trn"), new_id("agt"))
        assert response.body == send_request(route.method, unknown_resources.path(route)).body
    if response.status == 401:
        assert (response.code, response.headers["www-authenticate"]) == ("unauthorised", "Bearer")


def _expected_status(row: Row, role: str) -> int:
    """The local user, who has the start token, is a stranger to all other users."""
    if role == "local" and row.operator is not None:
        return row.operator
    return int(getattr(row, "stranger" if role == "local" else role))


def _leaked_texts(response: HttpResponse, resources: OwnedResources, *, shared: bool) -> list[str]:
    """Return the texts of the owner that a response contains."""
    secrets = [*resources, TITLE, PROMPT, THOUGHT, ANSWER, AGENT]
    if shared:
        secrets = [secret for secret in secrets if secret not in (AGENT, resources.agent)]
    text = response.body.decode() + repr(response.headers)
    return [secret for secret in secrets if secret in text]


def test_access_matrix_covers_every_route() -> None:
    keys = {key(route) for route in ROUTES}
    assert not keys - TABLE.keys(), f"Who may do this? Add rows to TABLE: {sorted(keys - TABLE.keys())}"
    assert not TABLE.keys() - keys, f"There is no such route any more: {sorted(TABLE.keys() - keys)}"


def test_route_missing_in_the_access_matrix_fails() -> None:
    new = ApiRoute(method="GET", path="/api/new", handler=None, summary="")
    with pytest.raises(pytest.fail.Exception, match="Who may do GET /api/new"):
        row_of(new)


def test_access_matrix_detects_the_owners_texts(stage: GatewayWithPeople) -> None:
    """The leak detection finds the owner's texts where they are; otherwise the matrix proves nothing."""
    gateway, owner = stage.gateway, stage.people.owner.headers
    resources = create_resources(stage, ROUTES[0])
    paths = {
        f"/api/sessions/{resources.session}": {resources.session, resources.turn, TITLE},
        f"/api/sessions/{resources.session}/messages": {resources.turn, PROMPT, THOUGHT, ANSWER},
        f"/api/agents/{resources.agent}": {resources.agent, AGENT},
        f"/api/search{TABLE['GET /api/search'].query}": {resources.session, resources.turn, TITLE, PROMPT},
    }
    for path, words in paths.items():
        assert words <= set(
            _leaked_texts(gateway.request("GET", path, headers=owner), resources, shared=False)
        ), path
