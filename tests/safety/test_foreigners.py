"""Three users in two workspaces do everything over HTTP, and nobody ever sees or changes what is not theirs.

The model is plain Python: who made what, and where. Ids, cursors and files go from hand to hand; with those of
somebody else one gets exactly what one gets with ids that never were. After each step everybody looks.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine
from tests.safety.ground import ENDLESS, FORMS, MODEL, NOW_MS, Answer, Ground, ground

from thinkaloud.store import ids, people

USERS = ("ana", "ben", "eve")
PLACES = ("red", "blue")
WORDS = ("plum", "pear", "quince", "medlar")
WHO = [(user, place) for user in USERS for place in PLACES if (user, place) != ("eve", "red")]
"""Eve is in one of the workspaces only."""
EVERYWHERE = "prompts,answers,tools,thoughts"
SEARCHED = {"prompt": "prompts", "answer": "answers", "thought": "thoughts"}

Who = tuple[str, str]
whose = st.sampled_from(WHO)
words = st.sampled_from(WORDS)
numbers = count()


@dataclass
class Talk:
    """What the model knows of a session."""

    owner: Who
    title: str
    turns: dict[str, str] = field(default_factory=dict)
    """Ids and states."""
    said: set[tuple[str, str]] = field(default_factory=set)
    """Kinds of text, and words in them."""


@dataclass
class Helper:
    """What the model knows of an agent."""

    owner: Who
    name: str


class Strangers(RuleBasedStateMachine):
    """Everybody's doings; `ground` is set by the test."""

    ground: Ground
    some_sessions = Bundle("some_sessions")
    some_turns = Bundle("some_turns")
    some_agents = Bundle("some_agents")
    some_cursors = Bundle("some_cursors")
    some_files = Bundle("some_files")

    def __init__(self) -> None:
        super().__init__()
        self.talks: dict[str, Talk] = {}
        self.agents: dict[str, Helper] = {}
        self.languages: dict[Who, str] = {}
        self.headers: dict[Who, list[tuple[str, str]]] = {}

    @initialize()
    def arrive(self) -> None:
        """New people each time, in a gateway that keeps those of the times before."""
        number = next(numbers)
        for user, form in zip(USERS, ("bearer", "x-api-key", "bearer"), strict=True):
            first = next(place for name, place in WHO if name == user)
            person = self.ground.person(f"{user}-{number}", f"{first}-{number}")
            for place in (place for name, place in WHO if name == user):
                member = self._joined(person.owner.user, f"{place}-{number}")
                self.headers[user, place] = [FORMS[form](person.secret), ("Thinkaloud-Workspace", member)]

    def _joined(self, user: int, workspace: str) -> str:
        return self.ground.write(lambda conn: people.add_member(conn, user, workspace, NOW_MS)).id

    def ask(self, who: Who, method: str, path: str, body: Any = None) -> Answer:
        return self.ground.ask(method, path, body, self.headers[who])

    def mine(self, who: Who, session: str) -> Talk | None:
        talk = self.talks.get(session)
        return talk if talk is not None and talk.owner == who else None

    def refused(self, who: Who, method: str, path: str, name: str, body: Any = None) -> None:
        """The answer about somebody else's is to the letter the one about what never was."""
        told = self.ask(who, method, path.format(name), body)
        never = self.ask(who, method, path.format(ids.new(name.partition("_")[0])), body)
        assert (told.status, told.body) == (404, never.body)
        assert told.headers | {"date": ""} == never.headers | {"date": ""}

    @rule(target=some_sessions, who=whose, title=words)
    def create(self, who: Who, title: str) -> str:
        made = self.ask(who, "POST", "/api/sessions", {"title": title, "model": MODEL})
        assert made.status == 201
        session = str(made.json["id"])
        self.talks[session] = Talk(who, title)
        return session

    @rule(who=whose, session=some_sessions, title=words)
    def rename(self, who: Who, session: str, title: str) -> None:
        talk = self.mine(who, session)
        if talk is None:
            return self.refused(who, "PATCH", "/api/sessions/{}", session, {"title": title})
        assert self.ask(who, "PATCH", f"/api/sessions/{session}", {"title": title}).status == 200
        talk.title = title

    @rule(who=whose, session=some_sessions)
    def delete(self, who: Who, session: str) -> None:
        talk = self.mine(who, session)
        if talk is None:
            return self.refused(who, "DELETE", "/api/sessions/{}", session)
        told = self.ask(who, "DELETE", f"/api/sessions/{session}")
        if "running" in talk.turns.values():
            assert told.status == 409
        else:
            assert told.status == 204
            del self.talks[session]

    @rule(target=some_turns, who=whose, session=some_sessions, thought=words, answer=words, key=words)
    def ask_model(self, who: Who, session: str, thought: str, answer: str, key: str) -> str:
        prompt = json.dumps({"thinking": thought, "text": answer})
        body, talk = {"prompt": prompt}, self.mine(who, session)
        path = f"/api/sessions/{session}/turns"
        if talk is None:
            self.refused(who, "POST", "/api/sessions/{}/turns", session, body)
            return ids.new("trn")
        sent = [*self.headers[who], ("Idempotency-Key", f"{key}-{len(talk.turns)}")]
        told = self.ground.ask("POST", path, body, sent)
        if "running" in talk.turns.values():
            assert told.status == 409
            return ids.new("trn")
        assert told.status == 202
        turn = str(told.json["id"])
        assert b"event: end" in self.ask(who, "GET", f"/api/turns/{turn}/events").body
        talk.turns[turn] = "done"
        talk.said |= {("prompt", thought), ("prompt", answer), ("thought", thought), ("answer", answer)}
        return turn

    @rule(target=some_turns, who=whose, session=some_sessions)
    def ask_without_end(self, who: Who, session: str) -> str:
        talk = self.mine(who, session)
        if talk is None or "running" in talk.turns.values():
            return ids.new("trn")
        turn = self.ground.begun(self.headers[who], session, ENDLESS)
        talk.turns[turn] = "running"
        return turn

    @rule(who=whose, turn=some_turns)
    def cancel(self, who: Who, turn: str) -> None:
        talk = self._talk_of(turn)
        if talk is None or talk.owner != who:
            return self.refused(who, "POST", "/api/turns/{}/cancel", turn)
        told = self.ask(who, "POST", f"/api/turns/{turn}/cancel")
        assert told.status == (202 if talk.turns[turn] == "running" else 200)
        if talk.turns[turn] == "running":
            talk.turns[turn] = "cancelled"

    @rule(who=whose, turn=some_turns)
    def read_turn(self, who: Who, turn: str) -> None:
        talk = self._talk_of(turn)
        if talk is None or talk.owner != who:
            for path in ("/api/turns/{}", "/api/turns/{}/events", "/api/turns/{}/events?after=0"):
                self.refused(who, "GET", path, turn)
            return
        assert self.ask(who, "GET", f"/api/turns/{turn}").json["state"] == talk.turns[turn]
        if talk.turns[turn] != "running":
            assert b"event: end" in self.ask(who, "GET", f"/api/turns/{turn}/events").body

    def _talk_of(self, turn: str) -> Talk | None:
        return next((talk for talk in self.talks.values() if turn in talk.turns), None)

    @rule(who=whose, session=some_sessions)
    def read_session(self, who: Who, session: str) -> None:
        talk = self.mine(who, session)
        if talk is None:
            self.refused(who, "GET", "/api/sessions/{}", session)
            self.refused(who, "GET", "/api/sessions/{}/messages", session)
            return
        told = self.ask(who, "GET", f"/api/sessions/{session}").json
        assert told["title"] == talk.title
        assert {turn["id"]: turn["state"] for turn in told["turns"]} == talk.turns
        messages = self.ask(who, "GET", f"/api/sessions/{session}/messages").json["items"]
        assert {message["turn"] for message in messages} == set(talk.turns)

    @rule(
        target=some_files,
        who=whose,
        session=some_sessions,
        form=st.sampled_from(["text", "markdown", "json"]),
    )
    def export(self, who: Who, session: str, form: str) -> bytes:
        talk = self.mine(who, session)
        if talk is None:
            self.refused(who, "GET", "/api/sessions/{}/export?format=" + form, session)
            return b""
        told = self.ask(who, "GET", f"/api/sessions/{session}/export?format={form}")
        assert told.status == 200
        return told.body if form == "json" else b""

    @rule(target=some_sessions, who=whose, prompt=words, thought=words, answer=words)
    def bring(self, who: Who, prompt: str, thought: str, answer: str) -> str:
        session, turn = self.ground.imported(self.headers[who], "brought", prompt, thought, answer)
        said = {("prompt", prompt), ("thought", thought), ("answer", answer)}
        self.talks[session] = Talk(who, "brought", {turn: "done"}, said)
        return session

    @rule(target=some_sessions, who=whose, made=some_files)
    def bring_a_file(self, who: Who, made: bytes) -> str:
        """A file that another gave away makes a session of one's own, and leads back to nothing."""
        if not made:
            return ids.new("ses")
        told = self.ground.ask(
            "POST", "/api/import", made, [*self.headers[who], ("Content-Type", "application/json")]
        )
        assert told.status == 201
        session = str(told.json["id"])
        assert session not in self.talks
        turns = self.ask(who, "GET", f"/api/sessions/{session}").json["turns"]
        said: set[tuple[str, str]] = set()
        for exchange in json.loads(made)["exchanges"]:
            said |= {("prompt", word) for word in WORDS if word in exchange["asked"][0]["text"]}
            said |= _told(exchange["entries"])
        self.talks[session] = Talk(
            who, told.json["title"], {turn["id"]: turn["state"] for turn in turns}, said
        )
        return session

    @rule(who=whose, word=words, kind=st.sampled_from(sorted(SEARCHED)))
    def search(self, who: Who, word: str, kind: str) -> None:
        query = urlencode({"q": word, "scope": SEARCHED[kind], "limit": 200})
        found = self.ask(who, "GET", f"/api/search?{query}").json["items"]
        wanted = {session for session, talk in self.talks.items() if (kind, word) in talk.said}
        assert {hit["session"] for hit in found} == {one for one in wanted if self.mine(who, one)}

    @rule(target=some_cursors, who=whose, path=st.sampled_from(["sessions", "agents", "search"]))
    def page(self, who: Who, path: str) -> str:
        query = f"?q={WORDS[0]}&scope={EVERYWHERE}&limit=1" if path == "search" else "?limit=1"
        return str(self.ask(who, "GET", f"/api/{path}{query}").json["next"])

    @rule(who=whose, cursor=some_cursors)
    def go_on(self, who: Who, cursor: str) -> None:
        """With anybody's cursor one gets one's own, or is told that it is no cursor of this list."""
        for path in ("/api/sessions?", "/api/agents?", f"/api/search?q={WORDS[0]}&scope={EVERYWHERE}&"):
            told = self.ask(who, "GET", f"{path}limit=200&after={cursor}")
            assert told.status in (200, 422)
            if told.status == 200:
                self._own(who, told.json["items"])

    def _own(self, who: Who, items: list[dict[str, Any]]) -> None:
        for item in items:
            name = item.get("session") or item["id"]
            assert self.mine(who, name) or self.agents[name].owner[1] == who[1]

    @rule(target=some_agents, who=whose, name=words, called=st.none() | some_agents)
    def make_agent(self, who: Who, name: str, called: str | None) -> str:
        body = {"name": name, "model": MODEL, "assistants": [] if called is None else [called]}
        told = self.ask(who, "POST", "/api/agents", body)
        there = called is None or (called in self.agents and self.agents[called].owner[1] == who[1])
        assert told.status == (201 if there else 422)
        if not there:
            self._unknown(who, "POST", "/api/agents", body, "assistants")
            return ids.new("agt")
        self.agents[str(told.json["id"])] = Helper(who, name)
        return str(told.json["id"])

    def _unknown(self, who: Who, method: str, path: str, body: dict[str, Any], field: str) -> None:
        """An id in a body that leads to somebody else's is as unknown as one that never was."""
        given = body[field] if isinstance(body[field], str) else body[field][0]
        never = ids.new("agt")
        told = self.ask(who, method, path, body)
        other = self.ask(who, method, path, body | {field: never if body[field] == given else [never]})
        assert told.status == other.status == 422
        assert told.body.replace(given.encode(), b"") == other.body.replace(never.encode(), b"")

    @rule(who=whose, agent=some_agents, name=words)
    def change_agent(self, who: Who, agent: str, name: str) -> None:
        known = self.agents.get(agent)
        body = {"name": name, "model": MODEL}
        if known is None or known.owner != who:
            return self.refused(who, "PUT", "/api/agents/{}", agent, body)
        assert self.ask(who, "PUT", f"/api/agents/{agent}", body).status == 200
        known.name = name

    @rule(who=whose, agent=some_agents)
    def look_at_agent(self, who: Who, agent: str) -> None:
        known = self.agents.get(agent)
        if known is None or known.owner[1] != who[1]:
            return self.refused(who, "GET", "/api/agents/{}", agent)
        told = self.ask(who, "GET", f"/api/agents/{agent}").json
        assert (told["name"], told["yours"]) == (known.name, known.owner == who)

    @rule(who=whose, agent=some_agents)
    def delete_agent(self, who: Who, agent: str) -> None:
        known = self.agents.get(agent)
        if known is None or known.owner != who:
            return self.refused(who, "DELETE", "/api/agents/{}", agent)
        told = self.ask(who, "DELETE", f"/api/agents/{agent}")
        assert told.status in (204, 422), "422 while another one calls it"
        if told.status == 204:
            del self.agents[agent]

    @rule(who=whose, session=some_sessions, agent=some_agents)
    def use_agent(self, who: Who, session: str, agent: str) -> None:
        if self.mine(who, session) is None:
            return self.refused(who, "PATCH", "/api/sessions/{}", session, {"agent": agent})
        known = self.agents.get(agent)
        path = f"/api/sessions/{session}"
        if known is None or known.owner[1] != who[1]:
            self._unknown(who, "PATCH", path, {"agent": agent}, "agent")
            return None
        assert self.ask(who, "PATCH", path, {"agent": agent}).status == 200
        assert self.ask(who, "PATCH", path, {"agent": ""}).status == 200
        return None

    @rule(who=whose, language=st.sampled_from(["en-US", "pt-BR"]))
    def prefer(self, who: Who, language: str) -> None:
        assert self.ask(who, "PUT", "/api/preferences", {"language": language}).status == 200
        self.languages[who] = language

    @rule(who=whose, other=whose)
    def go_elsewhere(self, who: Who, other: Who) -> None:
        """A workspace that is not one's own is as little there as one that never was."""
        own, there = self.headers[who][0], self.headers[other][1]
        told = self.ground.ask("GET", "/api/sessions", headers=[own, there])
        if (who[0], other[1]) in WHO:
            assert told.status == 200
            self._own((who[0], other[1]), told.json["items"])
        else:
            never = (there[0], ids.new("wsp"))
            assert told.body == self.ground.ask("GET", "/api/sessions", headers=[own, never]).body
            assert told.status == 404

    @invariant()
    def everybody_sees_their_own(self) -> None:
        for who in self.headers:
            told = self.ask(who, "GET", "/api/sessions?limit=200").json["items"]
            wanted = {name: talk.title for name, talk in self.talks.items() if talk.owner == who}
            assert {item["id"]: item["title"] for item in told} == wanted
            told = self.ask(who, "GET", "/api/agents?limit=200").json["items"]
            assert {item["id"]: (item["name"], item["yours"]) for item in told} == {
                name: (agent.name, agent.owner == who)
                for name, agent in self.agents.items()
                if agent.owner[1] == who[1]
            }
            language = self.ask(who, "GET", "/api/preferences").json["language"]
            assert language == self.languages.get(who, "en-US")

    def teardown(self) -> None:
        for talk in self.talks.values():
            for turn, state in talk.turns.items():
                if state == "running":
                    assert self.ask(talk.owner, "POST", f"/api/turns/{turn}/cancel").status == 202


def _told(entries: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """Kinds and words of the texts in a file's entries; every text stands in one piece or in words."""
    kinds: dict[int, str] = {}
    said: set[tuple[str, str]] = set()
    for event in (entry["event"] for entry in entries):
        if event["type"] == "block.started":
            kinds[event["block"]] = {"reasoning": "thought", "text": "answer"}[event["kind"]]
        elif event["type"] == "block.grew":
            said |= {(kinds[event["block"]], word) for word in WORDS if word in event["text"]}
    return said


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with ground(tmp_path_factory.mktemp("foreigners")) as found:
        yield found


LIMITS = settings(
    max_examples=15,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def test_nobody_sees_or_changes_what_is_not_theirs(place: Ground) -> None:
    """S6, S7: streams, sessions, turns, agents, search, files, preferences and cursors of three users."""
    Strangers.ground = place
    run_machine(Strangers, settings=LIMITS)
