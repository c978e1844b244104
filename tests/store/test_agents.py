"""Agents: shared by a workspace, changed by their creator, without cycles of calls."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection
from tests.store.engines import empty_tables
from tests.store.log_fixtures import NOW_MS
from tests.store.query_fixtures import HOSTILE_TEXTS, new_owner

from thinkaloud.core.canon import Refused
from thinkaloud.core.canon.requests import ThinkingLevel, ToolDefinition
from thinkaloud.core.context import ContextMode
from thinkaloud.gateway.store.queries import agents
from thinkaloud.gateway.store.queries.agents import NotAgentOwner
from thinkaloud.gateway.store.queries.values import matches_id
from thinkaloud.gateway.store.rows import AgentSpec, Owner, StoredAgent


@pytest.fixture
def ana(conn: Connection) -> Owner:
    return new_owner(conn, "ana")


def spec(name: str, *assistants: str) -> AgentSpec:
    return AgentSpec(name=name, model="demo", assistants=assistants)


def make(conn: Connection, owner: Owner, name: str, *assistants: str) -> StoredAgent:
    return agents.create(conn, owner, spec(name, *assistants), NOW_MS)


def test_agent_is_stored_with_all_settings(conn: Connection, ana: Owner) -> None:
    """R040, R043, R058: thinking, its budget and the context mode are settings of the agent."""
    whole = AgentSpec(
        name="Planner 计划",
        model="claude-opus-4-5",
        system="Be brief.\x00",
        thinking=True,
        level=ThinkingLevel.HIGH,
        budget_tokens=2048,
        tools=(ToolDefinition("get_weather", "Weather", '{"type":"object"}'),),
        assistants=(make(conn, ana, "Researcher").id,),
        preset="trace",
        context_mode=ContextMode.STRIP,
    )
    made = agents.create(conn, ana, whole, NOW_MS)
    assert matches_id("agt", made.id)
    assert (made.spec, made.owner, made.created_ms, made.updated_ms) == (whole, ana, NOW_MS, NOW_MS)
    assert agents.get(conn, ana, made.id) == made
    other = msgspec.structs.replace(whole, thinking=False, assistants=())
    changed = agents.replace(conn, ana, made.id, other, NOW_MS + 5)
    assert changed == msgspec.structs.replace(made, spec=other, updated_ms=NOW_MS + 5)
    assert agents.get(conn, ana, made.id) == changed


def test_members_share_agents_but_change_only_their_own(conn: Connection, ana: Owner) -> None:
    ben, eve = new_owner(conn, "ben"), new_owner(conn, "eve", "elsewhere")
    made = make(conn, ana, "Planner")
    assert agents.get(conn, ben, made.id) == made
    assert agents.list_page(conn, ben, limit=9).items == (made,)
    with pytest.raises(NotAgentOwner, match="Another user created Planner"):
        agents.replace(conn, ben, made.id, spec("Mine"), NOW_MS)
    with pytest.raises(NotAgentOwner, match="Another user created Planner"):
        agents.delete(conn, ben, made.id)
    assert agents.get(conn, eve, made.id) is None
    assert agents.list_page(conn, eve, limit=9).items == ()
    assert agents.replace(conn, eve, made.id, spec("Mine"), NOW_MS) is None
    assert not agents.delete(conn, eve, made.id)
    assert agents.get(conn, ana, made.id) == made


def test_non_members_see_no_agents(conn: Connection, ana: Owner) -> None:
    made = make(conn, ana, "Planner")
    stranger = Owner(new_owner(conn, "eve", "elsewhere").user, ana.workspace)
    assert agents.get(conn, stranger, made.id) is None
    assert agents.list_page(conn, stranger, limit=9).items == ()


def test_agent_pages_list_the_oldest_first(conn: Connection, ana: Owner) -> None:
    made = [make(conn, ana, f"A{at}") for at in range(5)]
    first = agents.list_page(conn, ana, limit=2)
    made.append(make(conn, ana, "A5"))
    second = agents.list_page(conn, ana, limit=2, after=first.next)
    third = agents.list_page(conn, ana, limit=2, after=second.next)
    assert [*first.items, *second.items, *third.items] == made
    assert third.next == ""
    with pytest.raises(Refused, match="not a cursor"):
        agents.list_page(conn, ana, limit=2, after="x")


def test_assistant_of_another_workspace_is_refused(conn: Connection, ana: Owner) -> None:
    foreign = make(conn, new_owner(conn, "eve", "elsewhere"), "Foreign")
    for missing in (foreign.id, "agt_" + "A" * 22, "", "' OR 1=1 --", "\x00", "\ud800"):
        with pytest.raises(Refused, match=r"Planner cannot call .*: this workspace has no agent"):
            make(conn, ana, "Planner", missing)
    mine = make(conn, ana, "Planner")
    with pytest.raises(Refused, match="this workspace has no agent"):
        agents.replace(conn, ana, mine.id, spec("Planner", foreign.id), NOW_MS)


def test_cycles_of_assistants_are_refused(conn: Connection, ana: Owner) -> None:
    last = make(conn, ana, "C")
    middle = make(conn, ana, "B", last.id)
    first = make(conn, ana, "A", middle.id, last.id)
    with pytest.raises(Refused, match=r"C would end up calling itself: C → A → (B → )?C\."):
        agents.replace(conn, ana, last.id, spec("C", first.id), NOW_MS)
    with pytest.raises(Refused, match="C → C"):
        agents.replace(conn, ana, last.id, spec("C", last.id), NOW_MS)
    assert agents.get(conn, ana, last.id) == last
    agents.replace(conn, ana, first.id, spec("A"), NOW_MS)
    assert agents.replace(conn, ana, last.id, spec("C", first.id), NOW_MS) is not None


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.sets(st.integers(0, 6), max_size=4)), max_size=12))
def test_no_sequence_of_changes_makes_a_cycle(changes: list[tuple[int, set[int]]]) -> None:
    """A change is refused exactly when it would close a cycle, compared with a search of all paths."""
    with empty_tables() as conn:
        owner = new_owner(conn, "ana")
        agent_ids = [make(conn, owner, f"A{at}").id for at in range(7)]
        calls: dict[int, set[int]] = {at: set() for at in range(7)}

        def reached(start: int, graph: dict[int, set[int]]) -> set[int]:
            seen: set[int] = set()
            ahead = set(graph[start])
            while ahead:
                seen |= ahead
                ahead = {callee for caller in ahead for callee in graph[caller]} - seen
            return seen

        for at, called in changes:
            new_spec = spec(f"A{at}", *(agent_ids[one] for one in sorted(called)))
            if at in reached(at, {**calls, at: called}):
                with pytest.raises(Refused, match="calling itself"):
                    agents.replace(conn, owner, agent_ids[at], new_spec, NOW_MS)
            else:
                assert agents.replace(conn, owner, agent_ids[at], new_spec, NOW_MS) is not None
                calls[at] = called


def test_agent_that_others_call_is_not_deleted(conn: Connection, ana: Owner) -> None:
    ben = new_owner(conn, "ben")
    called = make(conn, ana, "Researcher")
    caller = make(conn, ben, "Planner", called.id)
    with pytest.raises(Refused, match=rf"Planner \({caller.id}\) calls Researcher"):
        agents.delete(conn, ana, called.id)
    assert agents.delete(conn, ben, caller.id)
    assert agents.delete(conn, ana, called.id)
    assert not agents.delete(conn, ana, called.id)


def test_agent_limits_are_enforced(conn: Connection, ana: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [make(conn, ana, f"A{at}").id for at in range(agents.MAX_ASSISTANTS + 1)]
    assert len(make(conn, ana, "All", *many[:-1]).spec.assistants) == agents.MAX_ASSISTANTS
    for called in (many, [many[0], many[0]]):
        with pytest.raises(Refused, match="up to 32 assistants, each listed once"):
            make(conn, ana, "Too many", *called)
    with pytest.raises(Refused, match="Shorten its system prompt"):
        agents.create(conn, ana, AgentSpec(name="Big", model="m", system="x" * 1_000_000), NOW_MS)
    monkeypatch.setattr(agents, "MAX_AGENTS", len(many) + 1)
    with pytest.raises(Refused, match="already has 34 agents"):
        make(conn, ana, "One more")
    assert agents.replace(conn, ana, many[0], spec("A0 again"), NOW_MS) is not None
    assert make(conn, new_owner(conn, "eve", "elsewhere"), "Elsewhere").spec.name == "Elsewhere"


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_hostile_texts_are_stored_or_refused(conn: Connection, ana: Owner, text: str) -> None:
    """S10, S11."""
    make(conn, new_owner(conn, "eve", "elsewhere"), "secret")
    assert agents.get(conn, ana, text) is None
    assert agents.replace(conn, ana, text, spec("x"), NOW_MS) is None
    assert agents.delete(conn, ana, text) is False
    named = AgentSpec(
        name=text, model=text, system=text, preset=text, tools=(ToolDefinition(text, text, text),)
    )
    if not text.strip() or len(text) > agents.MAX_NAME_CHARACTERS:
        with pytest.raises(Refused, match="name of 1 to 64 characters"):
            agents.create(conn, ana, named, NOW_MS)
    elif "\ud800" in text or "\udfff" in text:
        with pytest.raises(Refused, match="half of a surrogate pair"):
            agents.create(conn, ana, named, NOW_MS)
    else:
        assert agents.create(conn, ana, named, NOW_MS).spec == named
    assert all(agent.owner == ana for agent in agents.list_page(conn, ana, limit=9).items)
