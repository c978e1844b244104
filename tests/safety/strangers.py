"""Three users in two workspaces and all that they do over HTTP, beside a model of what must come of it.

The model is plain Python: who made what, and where. Ids, cursors and files go from hand to hand; with those
of somebody else one gets exactly what one gets with ids that never were. After each step everybody looks.
"""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count, cycle
from typing import Any, ClassVar
from urllib.parse import urlencode

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.safety.ground import ENDLESS, FORMS, JSON, MODEL, NOW_MS, Answer, Ground

from thinkaloud.store import ids, people

USERS = ("ana", "ben", "eve")
PLACES = ("red", "blue")
WORDS = ("plum", "pear", "quince", "medlar")
WHO = [(user, place) for user in USERS for place in PLACES if (user, place) != ("eve", "red")]
"""Eve is in one of the workspaces only."""
EVERYWHERE = "prompts,answers,tools,thoughts"
SEARCHED = {"prompt": "prompts", "answer": "answers", "thought": "thoughts"}

LISTS = ("/api/sessions?", "/api/agents?", f"/api/search?q={WORDS[0]}&scope={EVERYWHERE}&")

Who = tuple[str, str]
whose = st.sampled_from(WHO)
Draw = Callable[[st.SearchStrategy[Any]], Any]
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

    @property
    def running(self) -> bool:
        return "running" in self.turns.values()


@dataclass
class Made:
    """What the model knows of an agent."""

    owner: Who
    name: str


