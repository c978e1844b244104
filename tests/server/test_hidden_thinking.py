"""Who may see thinking: a right per user and agent, on every route, live and stored."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from sqlalchemy import Connection
from tests.dialects.recordings import RECORDINGS
from tests.server.caller import Caller, start_gateway

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockReclassified,
    BlockStarted,
    Entry,
    Event,
    Kind,
    Refused,
    TurnEnded,
    TurnStarted,
    Usage,
    UsageReported,
)
from thinkaloud.core.transcript import fold_entries, unfold
from thinkaloud.gateway.server.http.route import ApiRoute
from thinkaloud.gateway.server.http.routes import COMPATIBLE_ROUTES, ROUTES
from thinkaloud.gateway.server.streams.thought_filter import (
    PROMPT_OF,
    ThoughtFilter,
    hide_in_entries,
    hide_thoughts,
    shown_to,
    shown_to_agents,
    used_prompts,
)
from thinkaloud.gateway.store.queries import users
from thinkaloud.gateway.store.rows import ThinkingShown, TurnRow, TurnState

SECRET = "canarythought"
SCRIPT: list[dict[str, Any]] = [
    {"thinking": f"{SECRET} one.", "tool_calls": [{"name": "look_up", "arguments": {"word": "gull"}}]},
    {"thinking": f"{SECRET} two.", "text": "A gull is a bird."},
    *[{"thinking": f"{SECRET} three.", "text": "Of course."}] * 20,
]
SKIPPED = ("GET /metrics",)
"""Routes for the operator only."""
LAST = ("DELETE /api/sessions/{session}", "DELETE /api/agents/{agent}", "PUT /api/agents/{agent}")
"""Routes that remove what the other routes need."""


@asynccontextmanager
async def restricted_caller(
    caller: Caller, shown: ThinkingShown, agent: str = "", *, name: str = "ana"
) -> AsyncIterator[Caller]:
    """Yield a caller of a user with a rule."""

    def add(conn: Connection) -> str:
        user = users.add_user(conn, name, 1)
        users.set_thinking_rule(conn, user, agent, shown)
        return users.create_token(conn, user.key, "", 1)[1]

    token = await caller.database.write(add)
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as http:
        yield Caller(caller.url, http, caller.gateway, caller.simulator, caller.database)


async def ask_with_tools(caller: Caller) -> dict[str, str]:
    """Ask an agent with a tool. Return the ids of the session, the last turn and the agent."""
    spec = {"name": "A", "model": caller.model, "thinking": True, "tools": [{"name": "look_up"}]}
    agent = (await caller.call("POST", "/api/agents", spec, status=201))["id"]
    session = await caller.create_session(agent=agent)
    called = await caller.run_turn(session, "What is a gull?")
    assert SECRET.encode() not in called.data
    results = [
        {"call_id": block.call_id, "result": "a bird"} for block in called.turn.blocks if block.call_id
    ]
    assert results, "the user sees tool calls"
    turn = await caller.start_turn(session, "", tool_results=results)
    await caller.read_stream(turn)
    return {"session": session, "turn": turn, "agent": agent}


def requests_of(route: ApiRoute, paths: dict[str, str]) -> list[tuple[str, Any]]:
    """Return paths and bodies with which a route is tried."""
    path = route.path.format(**paths, model="builtin/solver")
    queries = {
        "/api/search": ["?q=canarythought&scope=thoughts", "?q=canarythought", "?q=gull"],
        f"/api/sessions/{paths['session']}/messages": ["", "?entries=true", "?order=newest"],
        f"/api/sessions/{paths['session']}/export": [
            f"?format={form}"
            for form in ("text", "json", "markdown", "markdown&thinking=callout", "otlp&content=seals")
        ],
        f"/api/turns/{paths['turn']}/events": ["", "?after=0", "?speed=100"],
    }
    bodies: dict[str, Any] = {
        "/api/import": {"thinkaloud": 1, "title": "", "created_ms": 1, "exchanges": []},
        f"/api/sessions/{paths['session']}/turns": {"prompt": "Is it?"},
        f"/api/turns/{paths['turn']}/approvals": {"block": 0, "granted": True},
        "/api/agents": {"name": "B", "model": "vllm/qwen3-8b"},
        "/api/preferences": {},
        **{
            route.path: [
                {
                    "model": "anthropic/claude-opus-4-5",
                    "max_tokens": 9_000,
                    "stream": stream,
                    "input" if route.path == "/v1/responses" else "messages": [
                        {
                            "role": "user",
                            "content": f"Tell me of {route.path}, {stream}.",
                            "parts": [{"type": "text", "text": f"Tell me of {route.path}, {stream}."}],
                        }
                    ],
                    "forwardedProps": {"model": "anthropic/claude-opus-4-5"},
                }
                for stream in (True, False)
            ]
            for route in COMPATIBLE_ROUTES
            if route.method == "POST"
        },
    }
    body = None if route.method in ("GET", "DELETE") else bodies.get(path, {})
    if isinstance(body, list):
        return [(path, one) for one in body]
    return [(path + query, body) for query in queries.get(path, [""])]


async def responses(caller: Caller, paths: dict[str, str]) -> dict[str, bytes]:
    """Call every route of the gateway and return what it sends."""
    received: dict[str, bytes] = {}
    for route in sorted(
        (*ROUTES, *COMPATIBLE_ROUTES), key=lambda route: f"{route.method} {route.path}" in LAST
    ):
        if f"{route.method} {route.path}" in SKIPPED:
            continue
        for path, body in requests_of(route, paths):
            async with caller.http.request(route.method, caller.url + path, json=body) as response:
                assert response.status < 500
                content = await response.read()
                received[f"{route.method} {path}"] = received.get(f"{route.method} {path}", b"") + content
    return received


@pytest.mark.parametrize("shown", [ThinkingShown.NOTHING, ThinkingShown.LENGTH])
def test_no_route_gives_hidden_thinking(tmp_path: Path, shown: ThinkingShown) -> None:
    """S15."""

    async def story() -> None:
        async with (
            start_gateway(tmp_path, "anthropic", SCRIPT) as operator,
            restricted_caller(operator, shown) as caller,
        ):
            paths = await ask_with_tools(caller)
            received = await responses(caller, paths)
            for request, content in received.items():
                assert SECRET.encode() not in content, request
            turn = msgspec.json.decode(received[f"GET /api/turns/{paths['turn']}"])
            assert turn["copy_text"] == "A gull is a bird."
            assert [notice["code"] for notice in turn["notices"]] == ["thinking_hidden"]
            tells_length = shown is ThinkingShown.LENGTH
            assert (turn["usage"].get("output") is not None) == tells_length
            assert (turn["stamps"].get("first_reasoning_ms") is not None) == tells_length
            for route in COMPATIBLE_ROUTES:
                if route.handler is None:
                    assert b"course" in received[f"POST {route.path}"], route.path
            search = received["GET /api/search?q=canarythought&scope=thoughts"]
            assert msgspec.json.decode(search)["error"]["code"] == "forbidden"

    asyncio.run(story())


def test_rule_of_an_agent_overrides_that_for_all(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            start_gateway(tmp_path, script=[{"thinking": SECRET, "text": "Yes."}] * 3) as operator,
            restricted_caller(operator, ThinkingShown.NOTHING) as caller,
        ):
            spec = {"name": "Open", "model": caller.model, "thinking": True}
            agent = (await caller.call("POST", "/api/agents", spec, status=201))["id"]

            def show(conn: Connection) -> None:
                users.set_thinking_rule(conn, users.user_named(conn, "ana"), agent, ThinkingShown.ALL)

            hidden = await caller.run_turn(await caller.create_session())
            await operator.database.write(show)
            shown = await caller.run_turn(await caller.create_session(agent=agent))
            assert (hidden.turn.reasoning, shown.turn.reasoning) == ("", SECRET)
            seen = await operator.run_turn(await operator.create_session())
            assert seen.turn.reasoning == SECRET, "the operator sees everything"

    asyncio.run(story())


def test_thinking_of_an_assistant_is_hidden_also_when_its_caller_is_changed(tmp_path: Path) -> None:
    """A user could otherwise read it through an agent of their own."""
    task = [{"name": "checker", "arguments": {"task": "Is it a bird?"}}]

    async def story() -> None:
        async with start_gateway(
            tmp_path,
            script=[
                {"thinking": "I ask.", "tool_calls": task},
                {"thinking": SECRET, "text": "It is."},
                {"thinking": "Good.", "text": "Yes."},
            ],
        ) as operator:
            spec = {"name": "Checker", "model": operator.model, "thinking": True}
            checker = (await operator.call("POST", "/api/agents", spec, status=201))["id"]
            async with restricted_caller(operator, ThinkingShown.NOTHING, checker) as caller:
                own = {**spec, "name": "Own"}
                with_checker = {**own, "assistants": [checker]}
                agent = (await caller.call("POST", "/api/agents", with_checker, status=201))["id"]
                turn = await caller.start_turn(await caller.create_session(agent=agent))
                await caller.call("PUT", f"/api/agents/{agent}", own)
                streamed = await caller.read_stream(turn)
                stored = await caller.call("GET", f"/api/turns/{turn}")
                assert streamed.turn.answer == stored["copy_text"] == "Yes."
                assert SECRET.encode() not in streamed.data
                assert SECRET not in str(stored)

    asyncio.run(story())


@pytest.mark.parametrize(
    ("agent", "assistants", "shown"),
    [
        ("", None, ThinkingShown.ALL),
        ("a", (), ThinkingShown.ALL),
        ("a", ("b", "c"), ThinkingShown.LENGTH),
        ("a", ("c", "d"), ThinkingShown.NOTHING),
        ("d", ("c",), ThinkingShown.NOTHING),
        ("a", None, ThinkingShown.NOTHING),
    ],
)
def test_strictest_rule_of_an_agent_and_its_assistants_holds(
    agent: str, assistants: tuple[str, ...] | None, shown: ThinkingShown
) -> None:
    """Of a turn from before assistants were recorded, every agent with a rule may have been one."""
    rules = {"c": ThinkingShown.LENGTH, "d": ThinkingShown.NOTHING}
    row = TurnRow(1, "trn", 1, 0, TurnState.DONE, agent, "m", "p", "", 1, 2, 1, assistants=assistants)
    assert shown_to(rules, row) is shown


def test_rule_of_an_agent_follows_its_copies_and_its_prompt(tmp_path: Path) -> None:
    """A rule for the bare model is the one for all: without the prompt nothing of the agent is used."""
    prompt = "You check numbers.\n\nBe strict."

    async def story() -> None:
        script = [{"thinking": f"{SECRET}.", "text": "Yes."}] * 10
        async with start_gateway(tmp_path, script=script) as operator:
            spec = {"name": "Checker", "model": operator.model, "thinking": True, "system": prompt}
            checker = (await operator.call("POST", "/api/agents", spec, status=201))["id"]
            async with restricted_caller(operator, ThinkingShown.NOTHING, checker) as caller:
                copy = await caller.call("POST", "/api/agents", {**spec, "name": "Mine"}, status=201)
                boss_spec = {"name": "Boss", "model": caller.model, "assistants": [copy["id"]]}
                boss = await caller.call("POST", "/api/agents", boss_spec, status=201)
                same = "  You check numbers. Be strict.  Always."
                for hidden, agent, options in (
                    (True, checker, {}),
                    (True, copy["id"], {}),
                    (True, boss["id"], {}),
                    (True, "", {"system": same, "thinking": "high"}),
                    (False, copy["id"], {"system": "You write poems."}),
                    (False, "", {"thinking": "high"}),
                ):
                    session = await caller.create_session(agent=agent)
                    told = await caller.run_turn(session, "Is 7 prime?", **options)
                    assert (SECRET.encode() not in told.data) is hidden, (agent, options)
                    turn = told.turn
                    assert turn.answer == "Yes."
                messages = [{"role": "system", "content": same}, {"role": "user", "content": "Is 9 prime?"}]
                for stream in (True, False):
                    body = {"model": caller.model, "messages": messages, "stream": stream}
                    url = f"{caller.url}/v1/chat/completions"
                    async with caller.http.post(url, json=body) as response:
                        content = await response.read()
                    assert b"Yes." in content
                    assert SECRET.encode() not in content
                figures = await caller.call("GET", "/api/figures")
                assert figures["total"]["hidden"] == 6

    asyncio.run(story())


def test_prompt_of_an_agent_without_a_rule_changes_nothing() -> None:
    rules = {"": ThinkingShown.NOTHING, "x": ThinkingShown.ALL}
    assert shown_to_agents(rules, "x", (f"{PROMPT_OF}other",)) is ThinkingShown.ALL
    assert shown_to_agents(rules, "", (f"{PROMPT_OF}x",)) is ThinkingShown.NOTHING
    assert used_prompts(["Be kind."], {"a": "", "b": "Be\n kind.", "c": "Be brief."}) == (f"{PROMPT_OF}b",)


def test_hidden_stream_is_resumed_and_ends_with_204(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            start_gateway(tmp_path, script=[{"thinking": "one two three", "text": "Yes."}]) as operator,
            restricted_caller(operator, ThinkingShown.NOTHING) as caller,
        ):
            turn = await caller.start_turn(await caller.create_session())
            live = await caller.read_stream(turn)
            later = await caller.read_stream(turn)
            assert later.entries == live.entries, "live and stored are the same"
            assert list(live.entries) == list(range(len(live.entries)))
            assert all(entry.at_ms is None for entry in live.entries.values())
            for after in range(len(live.entries) - 1):
                rest = await caller.read_stream(turn, f"?after={after}")
                assert rest.entries == {n: entry for n, entry in live.entries.items() if n > after}
            assert (await caller.read_stream(turn, f"?after={len(live.entries) - 1}")).status == 204

    asyncio.run(story())


def test_operator_cannot_be_restricted(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path) as caller:

            def restrict(conn: Connection) -> None:
                users.set_thinking_rule(
                    conn, users.user_named(conn, users.LOCAL_USER), "", ThinkingShown.NOTHING
                )

            with pytest.raises(Refused, match="operator"):
                await caller.database.write(restrict)

    asyncio.run(story())


def timed(*events: Event) -> list[Entry]:
    return [Entry(seq, event, 10 * seq) for seq, event in enumerate(events)]


def test_text_that_turns_out_to_be_a_thought_is_never_shown() -> None:
    """A lone `</think>` makes a thought of the text before it, after the text was sent."""
    entries = timed(
        TurnStarted(),
        BlockStarted(0, Kind.TEXT),
        BlockGrew(0, SECRET),
        BlockReclassified(0, Kind.REASONING),
        BlockEnded(0),
        BlockStarted(1, Kind.TEXT),
        BlockGrew(1, "Yes."),
        BlockEnded(1),
        UsageReported(Usage(input=1, output=9, reasoning=5)),
        TurnEnded(),
    )
    thought_filter = ThoughtFilter(ThinkingShown.NOTHING)
    shown = [visible for entry in entries for visible in thought_filter.feed(entry)]
    assert SECRET not in str(shown)
    turn = fold_entries(shown)
    assert (turn.answer, len(turn.blocks), turn.usage) == ("Yes.", 1, Usage(input=1))


def test_answer_that_was_taken_for_a_thought_is_shown() -> None:
    entries = timed(
        TurnStarted(),
        BlockStarted(0, Kind.REASONING),
        BlockGrew(0, f"{SECRET} Yes."),
        BlockEnded(0),
        BlockReclassified(0, Kind.TEXT, 4, 1),
        TurnEnded(),
    )
    turn = fold_entries(hide_in_entries(entries, ThinkingShown.NOTHING))
    assert (turn.answer, turn.reasoning) == ("Yes.", "")
    with_length = fold_entries(hide_in_entries(entries, ThinkingShown.LENGTH))
    assert [(block.kind, block.text) for block in with_length.blocks] == [
        (Kind.REASONING, ""),
        (Kind.TEXT, "Yes."),
    ]


@pytest.mark.parametrize("shown", [ThinkingShown.NOTHING, ThinkingShown.LENGTH])
def test_recorded_turns_keep_their_answers_and_lose_their_thoughts(shown: ThinkingShown) -> None:
    for name, recording in RECORDINGS.items():
        entries = timed(*recording.events())
        turn = fold_entries(entries)
        visible = fold_entries(hide_in_entries(entries, shown))
        stored = hide_thoughts(turn, shown)
        assert not visible.reasoning, name
        assert [(block.kind, block.text) for block in visible.blocks] == [
            (block.kind, block.text) for block in stored.blocks
        ], f"{name}: live and stored differ"
        assert (visible.answer, visible.live) == (turn.answer, turn.live), name
        encoded = msgspec.json.encode(unfold(visible)).decode()
        assert "block.sealed" not in encoded, name
        assert "summary.written" not in encoded, name
