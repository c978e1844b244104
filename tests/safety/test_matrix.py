"""Every route of the table, tried by everybody who could come, with each form of credentials.

What each may get is written down here, once for each route; a route without a row fails. Whoever is refused
has changed nothing and has learnt nothing: what is somebody else's looks like what never was.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from tests.safety.ground import ENDLESS, FORMS, MODEL, NOW_MS, Answer, Ground, Person, Rows, file, ground

from thinkaloud.server.routes import ROUTES
from thinkaloud.server.routing import Route
from thinkaloud.store import ids, people
from thinkaloud.store.rows import Owner

TITLE, PROMPT, THOUGHT, SAID, AGENT = "owntitle", "ownprompt", "ownthought", "ownanswer", "ownagent"
NEW_AGENT = {"name": "other", "model": MODEL}


class Row(NamedTuple):
    """What each gets: the owner, they in another of their workspaces, who shares theirs, and who does not."""

    owner: int
    elsewhere: int
    neighbour: int
    stranger: int
    anonymous: int = 401
    revoked: int = 401
    body: Any = None
    query: str = ""


def public(status: int = 200) -> Row:
    """Open to everybody; but whoever shows a token must show a right one."""
    return Row(status, status, status, status, anonymous=status)


def ones_own(status: int, body: Any = None, query: str = "") -> Row:
    """Everybody who is known gets their own."""
    return Row(status, status, status, status, body=body, query=query)


def private(status: int, body: Any = None) -> Row:
    """There for its owner, in its workspace, and for nobody else."""
    return Row(status, 404, 404, 404, body=body)


TABLE = {
    "GET /healthz": public(),
    "GET /readyz": public(),
    "GET /metrics": ones_own(200),
    "GET /api/openapi.json": public(),
    "GET /api/sessions": ones_own(200),
    "POST /api/sessions": ones_own(201, {"title": "another"}),
    "GET /api/sessions/{session}": private(200),
    "PATCH /api/sessions/{session}": private(200, {"title": "renamed"}),
    "DELETE /api/sessions/{session}": private(204),
    "GET /api/sessions/{session}/messages": private(200),
    "GET /api/sessions/{session}/export": private(200),
    "POST /api/import": ones_own(201, file("another", "another")),
    "POST /api/sessions/{session}/turns": private(202, {"prompt": "Hello."}),
    "GET /api/turns/{turn}": private(200),
    "GET /api/turns/{turn}/events": private(200),
    "POST /api/turns/{turn}/cancel": private(202),
    "POST /api/turns/{turn}/answer-now": private(202),
    "POST /api/turns/{turn}/approvals": private(422, {"block": 0, "granted": True}),
    "GET /api/agents": ones_own(200),
    "POST /api/agents": ones_own(201, NEW_AGENT),
    "GET /api/agents/{agent}": Row(200, 404, 200, 404),
    "PUT /api/agents/{agent}": private(200, NEW_AGENT),
    "DELETE /api/agents/{agent}": private(204),
    "GET /api/models": ones_own(200),
    "GET /api/preferences": ones_own(200),
    "PUT /api/preferences": ones_own(200, {"language": "pt-BR"}),
    "GET /api/workspaces": ones_own(200),
    "GET /api/search": ones_own(200, query=f"?q={PROMPT}&scope=prompts,answers,tools,thoughts"),
}
WITH_A_RUNNING_TURN = [f"POST /api/turns/{{turn}}/{act}" for act in ("cancel", "answer-now", "approvals")]
SHARED = ("GET /api/agents", "GET /api/agents/{agent}")
"""What the whole workspace may see."""


def key(route: Route) -> str:
    return f"{route.method} {route.path}"


def row_of(route: Route) -> Row:
    if key(route) not in TABLE:
        pytest.fail(f"Who may do {key(route)}? Add a row for it to TABLE in {__name__}.")
    return TABLE[key(route)]


class Estate(NamedTuple):
    """What the owner has, made anew for each case."""

    session: str
    turn: str
    agent: str

    def path(self, route: Route) -> str:
        return route.path.format(**self._asdict())


class Cast(NamedTuple):
    """Everybody who tries."""

    owner: Person
    neighbour: Person
    stranger: Person
    revoked: str
    """A token of the owner's that was taken back."""
    other_workspace: str

    def secret(self, role: str, place: Ground) -> str:
        if role in ("local", "revoked"):
            return place.token if role == "local" else self.revoked
        person: Person = self.owner if role == "elsewhere" else getattr(self, role)
        return person.secret


def cast(place: Ground) -> Cast:
    owner = place.person("owner", "red")
    second = place.write(lambda conn: people.add_member(conn, owner.owner.user, "blue", NOW_MS))
    token, secret = place.write(lambda conn: people.create_token(conn, owner.owner.user, "old", NOW_MS))
    assert place.write(lambda conn: people.revoke_token(conn, token.id, NOW_MS))
    return Cast(owner, place.person("neighbour", "red"), place.person("stranger", "white"), secret, second.id)


class Stage(NamedTuple):
    place: Ground
    cast: Cast


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with ground(tmp_path_factory.mktemp("matrix")) as place:
        yield Stage(place, cast(place))


