"""Three users in two workspaces: nobody ever sees or changes what belongs to another.

The expected state is plain Python. After each step every user reads everything, and at the end searches it.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule
from tests.store.engines import empty_tables
from tests.store.log_fixtures import NOW_MS
from tests.store.query_fixtures import ask, block_events, finish

from thinkaloud.core.canon import Kind, Refused
from thinkaloud.gateway.store.queries import agents, preferences, sessions, turns, users
from thinkaloud.gateway.store.queries.agents import NotAgentOwner
from thinkaloud.gateway.store.queries.sessions import SessionGone, TurnRunning
from thinkaloud.gateway.store.rows import (
    AgentSpec,
    Owner,
    Preferences,
    SearchKind,
    Session,
    StoredAgent,
    TurnRow,
    TurnState,
)
from thinkaloud.gateway.store.search import index as search_index
from thinkaloud.gateway.store.search.find import find_hits

USERS = ("ana", "ben", "eve")
WORKSPACES = ("default", "lab")
WORDS = ("plum", "pear", "ação", "中文")

owners = st.tuples(st.sampled_from(USERS), st.sampled_from(WORKSPACES))
anyone = st.none() | owners
"""Who tries something: None is whoever it belongs to, so that half of all attempts are rightful."""
words = st.sampled_from(WORDS)
OwnerName = tuple[str, str]
OwnedId = tuple[OwnerName, str]
"""Who made something, and its id."""


class SessionModel(msgspec.Struct):
    """The expected state of one session."""

    session: Session
    texts: list[tuple[SearchKind, str, str]] = []
    """Kind, words and turn of all that was said in it."""
    turns: list[str] = []
    running: TurnRow | None = None


class IsolationMachine(RuleBasedStateMachine):
    made_sessions = Bundle("made_sessions")
    made_agents = Bundle("made_agents")
    made_tokens = Bundle("made_tokens")

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = NOW_MS
        self.sessions_by_owner: dict[OwnerName, dict[str, SessionModel]] = {
            who: {} for who in product(USERS, WORKSPACES)
        }
        self.agents: dict[str, tuple[OwnerName, StoredAgent]] = {}
        self.stored: dict[OwnerName, Preferences] = {}
        self.secrets: dict[str, str] = {}

    @initialize()
    def arrive(self) -> None:
        self.opened = empty_tables()
        self.conn = self.opened.__enter__()
        self.owners: dict[OwnerName, Owner] = {}
        for name in USERS:
            self.add(name)

    def add(self, name: str) -> None:
        user = users.add_user(self.conn, name, NOW_MS)
        for place in WORKSPACES:
            key = users.add_member(self.conn, user.key, place, NOW_MS).key
            self.owners[name, place] = Owner(user.key, key)

    def teardown(self) -> None:
        if not hasattr(self, "opened"):
            return
        try:
            for word in WORDS:
                self.everybody_finds_what_is_theirs(word)
        finally:
            self.opened.__exit__(None, None, None)

    def own_session(self, who: OwnerName, session_id: str) -> SessionModel | None:
        return self.sessions_by_owner[who].get(session_id)

    @rule(target=made_sessions, who=owners, title=st.sampled_from(["", "Title"]))
    def create_session(self, who: OwnerName, title: str) -> OwnedId:
        self.now_ms += 1
        session = sessions.create(self.conn, self.owners[who], now_ms=self.now_ms, title=title)
        self.sessions_by_owner[who][session.id] = SessionModel(session, [], [])
        return who, session.id

    @rule(who=anyone, made=made_sessions, title=words)
    def rename_session(self, who: OwnerName | None, made: OwnedId, title: str) -> None:
        who, session_id = who or made[0], made[1]
        self.now_ms += 1
        renamed = sessions.rename(self.conn, self.owners[who], session_id, title, self.now_ms)
        session_model = self.own_session(who, session_id)
        assert (renamed is None) == (session_model is None)
        if session_model is not None and renamed is not None:
            session_model.session = renamed
            assert (renamed.title, renamed.updated_ms) == (title, self.now_ms)

    @rule(who=anyone, made=made_sessions)
    def delete_session(self, who: OwnerName | None, made: OwnedId) -> None:
        who, session_id = who or made[0], made[1]
        session_model = self.own_session(who, session_id)
        if session_model is not None and session_model.running is not None:
            assert refused(TurnRunning, lambda: sessions.delete(self.conn, self.owners[who], session_id))
            return
        assert sessions.delete(self.conn, self.owners[who], session_id) is (session_model is not None)
        self.sessions_by_owner[who].pop(session_id, None)

    @rule(who=anyone, made=made_sessions, prompt=words)
    def start_turn(self, who: OwnerName | None, made: OwnedId, prompt: str) -> None:
        who, session_id = who or made[0], made[1]
        self.now_ms += 1
        session = sessions.get(self.conn, self.owners[who], session_id)
        session_model = self.own_session(who, session_id)
        if session_model is None or session is None:
            assert (session_model, session) == (None, None)
        elif session_model.running is not None:
            assert refused(TurnRunning, lambda: ask(self.conn, session, prompt))
        else:
            session_model.running = ask(self.conn, session, prompt, now_ms=self.now_ms).turn
            titled = sessions.get(self.conn, self.owners[who], session_id)
            assert titled is not None
            assert titled.updated_ms == self.now_ms
            session_model.session = titled
            session_model.turns.append(session_model.running.id)
            session_model.texts.append((SearchKind.PROMPT, prompt, session_model.running.id))

    @rule(made=made_sessions, thought=words, answer=words)
    def end_turn(self, made: OwnedId, thought: str, answer: str) -> None:
        who, session_id = made
        session_model = self.own_session(who, session_id)
        if session_model is None or session_model.running is None:
            return
        turn, session_model.running = session_model.running, None
        finish(
            self.conn, turn, *block_events(0, Kind.REASONING, thought), *block_events(1, Kind.TEXT, answer)
        )
        session_model.texts += [(SearchKind.THOUGHT, thought, turn.id), (SearchKind.ANSWER, answer, turn.id)]

    @rule(who=anyone, made=made_sessions, model=words)
    def change_session(self, who: OwnerName | None, made: OwnedId, model: str) -> None:
        """Only the owner can change the defaults, whatever owner a session value carries."""
        session_model = self.own_session(*made)
        if session_model is None:
            return
        self.now_ms += 1
        named = msgspec.structs.replace(session_model.session, owner=self.owners[who or made[0]])
        changed = sessions.update_defaults(self.conn, named, now_ms=self.now_ms, model=model)
        assert (changed is not None) is ((who or made[0]) == made[0])
        if changed is not None:
            session_model.session = msgspec.structs.replace(
                session_model.session, model=model, updated_ms=self.now_ms
            )

    @rule(who=anyone, made=made_sessions)
    def look_at_turns(self, who: OwnerName | None, made: OwnedId) -> None:
        """Read turns by id, by session, and with a session value that carries another owner."""
        session_model = self.own_session(*made)
        if session_model is None or not session_model.turns:
            return
        owner, rightful = self.owners[who or made[0]], (who or made[0]) == made[0]
        named = msgspec.structs.replace(session_model.session, owner=owner)
        turn = turns.get(self.conn, self.owners[made[0]], session_model.turns[-1])
        assert turn is not None
        assert turns.get(self.conn, owner, turn.id) == (turn if rightful else None)
        assert sessions.owned_session_of_turn(self.conn, owner, turn) == (
            session_model.session if rightful else None
        )
        assert len(turns.request_messages(self.conn, owner, turn)) == rightful
        assert len(turns.of_session(self.conn, named, limit=200).items) == len(session_model.turns) * rightful
        if not rightful:
            assert refused(SessionGone, lambda: ask(self.conn, named, "plum"))

    @rule(target=made_agents, who=owners, called=st.lists(made_agents, max_size=2, unique=True))
    def create_agent(self, who: OwnerName, called: list[OwnedId]) -> OwnedId:
        calls = [agent_id for _, agent_id in called]
        spec = AgentSpec(name="Agent", model="demo", assistants=tuple(calls))
        if any(self.visible_agent(who, one) is None for one in calls):
            assert refused(Refused, lambda: agents.create(self.conn, self.owners[who], spec, self.now_ms))
            return who, "agt_" + "A" * 22
        made = agents.create(self.conn, self.owners[who], spec, self.now_ms)
        self.agents[made.id] = (who, made)
        return who, made.id

    def visible_agent(self, who: OwnerName, agent_id: str) -> StoredAgent | None:
        maker, agent = self.agents.get(agent_id, (None, None))
        return agent if maker is not None and maker[1] == who[1] else None

    @rule(who=anyone, made=made_agents, name=words)
    def replace_agent(self, who: OwnerName | None, made: OwnedId, name: str) -> None:
        who, agent_id = who or made[0], made[1]
        seen, owner = self.visible_agent(who, agent_id), self.owners[who]
        spec = AgentSpec(name=name, model="demo")
        if seen is not None and seen.owner != owner:
            assert refused(
                NotAgentOwner, lambda: agents.replace(self.conn, owner, agent_id, spec, self.now_ms)
            )
            return
        changed = agents.replace(self.conn, owner, agent_id, spec, self.now_ms)
        assert (changed is None) == (seen is None)
        if changed is not None:
            self.agents[agent_id] = (who, changed)

    @rule(who=anyone, made=made_agents)
    def delete_agent(self, who: OwnerName | None, made: OwnedId) -> None:
        who, agent_id = who or made[0], made[1]
        seen, owner = self.visible_agent(who, agent_id), self.owners[who]
        called = any(agent_id in agent.spec.assistants for _, agent in self.agents.values())
        if seen is not None and (called or seen.owner != owner):
            assert refused(Refused, lambda: agents.delete(self.conn, owner, agent_id))
            return
        assert agents.delete(self.conn, owner, agent_id) is (seen is not None)
        if seen is not None:
            del self.agents[agent_id]

    @rule(who=owners, language=st.sampled_from(["en-US", "pt-BR"]))
    def write_preferences(self, who: OwnerName, language: str) -> None:
        self.stored[who] = Preferences(language=language)
        preferences.write(self.conn, self.owners[who], self.stored[who], self.now_ms)

    @rule(target=made_tokens, name=st.sampled_from(USERS))
    def create_token(self, name: str) -> tuple[str, str]:
        token, secret = users.create_token(self.conn, self.owners[name, "lab"].user, "t", self.now_ms)
        self.secrets[secret] = name
        return token.id, secret

    @rule(token=made_tokens)
    def revoke_token(self, token: tuple[str, str]) -> None:
        assert users.revoke_token(self.conn, token[0], self.now_ms) is (token[1] in self.secrets)
        self.secrets.pop(token[1], None)

    @rule(token=made_tokens)
    def show_token(self, token: tuple[str, str]) -> None:
        user = users.token_user(self.conn, token[1])
        assert (None if user is None else user.name) == self.secrets.get(token[1])

    @rule(name=st.sampled_from(USERS))
    def leave_and_come_back(self, name: str) -> None:
        """A new user with the name of a deleted one owns nothing."""
        owner_names = [who for who in self.sessions_by_owner if who[0] == name]
        runs = any(
            session_model.running is not None
            for who in owner_names
            for session_model in self.sessions_by_owner[who].values()
        )
        removed_ids = {agent_id for agent_id, (maker, _) in self.agents.items() if maker[0] == name}
        needed = any(
            removed_ids.intersection(agent.spec.assistants)
            for agent_id, (_, agent) in self.agents.items()
            if agent_id not in removed_ids
        )
        if runs or needed:
            assert refused(Refused, lambda: users.remove_user(self.conn, name))
            return
        users.remove_user(self.conn, name)
        self.sessions_by_owner |= {who: {} for who in owner_names}
        self.agents = {
            agent_id: made for agent_id, made in self.agents.items() if agent_id not in removed_ids
        }
        self.stored = {who: row for who, row in self.stored.items() if who not in owner_names}
        self.secrets = {secret: user_name for secret, user_name in self.secrets.items() if user_name != name}
        self.add(name)

    @rule()
    def rebuild_index(self) -> None:
        search_index.rebuild_index(self.conn)

    @invariant()
    def everybody_sees_what_is_theirs(self) -> None:
        for who, owner in getattr(self, "owners", {}).items():
            expected = [session_model.session for session_model in self.sessions_by_owner[who].values()]
            expected.sort(key=lambda one: (-one.updated_ms, -one.key))
            assert list(sessions.list_page(self.conn, owner, limit=200).items) == expected
            assert preferences.read(self.conn, owner) == self.stored.get(who, Preferences())
            shared = [agent for maker, agent in self.agents.values() if maker[1] == who[1]]
            shared.sort(key=lambda one: one.key)
            assert list(agents.list_page(self.conn, owner, limit=200).items) == shared
            for session_model in self.sessions_by_owner[who].values():
                stored_turns = turns.of_session(self.conn, session_model.session, limit=200).items
                assert [turn.id for turn in stored_turns] == session_model.turns
                running = [turn for turn in stored_turns if turn.state is TurnState.RUNNING]
                assert running == ([] if session_model.running is None else [session_model.running])

    @rule(word=words)
    def everybody_finds_what_is_theirs(self, word: str) -> None:
        """Not after each step, which would take most of the time: a wrong index stays wrong to the end."""
        for who, owner in self.owners.items():
            hits = find_hits(self.conn, owner, word, kinds=frozenset(SearchKind), limit=200).items
            assert sorted((hit.kind, hit.session, hit.turn) for hit in hits) == sorted(
                (kind, session_id, turn)
                for session_id, session_model in self.sessions_by_owner[who].items()
                for kind, text, turn in session_model.texts
                if text == word
            )

    @invariant()
    def what_runs_is_counted(self) -> None:
        for (name, _), owner in getattr(self, "owners", {}).items():
            running = [
                session_model
                for place in WORKSPACES
                for session_model in self.sessions_by_owner[name, place].values()
                if session_model.running is not None
            ]
            assert turns.running_of(self.conn, owner.user) == len(running)


def refused(kind: type[Refused], attempt: Callable[[], Any]) -> bool:
    try:
        attempt()
    except kind:
        return True
    return False


TestIsolation = IsolationMachine.TestCase
TestIsolation.settings = settings(deadline=None, max_examples=20, stateful_step_count=40)
