"""A state machine: three users in two workspaces, and a model of the expected results.

The model is plain Python: who created what, and where. Users exchange ids, cursors and files. An id of
another user must get exactly the response of an unknown id. After some steps every user reads everything.
"""

import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count, cycle
from typing import Any, ClassVar
from urllib.parse import urlencode

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.safety.gateway_under_test import (
    CREDENTIAL_HEADERS,
    ENDLESS_PROMPT,
    JSON,
    MODEL,
    NOW_MS,
    GatewayUnderTest,
    HttpResponse,
)

from thinkaloud.gateway.store.queries import users
from thinkaloud.gateway.store.queries.values import new_id

USERS = ("ana", "ben", "eve")
WORKSPACES = ("red", "blue")
WORDS = ("plum", "pear", "quince", "medlar")
FOREIGN = ("eve", "red")
MEMBERS = [(user, workspace) for user in USERS for workspace in WORKSPACES if (user, workspace) != FOREIGN]
"""Eve belongs to only one of the workspaces."""
EVERYWHERE = "prompts,answers,tools,thoughts"
SCOPE_BY_KIND = {"prompt": "prompts", "answer": "answers", "thought": "thoughts"}

LIST_PATHS = ("/api/sessions?", "/api/agents?", f"/api/search?q={WORDS[0]}&scope={EVERYWHERE}&")

STEPS_BETWEEN_LOOKS = 1 if "ALL_CASES" in os.environ else 4
"""Every user reads everything after so many steps: that takes more requests than the steps."""

Member = tuple[str, str]
members = st.sampled_from(MEMBERS)
Draw = Callable[[st.SearchStrategy[Any]], Any]
words = st.sampled_from(WORDS)
numbers = count()


@dataclass
class KnownSession:
    """The model of a session."""

    owner: Member
    title: str
    turns: dict[str, str] = field(default_factory=dict)
    """States by turn id."""
    texts: set[tuple[str, str]] = field(default_factory=set)
    """Kinds of text, with their words."""

    @property
    def running(self) -> bool:
        return "running" in self.turns.values()


@dataclass
class KnownAgent:
    """The model of an agent."""

    owner: Member
    name: str


