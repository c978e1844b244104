"""Three users in two workspaces do everything at once, and nobody ever sees or changes what is not theirs.

The model is plain Python: who made what, and where. After each step everybody looks at everything.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule
from tests.store.keeping import NOW_MS
from tests.store.owned import ask, block, finish, fresh

from thinkaloud.canon import Kind, Refused
from thinkaloud.store import agents, people, preferences, search, sessions, turns
from thinkaloud.store.agents import NotYours
from thinkaloud.store.rows import Agent, AgentSpec, Owner, Preferences, SearchKind, Session, State, TurnRow
from thinkaloud.store.sessions import SessionGone, TurnRunning

USERS = ("ana", "ben", "eve")
WORKSPACES = ("default", "lab")
WORDS = ("plum", "pear", "ação", "中文")

owners = st.tuples(st.sampled_from(USERS), st.sampled_from(WORKSPACES))
anyone = st.none() | owners
"""Who tries something: None is whoever it belongs to, so that half of all attempts are rightful."""
words = st.sampled_from(WORDS)
Who = tuple[str, str]
Made = tuple[Who, str]
"""Who made something, and its id."""


class Kept(msgspec.Struct):
    """What the model knows of one session."""

    session: Session
    said: list[tuple[SearchKind, str, str]] = []
    """Kind, words and turn of all that was said in it."""
    turns: list[str] = []
    running: TurnRow | None = None


class Strangers(RuleBasedStateMachine):
    made_sessions = Bundle("made_sessions")
    made_agents = Bundle("made_agents")
    made_tokens = Bundle("made_tokens")

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = NOW_MS
        self.kept: dict[Who, dict[str, Kept]] = {who: {} for who in product(USERS, WORKSPACES)}
        self.agents: dict[str, tuple[Who, Agent]] = {}
        self.wishes: dict[Who, Preferences] = {}
        self.secrets: dict[str, str] = {}

    @initialize()
    def arrive(self) -> None:
        self.opened = fresh()
        self.conn = self.opened.__enter__()
        self.owners: dict[Who, Owner] = {}
        for name in USERS:
            self.add(name)

    def add(self, name: str) -> None:
        user = people.add_user(self.conn, name, NOW_MS)
        for place in WORKSPACES:
            key = people.add_member(self.conn, user.key, place, NOW_MS).key
            self.owners[name, place] = Owner(user.key, key)

    def teardown(self) -> None:
        if hasattr(self, "opened"):
            self.opened.__exit__(None, None, None)

    def mine(self, who: Who, session_id: str) -> Kept | None:
        return self.kept[who].get(session_id)

    @rule(target=made_sessions, who=owners, title=st.sampled_from(["", "Title"]))
    def create_session(self, who: Who, title: str) -> Made:
        self.now_ms += 1
        session = sessions.create(self.conn, self.owners[who], now_ms=self.now_ms, title=title)
        self.kept[who][session.id] = Kept(session, [], [])
        return who, session.id

    @rule(who=anyone, made=made_sessions, title=words)
    def rename_session(self, who: Who | None, made: Made, title: str) -> None:
        who, session_id = who or made[0], made[1]
        self.now_ms += 1
        renamed = sessions.rename(self.conn, self.owners[who], session_id, title, self.now_ms)
        kept = self.mine(who, session_id)
        assert (renamed is None) == (kept is None)
        if kept is not None and renamed is not None:
            kept.session = renamed
            assert (renamed.title, renamed.updated_ms) == (title, self.now_ms)

    @rule(who=anyone, made=made_sessions)
    def delete_session(self, who: Who | None, made: Made) -> None:
        who, session_id = who or made[0], made[1]
        kept = self.mine(who, session_id)
        if kept is not None and kept.running is not None:
            assert refused(TurnRunning, lambda: sessions.delete(self.conn, self.owners[who], session_id))
            return
        assert sessions.delete(self.conn, self.owners[who], session_id) is (kept is not None)
        self.kept[who].pop(session_id, None)

    @rule(who=anyone, made=made_sessions, said=words)
    def start_turn(self, who: Who | None, made: Made, said: str) -> None:
        who, session_id = who or made[0], made[1]
        self.now_ms += 1
        session = sessions.get(self.conn, self.owners[who], session_id)
        kept = self.mine(who, session_id)
        if kept is None or session is None:
            assert (kept, session) == (None, None)
        elif kept.running is not None:
            assert refused(TurnRunning, lambda: ask(self.conn, session, said))
        else:
            kept.running = ask(self.conn, session, said, now_ms=self.now_ms).turn
            kept.session = msgspec.structs.replace(kept.session, updated_ms=self.now_ms)
            kept.turns.append(kept.running.id)
            kept.said.append((SearchKind.PROMPT, said, kept.running.id))

    @rule(made=made_sessions, thought=words, answer=words)
    def end_turn(self, made: Made, thought: str, answer: str) -> None:
        who, session_id = made
        kept = self.mine(who, session_id)
        if kept is None or kept.running is None:
            return
        turn, kept.running = kept.running, None
        finish(self.conn, turn, *block(0, Kind.REASONING, thought), *block(1, Kind.TEXT, answer))
        kept.said += [(SearchKind.THOUGHT, thought, turn.id), (SearchKind.ANSWER, answer, turn.id)]
        titled = sessions.get(self.conn, self.owners[who], session_id)
        assert titled is not None
        kept.session = titled

    @rule(who=anyone, made=made_sessions, model=words)
    def change_session(self, who: Who | None, made: Made, model: str) -> None:
        """Only the owner says who answers, whatever name a session value carries."""
        kept = self.mine(*made)
        if kept is None:
            return
        self.now_ms += 1
        named = msgspec.structs.replace(kept.session, owner=self.owners[who or made[0]])
        changed = sessions.change(self.conn, named, now_ms=self.now_ms, model=model)
        assert (changed is not None) is ((who or made[0]) == made[0])
        if changed is not None:
            kept.session = msgspec.structs.replace(kept.session, model=model, updated_ms=self.now_ms)

    @rule(who=anyone, made=made_sessions)
    def look_at_turns(self, who: Who | None, made: Made) -> None:
        """By its id, by its session, and with a session value that has another's name on it."""
        kept = self.mine(*made)
        if kept is None or not kept.turns:
            return
        owner, rightful = self.owners[who or made[0]], (who or made[0]) == made[0]
        named = msgspec.structs.replace(kept.session, owner=owner)
        turn = turns.get(self.conn, self.owners[made[0]], kept.turns[-1])
        assert turn is not None
        assert turns.get(self.conn, owner, turn.id) == (turn if rightful else None)
        assert sessions.of_turn(self.conn, owner, turn) == (kept.session if rightful else None)
        assert len(turns.asked_of(self.conn, owner, turn)) == rightful
        assert len(turns.of_session(self.conn, named, limit=200).items) == len(kept.turns) * rightful
        if not rightful:
            assert refused(SessionGone, lambda: ask(self.conn, named, "plum"))

    @rule(target=made_agents, who=owners, called=st.lists(made_agents, max_size=2, unique=True))
    def create_agent(self, who: Who, called: list[Made]) -> Made:
        calls = [agent_id for _, agent_id in called]
        spec = AgentSpec(name="Agent", model="demo", assistants=tuple(calls))
        if any(self.seen(who, one) is None for one in calls):
            assert refused(Refused, lambda: agents.create(self.conn, self.owners[who], spec, self.now_ms))
            return who, "agt_" + "A" * 22
        made = agents.create(self.conn, self.owners[who], spec, self.now_ms)
        self.agents[made.id] = (who, made)
        return who, made.id

    def seen(self, who: Who, agent_id: str) -> Agent | None:
        maker, agent = self.agents.get(agent_id, (None, None))
        return agent if maker is not None and maker[1] == who[1] else None

    @rule(who=anyone, made=made_agents, name=words)
    def replace_agent(self, who: Who | None, made: Made, name: str) -> None:
        who, agent_id = who or made[0], made[1]
        seen, owner = self.seen(who, agent_id), self.owners[who]
        spec = AgentSpec(name=name, model="demo")
        if seen is not None and seen.owner != owner:
            assert refused(NotYours, lambda: agents.replace(self.conn, owner, agent_id, spec, self.now_ms))
            return
        changed = agents.replace(self.conn, owner, agent_id, spec, self.now_ms)
        assert (changed is None) == (seen is None)
        if changed is not None:
            self.agents[agent_id] = (who, changed)

    @rule(who=anyone, made=made_agents)
    def delete_agent(self, who: Who | None, made: Made) -> None:
        who, agent_id = who or made[0], made[1]
        seen, owner = self.seen(who, agent_id), self.owners[who]
        called = any(agent_id in agent.spec.assistants for _, agent in self.agents.values())
        if seen is not None and (called or seen.owner != owner):
            assert refused(Refused, lambda: agents.delete(self.conn, owner, agent_id))
            return
        assert agents.delete(self.conn, owner, agent_id) is (seen is not None)
        if seen is not None:
            del self.agents[agent_id]

    @rule(who=owners, language=st.sampled_from(["en-US", "pt-BR"]))
    def write_preferences(self, who: Who, language: str) -> None:
        self.wishes[who] = Preferences(language=language)
        preferences.write(self.conn, self.owners[who], self.wishes[who], self.now_ms)

    @rule(target=made_tokens, name=st.sampled_from(USERS))
    def create_token(self, name: str) -> tuple[str, str]:
        token, secret = people.create_token(self.conn, self.owners[name, "lab"].user, "t", self.now_ms)
        self.secrets[secret] = name
        return token.id, secret

    @rule(token=made_tokens)
    def revoke_token(self, token: tuple[str, str]) -> None:
        assert people.revoke_token(self.conn, token[0], self.now_ms) is (token[1] in self.secrets)
        self.secrets.pop(token[1], None)

    @rule(token=made_tokens)
    def show_token(self, token: tuple[str, str]) -> None:
        user = people.token_user(self.conn, token[1])
        assert (None if user is None else user.name) == self.secrets.get(token[1])

    @rule(name=st.sampled_from(USERS))
    def leave_and_come_back(self, name: str) -> None:
        """Whoever comes under a name that was somebody else's is somebody new, and has nothing."""
        theirs = [who for who in self.kept if who[0] == name]
        runs = any(kept.running is not None for who in theirs for kept in self.kept[who].values())
        gone = {agent_id for agent_id, (maker, _) in self.agents.items() if maker[0] == name}
        needed = any(
            gone.intersection(agent.spec.assistants)
            for agent_id, (_, agent) in self.agents.items()
            if agent_id not in gone
        )
        if runs or needed:
            assert refused(Refused, lambda: people.remove_user(self.conn, name))
            return
        people.remove_user(self.conn, name)
        self.kept |= {who: {} for who in theirs}
        self.agents = {agent_id: made for agent_id, made in self.agents.items() if agent_id not in gone}
        self.wishes = {who: wishes for who, wishes in self.wishes.items() if who not in theirs}
        self.secrets = {secret: whose for secret, whose in self.secrets.items() if whose != name}
        self.add(name)

    @rule()
    def rebuild_index(self) -> None:
        search.rebuild(self.conn)

    @invariant()
    def everybody_sees_what_is_theirs(self) -> None:
        for who, owner in getattr(self, "owners", {}).items():
            expected = [kept.session for kept in self.kept[who].values()]
            expected.sort(key=lambda one: (-one.updated_ms, -one.key))
            assert list(sessions.listed(self.conn, owner, limit=200).items) == expected
            assert preferences.read(self.conn, owner) == self.wishes.get(who, Preferences())
            shared = [agent for maker, agent in self.agents.values() if maker[1] == who[1]]
            shared.sort(key=lambda one: one.key)
            assert list(agents.listed(self.conn, owner, limit=200).items) == shared
            for kept in self.kept[who].values():
                told = turns.of_session(self.conn, kept.session, limit=200).items
                assert [turn.id for turn in told] == kept.turns
                running = [turn for turn in told if turn.state is State.RUNNING]
                assert running == ([] if kept.running is None else [kept.running])

    @invariant()
    def everybody_finds_what_is_theirs(self) -> None:
        for who, owner in getattr(self, "owners", {}).items():
            for word in WORDS[::3]:
                hits = search.find(self.conn, owner, word, kinds=frozenset(SearchKind), limit=200).items
                assert sorted((hit.kind, hit.session, hit.turn) for hit in hits) == sorted(
                    (kind, session_id, turn)
                    for session_id, kept in self.kept[who].items()
                    for kind, said, turn in kept.said
                    if said == word
                )

    @invariant()
    def what_runs_is_counted(self) -> None:
        for (name, _), owner in getattr(self, "owners", {}).items():
            running = [
                kept
                for place in WORKSPACES
                for kept in self.kept[name, place].values()
                if kept.running is not None
            ]
            assert turns.running_of(self.conn, owner.user) == len(running)


def refused(kind: type[Refused], attempt: Callable[[], Any]) -> bool:
    try:
        attempt()
    except kind:
        return True
    return False


TestStrangers = Strangers.TestCase
TestStrangers.settings = settings(deadline=None, max_examples=20, stateful_step_count=40)