def estate(stage: Stage, route: Route) -> Estate:
    place, owner = stage.place, stage.cast.owner.headers
    session, turn = place.imported(owner, TITLE, PROMPT, THOUGHT, SAID)
    if key(route) in WITH_A_RUNNING_TURN:
        turn = place.begun(owner, session, ENDLESS)
    assert place.ask("PUT", "/api/preferences", {"language": "en-US"}, owner).status == 200
    return Estate(session, turn, place.agent(owner, AGENT, system=AGENT))


def settled(stage: Stage, theirs: Estate) -> None:
    """Let no turn go on into the next case."""
    owner = stage.cast.owner.headers
    found = stage.place.ask("GET", f"/api/sessions/{theirs.session}", headers=owner)
    for turn in found.json["turns"] if found.status == 200 else ():
        stage.place.ask("POST", f"/api/turns/{turn['id']}/cancel", headers=owner)


def kept(before: Rows, after: Rows, owner: Owner) -> bool:
    """Whether all that was there is still there, as it was; preferences are each one's own to change."""
    wishes = {row for row in before["preferences"] if row[:2] == (owner.user, owner.workspace)}
    assert wishes, "the owner has preferences to lose"
    return all(rows <= after[table] for table, rows in (before | {"preferences": wishes}).items())


ROLES = ("owner", "elsewhere", "neighbour", "stranger", "local", "revoked", "anonymous")
CASES = [
    pytest.param(route, role, form, id=f"{key(route)}-{role}-{form}")
    for route in ROUTES
    for role in ROLES
    for form in (FORMS if role != "anonymous" else ("none",))
]


@pytest.mark.parametrize(("route", "role", "form"), CASES)
def test_everybody_gets_what_is_theirs_and_nothing_else(
    route: Route, role: str, form: str, stage: Stage
) -> None:
    row = row_of(route)
    theirs = estate(stage, route)
    try:
        _try(route, role, form, stage, theirs, row)
    finally:
        settled(stage, theirs)


def _try(route: Route, role: str, form: str, stage: Stage, theirs: Estate, row: Row) -> None:
    place = stage.place
    headers = [] if role == "anonymous" else [FORMS[form](stage.cast.secret(role, place))]
    if role == "elsewhere":
        headers.append(("Thinkaloud-Workspace", stage.cast.other_workspace))

    def come(method: str, path: str) -> Answer:
        return place.ask(method, path + row.query, row.body, headers)

    before = place.everything()
    if route.method == "GET":
        assert come("HEAD", theirs.path(route)).status == _wanted(row, role)
    told = come(route.method, theirs.path(route))
    assert told.status == _wanted(row, role), told
    after = place.everything()
    if role == "owner":
        return
    assert kept(before, after, stage.cast.owner.owner) if told.status < 400 else before == after
    assert not _seen(told, theirs, shared=role == "neighbour" and key(route) in SHARED)
    if told.status == 404:
        never = Estate(ids.new("ses"), ids.new("trn"), ids.new("agt"))
        assert told.body == come(route.method, never.path(route)).body
    if told.status == 401:
        assert (told.code, told.headers["www-authenticate"]) == ("unauthorised", "Bearer")


def _wanted(row: Row, role: str) -> int:
    """The user of the machine, who comes with the token of the start, is a stranger to everybody else."""
    return int(getattr(row, "stranger" if role == "local" else role))


def _seen(told: Answer, theirs: Estate, *, shared: bool) -> list[str]:
    """What an answer shows of the owner's."""
    secrets = [*theirs, TITLE, PROMPT, THOUGHT, SAID, AGENT]
    if shared:
        secrets = [one for one in secrets if one not in (AGENT, theirs.agent)]
    text = told.body.decode() + repr(told.headers)
    return [one for one in secrets if one in text]


def test_every_route_has_a_row_and_every_row_a_route() -> None:
    keys = {key(route) for route in ROUTES}
    assert not keys - TABLE.keys(), f"Who may do this? Add rows to TABLE: {sorted(keys - TABLE.keys())}"
    assert not TABLE.keys() - keys, f"There is no such route any more: {sorted(TABLE.keys() - keys)}"


def test_a_route_without_a_row_fails() -> None:
    new = Route(method="GET", path="/api/new", handler=None, summary="")
    with pytest.raises(pytest.fail.Exception, match="Who may do GET /api/new"):
        row_of(new)


def test_what_the_owner_has_is_what_is_looked_for(stage: Stage) -> None:
    """The look for the owner's words finds them where they are: else it would prove nothing."""
    place, owner = stage.place, stage.cast.owner.headers
    theirs = estate(stage, ROUTES[0])
    paths = {
        f"/api/sessions/{theirs.session}": {theirs.session, theirs.turn, TITLE},
        f"/api/sessions/{theirs.session}/messages": {theirs.turn, PROMPT, THOUGHT, SAID},
        f"/api/agents/{theirs.agent}": {theirs.agent, AGENT},
        f"/api/search{TABLE['GET /api/search'].query}": {theirs.session, theirs.turn, TITLE, PROMPT},
    }
    for path, words in paths.items():
        assert words <= set(_seen(place.ask("GET", path, headers=owner), theirs, shared=False)), path