class WorkspaceMachine(RuleBasedStateMachine):
    """The actions of all users. The test sets `gateway`.

    One rule draws the action: Hypothesis would switch off separate rules in some runs.
    """

    gateway: GatewayUnderTest
    other_gateway: ClassVar[GatewayUnderTest | None] = None
    """A second one on the same database. Then requests go to both in turn."""
    action_counts: ClassVar[Counter[str]] = Counter()
    """Counts of actions over all runs, by the owner and by others."""

    def __init__(self) -> None:
        super().__init__()
        self.request_count = 0
        self.step_count = 0
        self.sessions: dict[str, KnownSession] = {}
        self.agents: dict[str, KnownAgent] = {}
        self.languages: dict[Member, str] = {}
        self.headers: dict[Member, list[tuple[str, str]]] = {}
        self.sessions_seen: list[str] = []
        self.turns_seen: list[str] = []
        self.agents_seen: list[str] = []
        self.files: list[bytes] = []
        self._create_members()
        for member, word in zip(MEMBERS, cycle(WORDS)):  # every member owns a session
            self._import_texts(member, word, word, word)
            self._create_agent(member, word)
        path = f"/api/sessions/{self.sessions_seen[0]}/export?format=json"
        self.files.append(self.request(MEMBERS[0], "GET", path).body)

    @rule(data=st.data())
    def step(self, data: st.DataObject) -> None:
        self.step_count += 1
        name = data.draw(st.sampled_from(ACTIONS))
        getattr(self, name)(data.draw)

    def _create_members(self) -> None:
        """Create new users for each run. The gateway keeps the earlier ones."""
        number = next(numbers)
        for user, form in zip(USERS, ("bearer", "x-api-key", "bearer"), strict=True):
            first = next(workspace for name, workspace in MEMBERS if name == user)
            person = self.gateway.create_person(f"{user}-{number}", f"{first}-{number}")
            for workspace in (workspace for name, workspace in MEMBERS if name == user):
                member = self._join_workspace(person.owner.user, f"{workspace}-{number}")
                self.headers[user, workspace] = [
                    CREDENTIAL_HEADERS[form](person.secret),
                    ("Thinkaloud-Workspace", member),
                ]

    def _join_workspace(self, user: int, workspace: str) -> str:
        return self.gateway.write(lambda conn: users.add_member(conn, user, workspace, NOW_MS)).id

    def request(self, member: Member, method: str, path: str, body: Any = None) -> HttpResponse:
        self.request_count += 1
        gateway = self.other_gateway if self.request_count % 2 and self.other_gateway else self.gateway
        return gateway.request(method, path, body, self.headers[member])

    def about(self, draw: Draw, names: list[str], action: str) -> tuple[Member, str, bool]:
        """Draw a member, a known id, and whether the id is the member's. Half the time it is."""
        name = draw(st.sampled_from(names))
        known_session = self.sessions.get(name) or self._session_of_turn(name)
        known_resource = known_session or self.agents.get(name)
        member = known_resource.owner if known_resource is not None and draw(st.booleans()) else draw(members)
        owned = known_resource is not None and known_resource.owner == member
        self.action_counts[f"{action}, {'own' if owned else 'foreign'}"] += 1
        return member, name, owned

    def _session_of_turn(self, turn: str) -> KnownSession | None:
        return next(
            (known_session for known_session in self.sessions.values() if turn in known_session.turns), None
        )

    def check_refused(self, member: Member, method: str, path: str, name: str, body: Any = None) -> None:
        """Check that a foreign id gets exactly the response of an unknown id."""
        response = self.request(member, method, path.format(name), body)
        unknown_response = self.request(member, method, path.format(new_id(name.partition("_")[0])), body)
        assert (response.status, response.body) == (404, unknown_response.body)
        assert response.headers | {"date": ""} == unknown_response.headers | {"date": ""}

    def create(self, draw: Draw) -> None:
        member, title = draw(members), draw(words)
        response = self.request(member, "POST", "/api/sessions", {"title": title, "model": MODEL})
        assert response.status == 201
        self._add_session(response.json["id"], KnownSession(member, title))

    def _add_session(self, session: str, known_session: KnownSession) -> None:
        assert session not in self.sessions_seen
        self.sessions[session] = known_session
        self.sessions_seen.append(session)
        self.turns_seen += known_session.turns

    def rename(self, draw: Draw) -> None:
        member, session, owned = self.about(draw, self.sessions_seen, "rename")
        body = {"title": draw(words)}
        if not owned:
            return self.check_refused(member, "PATCH", "/api/sessions/{}", session, body)
        assert self.request(member, "PATCH", f"/api/sessions/{session}", body).status == 200
        self.sessions[session].title = body["title"]
        return None

    def delete(self, draw: Draw) -> None:
        member, session, owned = self.about(draw, self.sessions_seen, "delete")
        if not owned:
            return self.check_refused(member, "DELETE", "/api/sessions/{}", session)
        response = self.request(member, "DELETE", f"/api/sessions/{session}")
        assert response.status == (409 if self.sessions[session].running else 204)
        if response.status == 204:
            del self.sessions[session]
        return None

    def ask_model(self, draw: Draw) -> None:
        """Start a turn that ends, or one that runs until it is cancelled."""
        member, session, owned = self.about(draw, self.sessions_seen, "ask")
        texts = draw(st.tuples(words, words) | st.none())
        prompt = json.dumps({"thinking": texts[0], "text": texts[1]}) if texts else ENDLESS_PROMPT
        body = {"prompt": prompt, "model": MODEL}
        if not owned:
            return self.check_refused(member, "POST", "/api/sessions/{}/turns", session, body)
        known_session = self.sessions[session]
        # All users send the same keys, and never get a turn of another user.
        sent_headers = [*self.headers[member], ("Idempotency-Key", f"key-{len(known_session.turns)}")]
        response = self.gateway.request("POST", f"/api/sessions/{session}/turns", body, sent_headers)
        assert response.status == (409 if known_session.running else 202)
        if response.status == 202:
            turn = str(response.json["id"])
            self.turns_seen.append(turn)
            known_session.turns[turn] = "done" if texts else "running"
            if texts is not None:
                assert b"event: end" in self.request(member, "GET", f"/api/turns/{turn}/events").body
                known_session.texts |= {("prompt", word) for word in texts} | {
                    ("thought", texts[0]),
                    ("answer", texts[1]),
                }
        return None

    def cancel(self, draw: Draw) -> None:
        member, turn, owned = self.about(draw, self.turns_seen, "cancel")
        if not owned:
            return self.check_refused(member, "POST", "/api/turns/{}/cancel", turn)
        known_session = self._session_of_turn(turn)
        assert known_session is not None
        response = self.request(member, "POST", f"/api/turns/{turn}/cancel")
        assert response.status == (202 if known_session.turns[turn] == "running" else 200)
        if response.status == 202:
            known_session.turns[turn] = "cancelled"
        return None

    def read_turn(self, draw: Draw) -> None:
        member, turn, owned = self.about(draw, self.turns_seen, "read a turn")
        if not owned:
            for path in ("/api/turns/{}", "/api/turns/{}/events", "/api/turns/{}/events?after=0"):
                self.check_refused(member, "GET", path, turn)
            return
        known_session = self._session_of_turn(turn)
        assert known_session is not None
        assert self.request(member, "GET", f"/api/turns/{turn}").json["state"] == known_session.turns[turn]
        if known_session.turns[turn] != "running":
            assert b"event: end" in self.request(member, "GET", f"/api/turns/{turn}/events").body

    def read_session(self, draw: Draw) -> None:
        member, session, owned = self.about(draw, self.sessions_seen, "read a session")
        if not owned:
            self.check_refused(member, "GET", "/api/sessions/{}", session)
            self.check_refused(member, "GET", "/api/sessions/{}/messages", session)
            return
        known_session = self.sessions[session]
        session_body = self.request(member, "GET", f"/api/sessions/{session}").json
        assert session_body["title"] == known_session.title
        assert {turn["id"]: turn["state"] for turn in session_body["turns"]} == known_session.turns
        messages = self.request(member, "GET", f"/api/sessions/{session}/messages").json["items"]
        assert {message["turn"] for message in messages} == set(known_session.turns)

    def export(self, draw: Draw) -> None:
        member, session, owned = self.about(draw, self.sessions_seen, "export")
        form = draw(st.sampled_from(["text", "markdown", "json"]))
        if not owned:
            return self.check_refused(member, "GET", "/api/sessions/{}/export?format=" + form, session)
        response = self.request(member, "GET", f"/api/sessions/{session}/export?format={form}")
        assert response.status == 200
        if form == "json":
            self.files.append(response.body)
        return None

    def import_texts(self, draw: Draw) -> None:
        self._import_texts(draw(members), draw(words), draw(words), draw(words))

    def _import_texts(self, member: Member, prompt: str, thought: str, answer: str) -> None:
        session, turn = self.gateway.import_session(self.headers[member], "brought", prompt, thought, answer)
        texts = {("prompt", prompt), ("thought", thought), ("answer", answer)}
        self._add_session(session, KnownSession(member, "brought", {turn: "done"}, texts))

    def import_file(self, draw: Draw) -> None:
        """Import another user's file: it becomes the importer's session, without a link to the original."""
        self.action_counts["bring a file"] += 1
        member, file_content = draw(members), draw(st.sampled_from(self.files))
        response = self.gateway.request("POST", "/api/import", file_content, [*self.headers[member], JSON])
        assert response.status == 201
        session = str(response.json["id"])
        turns = self.request(member, "GET", f"/api/sessions/{session}").json["turns"]
        states = {str(turn["id"]): str(turn["state"]) for turn in turns}
        assert not set(states).intersection(self.turns_seen)
        self._add_session(
            session,
            KnownSession(
                member, response.json["title"], states, _texts_of(json.loads(file_content)["exchanges"])
            ),
        )

    def search(self, draw: Draw) -> None:
        member, word, kind = draw(members), draw(words), draw(st.sampled_from(sorted(SCOPE_BY_KIND)))
        query = urlencode({"q": word, "scope": SCOPE_BY_KIND[kind], "limit": 200})
        hits = self.request(member, "GET", f"/api/search?{query}").json["items"]
        expected = {
            name
            for name, known_session in self.sessions.items()
            if known_session.owner == member and (kind, word) in known_session.texts
        }
        assert {hit["session"] for hit in hits} == expected
        self.action_counts["found something"] += bool(expected)

    def page(self, draw: Draw) -> None:
        """Any cursor gives the caller's own rows, or is refused as invalid."""
        member, cursor_owner, path = draw(members), draw(members), draw(st.sampled_from(LIST_PATHS))
        cursor = self.request(cursor_owner, "GET", f"{path}limit=1").json["next"]
        self.action_counts["go on with a cursor"] += bool(cursor)
        for list_path in LIST_PATHS:
            response = self.request(member, "GET", f"{list_path}limit=200&after={cursor}")
            assert response.status == 200 or (response.status == 422 and list_path != path)
            if response.status == 200:
                self._check_visible(member, response.json["items"])

    def _check_visible(self, member: Member, items: list[dict[str, Any]]) -> None:
        for item in items:
            name = item.get("session") or item["id"]
            known_session = self.sessions.get(name)
            assert known_session.owner == member if known_session else self.agents[name].owner[1] == member[1]

    def _in_workspace(self, member: Member, agent: str) -> bool:
        return agent in self.agents and self.agents[agent].owner[1] == member[1]

    def make_agent(self, draw: Draw) -> None:
        """Create an agent that calls another. Only agents of the same workspace are found."""
        member, called = draw(members), draw(st.sampled_from(self.agents_seen))
        if self._in_workspace(member, called):
            self._create_agent(member, draw(words), called)
        else:
            self.action_counts["call an agent, foreign"] += 1
            body = {"name": draw(words), "model": MODEL, "assistants": [called]}
            self._check_unknown(member, "POST", "/api/agents", body, "assistants")

    def _create_agent(self, member: Member, name: str, *called: str) -> None:
        agent_id = self.gateway.create_agent(self.headers[member], name, assistants=called)
        self.agents[agent_id] = KnownAgent(member, name)
        self.agents_seen.append(agent_id)

    def _check_unknown(
        self, member: Member, method: str, path: str, body: dict[str, Any], field: str
    ) -> None:
        """Check that a foreign id in a body is as unknown as a random one."""
        agent_id = body[field] if isinstance(body[field], str) else body[field][0]
        unknown_id = new_id("agt")
        response = self.request(member, method, path, body)
        unknown_response = self.request(
            member, method, path, body | {field: unknown_id if body[field] == agent_id else [unknown_id]}
        )
        assert response.status == unknown_response.status == 422
        assert response.body.replace(agent_id.encode(), b"") == unknown_response.body.replace(
            unknown_id.encode(), b""
        )

    def change_agent(self, draw: Draw) -> None:
        member, agent, owned = self.about(draw, self.agents_seen, "change an agent")
        body = {"name": draw(words), "model": MODEL}
        if not owned:
            return self.check_refused(member, "PUT", "/api/agents/{}", agent, body)
        assert self.request(member, "PUT", f"/api/agents/{agent}", body).status == 200
        self.agents[agent].name = body["name"]
        return None

    def read_agent(self, draw: Draw) -> None:
        member, agent, owned = self.about(draw, self.agents_seen, "look at an agent")
        if not self._in_workspace(member, agent):
            return self.check_refused(member, "GET", "/api/agents/{}", agent)
        agent_body = self.request(member, "GET", f"/api/agents/{agent}").json
        assert (agent_body["name"], agent_body["yours"]) == (self.agents[agent].name, owned)
        return None

    def delete_agent(self, draw: Draw) -> None:
        member, agent, owned = self.about(draw, self.agents_seen, "delete an agent")
        if not owned:
            return self.check_refused(member, "DELETE", "/api/agents/{}", agent)
        response = self.request(member, "DELETE", f"/api/agents/{agent}")
        assert response.status in (204, 422), "422 while another one calls it"
        if response.status == 204:
            del self.agents[agent]
        return None

    def use_agent(self, draw: Draw) -> None:
        member, session, owned = self.about(draw, self.sessions_seen, "use an agent")
        agent, path = draw(st.sampled_from(self.agents_seen)), f"/api/sessions/{session}"
        if not owned:
            self.check_refused(member, "PATCH", "/api/sessions/{}", session, {"agent": agent})
        elif not self._in_workspace(member, agent):
            self._check_unknown(member, "PATCH", path, {"agent": agent}, "agent")
        else:
            assert self.request(member, "PATCH", path, {"agent": agent}).json["agent"] == agent
            assert self.request(member, "PATCH", path, {"agent": ""}).json["agent"] == ""

    def prefer(self, draw: Draw) -> None:
        member, language = draw(members), draw(st.sampled_from(["en-US", "pt-BR"]))
        assert self.request(member, "PUT", "/api/preferences", {"language": language}).status == 200
        self.languages[member] = language

    def use_workspace(self, draw: Draw) -> None:
        """A foreign workspace gets the same response as an unknown one."""
        user, workspace = draw(members) if draw(st.booleans()) else FOREIGN
        credential = next(headers[0] for member, headers in self.headers.items() if member[0] == user)
        workspace_header = next(
            headers[1] for member, headers in self.headers.items() if member[1] == workspace
        )
        response = self.gateway.request("GET", "/api/sessions", headers=[credential, workspace_header])
        if (user, workspace) in MEMBERS:
            self._check_visible((user, workspace), response.json["items"])
        else:
            self.action_counts["go elsewhere, foreign"] += 1
            unknown_response = self.gateway.request(
                "GET", "/api/sessions", headers=[credential, (workspace_header[0], new_id("wsp"))]
            )
            assert (response.status, response.body) == (404, unknown_response.body)

    @invariant()
    def each_member_sees_own_resources(self) -> None:
        if self.step_count % STEPS_BETWEEN_LOOKS == 0:
            self._look_at_everything()

    def _look_at_everything(self) -> None:
        for member in self.headers:
            items = self.request(member, "GET", "/api/sessions?limit=200").json["items"]
            expected = {
                name: known_session.title
                for name, known_session in self.sessions.items()
                if known_session.owner == member
            }
            assert {item["id"]: item["title"] for item in items} == expected
            items = self.request(member, "GET", "/api/agents?limit=200").json["items"]
            assert {item["id"]: (item["name"], item["yours"]) for item in items} == {
                name: (agent.name, agent.owner == member)
                for name, agent in self.agents.items()
                if agent.owner[1] == member[1]
            }
            language = self.request(member, "GET", "/api/preferences").json["language"]
            assert language == self.languages.get(member, "en-US")

    def teardown(self) -> None:
        self._look_at_everything()
        for known_session in self.sessions.values():
            for turn, state in known_session.turns.items():
                if state == "running":
                    assert (
                        self.request(known_session.owner, "POST", f"/api/turns/{turn}/cancel").status == 202
                    )


def _texts_of(exchanges: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """Return the kinds and words of the texts in a file."""
    texts: set[tuple[str, str]] = set()
    for exchange in exchanges:
        texts |= {("prompt", word) for word in WORDS if word in exchange["asked"][0]["text"]}
        kinds: dict[int, str] = {}
        for event in (entry["event"] for entry in exchange["entries"]):
            if event["type"] == "block.started":
                kinds[event["block"]] = {"reasoning": "thought", "text": "answer"}[event["kind"]]
            elif event["type"] == "block.grew":
                texts |= {(kinds[event["block"]], word) for word in WORDS if word in event["text"]}
    return texts


ACTIONS = [
    name
    for name, method in vars(WorkspaceMachine).items()
    if "draw" in getattr(method, "__annotations__", {})
]
ACTIONS.remove("about")