class Strangers(RuleBasedStateMachine):
    """Everybody's doings; `ground` is set by the test.

    One rule draws what is done: rules of their own would each be switched off in some of the stories.
    """

    ground: Ground
    done: ClassVar[Counter[str]] = Counter()
    """What was done in all stories together: by the owner, and by somebody else."""

    def __init__(self) -> None:
        super().__init__()
        self.talks: dict[str, Talk] = {}
        self.agents: dict[str, Made] = {}
        self.languages: dict[Who, str] = {}
        self.headers: dict[Who, list[tuple[str, str]]] = {}
        self.sessions_seen: list[str] = []
        self.turns_seen: list[str] = []
        self.agents_seen: list[str] = []
        self.files: list[bytes] = []
        self._arrive()
        for who, word in zip(WHO, cycle(WORDS)):  # so that everybody has something to lose
            self._bring(who, word, word, word)
            self._made_agent(who, word)
        path = f"/api/sessions/{self.sessions_seen[0]}/export?format=json"
        self.files.append(self.ask(WHO[0], "GET", path).body)

    @rule(data=st.data())
    def step(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(ACTIONS))
        getattr(self, name)(data.draw)

    def _arrive(self) -> None:
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

    def about(self, draw: Draw, names: list[str], action: str) -> tuple[Who, str, bool]:
        """Somebody, an id that was seen, and whether it names something of theirs; half the time it does."""
        name = draw(st.sampled_from(names))
        talk = self.talks.get(name) or self._talk_of(name)
        known = talk or self.agents.get(name)
        who = known.owner if known is not None and draw(st.booleans()) else draw(whose)
        own = known is not None and known.owner == who
        self.done[f"{action}, {'own' if own else 'foreign'}"] += 1
        return who, name, own

    def _talk_of(self, turn: str) -> Talk | None:
        return next((talk for talk in self.talks.values() if turn in talk.turns), None)

    def refused(self, who: Who, method: str, path: str, name: str, body: Any = None) -> None:
        """The answer about somebody else's is to the letter the one about what never was."""
        told = self.ask(who, method, path.format(name), body)
        never = self.ask(who, method, path.format(ids.new(name.partition("_")[0])), body)
        assert (told.status, told.body) == (404, never.body)
        assert told.headers | {"date": ""} == never.headers | {"date": ""}

    def create(self, draw: Draw) -> None:
        who, title = draw(whose), draw(words)
        made = self.ask(who, "POST", "/api/sessions", {"title": title, "model": MODEL})
        assert made.status == 201
        self._seen(made.json["id"], Talk(who, title))

    def _seen(self, session: str, talk: Talk) -> None:
        assert session not in self.sessions_seen
        self.talks[session] = talk
        self.sessions_seen.append(session)
        self.turns_seen += talk.turns

    def rename(self, draw: Draw) -> None:
        who, session, own = self.about(draw, self.sessions_seen, "rename")
        body = {"title": draw(words)}
        if not own:
            return self.refused(who, "PATCH", "/api/sessions/{}", session, body)
        assert self.ask(who, "PATCH", f"/api/sessions/{session}", body).status == 200
        self.talks[session].title = body["title"]
        return None

    def delete(self, draw: Draw) -> None:
        who, session, own = self.about(draw, self.sessions_seen, "delete")
        if not own:
            return self.refused(who, "DELETE", "/api/sessions/{}", session)
        told = self.ask(who, "DELETE", f"/api/sessions/{session}")
        assert told.status == (409 if self.talks[session].running else 204)
        if told.status == 204:
            del self.talks[session]
        return None

    def ask_model(self, draw: Draw) -> None:
        """A thought and an answer; or what goes on until somebody stops it."""
        who, session, own = self.about(draw, self.sessions_seen, "ask")
        said = draw(st.tuples(words, words) | st.none())
        prompt = json.dumps({"thinking": said[0], "text": said[1]}) if said else ENDLESS
        body = {"prompt": prompt, "model": MODEL}
        if not own:
            return self.refused(who, "POST", "/api/sessions/{}/turns", session, body)
        talk = self.talks[session]
        # The same keys in everybody's sessions: they lead to nobody else's turn.
        sent = [*self.headers[who], ("Idempotency-Key", f"key-{len(talk.turns)}")]
        told = self.ground.ask("POST", f"/api/sessions/{session}/turns", body, sent)
        assert told.status == (409 if talk.running else 202)
        if told.status == 202:
            turn = str(told.json["id"])
            self.turns_seen.append(turn)
            talk.turns[turn] = "done" if said else "running"
            if said is not None:
                assert b"event: end" in self.ask(who, "GET", f"/api/turns/{turn}/events").body
                talk.said |= {("prompt", word) for word in said} | {("thought", said[0]), ("answer", said[1])}
        return None

    def cancel(self, draw: Draw) -> None:
        who, turn, own = self.about(draw, self.turns_seen, "cancel")
        if not own:
            return self.refused(who, "POST", "/api/turns/{}/cancel", turn)
        talk = self._talk_of(turn)
        assert talk is not None
        told = self.ask(who, "POST", f"/api/turns/{turn}/cancel")
        assert told.status == (202 if talk.turns[turn] == "running" else 200)
        if told.status == 202:
            talk.turns[turn] = "cancelled"
        return None

    def read_turn(self, draw: Draw) -> None:
        who, turn, own = self.about(draw, self.turns_seen, "read a turn")
        if not own:
            for path in ("/api/turns/{}", "/api/turns/{}/events", "/api/turns/{}/events?after=0"):
                self.refused(who, "GET", path, turn)
            return
        talk = self._talk_of(turn)
        assert talk is not None
        assert self.ask(who, "GET", f"/api/turns/{turn}").json["state"] == talk.turns[turn]
        if talk.turns[turn] != "running":
            assert b"event: end" in self.ask(who, "GET", f"/api/turns/{turn}/events").body

    def read_session(self, draw: Draw) -> None:
        who, session, own = self.about(draw, self.sessions_seen, "read a session")
        if not own:
            self.refused(who, "GET", "/api/sessions/{}", session)
            self.refused(who, "GET", "/api/sessions/{}/messages", session)
            return
        talk = self.talks[session]
        told = self.ask(who, "GET", f"/api/sessions/{session}").json
        assert told["title"] == talk.title
        assert {turn["id"]: turn["state"] for turn in told["turns"]} == talk.turns
        messages = self.ask(who, "GET", f"/api/sessions/{session}/messages").json["items"]
        assert {message["turn"] for message in messages} == set(talk.turns)

    def export(self, draw: Draw) -> None:
        who, session, own = self.about(draw, self.sessions_seen, "export")
        form = draw(st.sampled_from(["text", "markdown", "json"]))
        if not own:
            return self.refused(who, "GET", "/api/sessions/{}/export?format=" + form, session)
        told = self.ask(who, "GET", f"/api/sessions/{session}/export?format={form}")
        assert told.status == 200
        if form == "json":
            self.files.append(told.body)
        return None

    def bring(self, draw: Draw) -> None:
        self._bring(draw(whose), draw(words), draw(words), draw(words))

    def _bring(self, who: Who, prompt: str, thought: str, answer: str) -> None:
        session, turn = self.ground.imported(self.headers[who], "brought", prompt, thought, answer)
        said = {("prompt", prompt), ("thought", thought), ("answer", answer)}
        self._seen(session, Talk(who, "brought", {turn: "done"}, said))

    def bring_a_file(self, draw: Draw) -> None:
        """A file that another gave away makes a session of one's own, and leads back to nothing."""
        self.done["bring a file"] += 1
        who, made = draw(whose), draw(st.sampled_from(self.files))
        told = self.ground.ask("POST", "/api/import", made, [*self.headers[who], JSON])
        assert told.status == 201
        session = str(told.json["id"])
        turns = self.ask(who, "GET", f"/api/sessions/{session}").json["turns"]
        states = {str(turn["id"]): str(turn["state"]) for turn in turns}
        assert not set(states).intersection(self.turns_seen)
        self._seen(session, Talk(who, told.json["title"], states, _told(json.loads(made)["exchanges"])))

    def search(self, draw: Draw) -> None:
        who, word, kind = draw(whose), draw(words), draw(st.sampled_from(sorted(SEARCHED)))
        query = urlencode({"q": word, "scope": SEARCHED[kind], "limit": 200})
        found = self.ask(who, "GET", f"/api/search?{query}").json["items"]
        wanted = {
            name for name, talk in self.talks.items() if talk.owner == who and (kind, word) in talk.said
        }
        assert {hit["session"] for hit in found} == wanted
        self.done["found something"] += bool(wanted)

    def page(self, draw: Draw) -> None:
        """With anybody's cursor one gets one's own, or is told that it is no cursor of this list."""
        who, other, path = draw(whose), draw(whose), draw(st.sampled_from(LISTS))
        cursor = self.ask(other, "GET", f"{path}limit=1").json["next"]
        self.done["go on with a cursor"] += bool(cursor)
        for listed in LISTS:
            told = self.ask(who, "GET", f"{listed}limit=200&after={cursor}")
            assert told.status == 200 or (told.status == 422 and listed != path)
            if told.status == 200:
                self._own(who, told.json["items"])

    def _own(self, who: Who, items: list[dict[str, Any]]) -> None:
        for item in items:
            name = item.get("session") or item["id"]
            made = self.talks.get(name)
            assert made.owner == who if made else self.agents[name].owner[1] == who[1]

    def _there(self, who: Who, agent: str) -> bool:
        return agent in self.agents and self.agents[agent].owner[1] == who[1]

    def make_agent(self, draw: Draw) -> None:
        """One that calls another: of the same workspace it may, and others there are none."""
        who, called = draw(whose), draw(st.sampled_from(self.agents_seen))
        if self._there(who, called):
            self._made_agent(who, draw(words), called)
        else:
            self.done["call an agent, foreign"] += 1
            body = {"name": draw(words), "model": MODEL, "assistants": [called]}
            self._unknown(who, "POST", "/api/agents", body, "assistants")

    def _made_agent(self, who: Who, name: str, *called: str) -> None:
        made = self.ground.agent(self.headers[who], name, assistants=called)
        self.agents[made] = Made(who, name)
        self.agents_seen.append(made)

    def _unknown(self, who: Who, method: str, path: str, body: dict[str, Any], field: str) -> None:
        """An id in a body that leads to somebody else's is as unknown as one that never was."""
        given = body[field] if isinstance(body[field], str) else body[field][0]
        never = ids.new("agt")
        told = self.ask(who, method, path, body)
        other = self.ask(who, method, path, body | {field: never if body[field] == given else [never]})
        assert told.status == other.status == 422
        assert told.body.replace(given.encode(), b"") == other.body.replace(never.encode(), b"")

    def change_agent(self, draw: Draw) -> None:
        who, agent, own = self.about(draw, self.agents_seen, "change an agent")
        body = {"name": draw(words), "model": MODEL}
        if not own:
            return self.refused(who, "PUT", "/api/agents/{}", agent, body)
        assert self.ask(who, "PUT", f"/api/agents/{agent}", body).status == 200
        self.agents[agent].name = body["name"]
        return None

    def look_at_agent(self, draw: Draw) -> None:
        who, agent, own = self.about(draw, self.agents_seen, "look at an agent")
        if not self._there(who, agent):
            return self.refused(who, "GET", "/api/agents/{}", agent)
        told = self.ask(who, "GET", f"/api/agents/{agent}").json
        assert (told["name"], told["yours"]) == (self.agents[agent].name, own)
        return None

    def delete_agent(self, draw: Draw) -> None:
        who, agent, own = self.about(draw, self.agents_seen, "delete an agent")
        if not own:
            return self.refused(who, "DELETE", "/api/agents/{}", agent)
        told = self.ask(who, "DELETE", f"/api/agents/{agent}")
        assert told.status in (204, 422), "422 while another one calls it"
        if told.status == 204:
            del self.agents[agent]
        return None

    def use_agent(self, draw: Draw) -> None:
        who, session, own = self.about(draw, self.sessions_seen, "use an agent")
        agent, path = draw(st.sampled_from(self.agents_seen)), f"/api/sessions/{session}"
        if not own:
            self.refused(who, "PATCH", "/api/sessions/{}", session, {"agent": agent})
        elif not self._there(who, agent):
            self._unknown(who, "PATCH", path, {"agent": agent}, "agent")
        else:
            assert self.ask(who, "PATCH", path, {"agent": agent}).json["agent"] == agent
            assert self.ask(who, "PATCH", path, {"agent": ""}).json["agent"] == ""

    def prefer(self, draw: Draw) -> None:
        who, language = draw(whose), draw(st.sampled_from(["en-US", "pt-BR"]))
        assert self.ask(who, "PUT", "/api/preferences", {"language": language}).status == 200
        self.languages[who] = language

    def go_elsewhere(self, draw: Draw) -> None:
        """A workspace that is not one's own is as little there as one that never was."""
        user, place = draw(st.sampled_from(USERS)), draw(st.sampled_from(PLACES))
        own = next(headers[0] for who, headers in self.headers.items() if who[0] == user)
        there = next(headers[1] for who, headers in self.headers.items() if who[1] == place)
        told = self.ground.ask("GET", "/api/sessions", headers=[own, there])
        if (user, place) in WHO:
            self._own((user, place), told.json["items"])
        else:
            self.done["go elsewhere, foreign"] += 1
            never = self.ground.ask("GET", "/api/sessions", headers=[own, (there[0], ids.new("wsp"))])
            assert (told.status, told.body) == (404, never.body)

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


def _told(exchanges: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """Kinds and words of the texts in a file."""
    said: set[tuple[str, str]] = set()
    for exchange in exchanges:
        said |= {("prompt", word) for word in WORDS if word in exchange["asked"][0]["text"]}
        kinds: dict[int, str] = {}
        for event in (entry["event"] for entry in exchange["entries"]):
            if event["type"] == "block.started":
                kinds[event["block"]] = {"reasoning": "thought", "text": "answer"}[event["kind"]]
            elif event["type"] == "block.grew":
                said |= {(kinds[event["block"]], word) for word in WORDS if word in event["text"]}
    return said


ACTIONS = [name for name, made in vars(Strangers).items() if "draw" in getattr(made, "__annotations__", {})]
ACTIONS.remove("about")
