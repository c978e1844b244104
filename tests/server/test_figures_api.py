"""Figures: thinking time, tokens and cost by model, agent and day; the longest thoughts, stalls and loops."""

import asyncio
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, text
from tests.server.caller import Caller, start_gateway
from tests.server.test_hidden_thinking import restricted_caller

from thinkaloud.gateway.server.handlers import figures
from thinkaloud.gateway.store.queries.figures import DAY_MS, sum_figures
from thinkaloud.gateway.store.rows import Owner, ThinkingShown

SHORT = {"thinking": "one two three four", "text": "Done.", "delay_ms": 20}
LONG = {
    "thinking": "one two three four five six seven eight nine ten eleven",
    "text": "Done.",
    "delay_ms": 60,
}
LOOP = {"thinking": "Wait, let me check the sum of both again and again. " * 60, "text": "Done."}


async def _figures(caller: Caller, query: str = "") -> Any:
    return await caller.call("GET", f"/api/figures{query}")


def test_figures_sum_up_turns_by_model_agent_and_day(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, "anthropic", [SHORT, LONG, LOOP, SHORT]) as caller:
            empty = await _figures(caller)
            assert (empty["total"]["turns"], empty["models"], empty["longest"]) == (0, [], [])
            spec = {"name": "Planner", "model": caller.model, "thinking": True}
            agent = (await caller.call("POST", "/api/agents", spec, status=201))["id"]
            session, other = await caller.create_session(title="Sums"), await caller.create_session()
            await caller.run_turn(session, thinking="low")
            long_turn = await caller.start_turn(session, thinking="low")
            await caller.read_stream(long_turn)
            await caller.run_turn(other, agent=agent)
            found = await _figures(caller)
            total = found["total"]
            bodies = [
                await caller.call("GET", f"/api/turns/{turn['id']}")
                for one in (session, other)
                for turn in (await caller.call("GET", f"/api/sessions/{one}"))["turns"]
            ]
            assert (total["turns"], total["thought"], total["priced"]) == (3, 3, 3)
            assert total["output_tokens"] == sum(body["usage"]["output"] for body in bodies)
            assert total["thinking_ms"] == sum(body["reasoning_meta"]["duration_ms"] or 0 for body in bodies)
            assert (
                abs(float(total["usd"]) - sum(float(body["cost"]["turn"]["usd"]) for body in bodies)) < 1e-8
            )
            assert [(row["name"], row["turns"]) for row in found["models"]] == [(caller.model, 3)]
            assert {(row["name"], row["title"], row["turns"]) for row in found["agents"]} == {
                ("", "", 2),
                (agent, "Planner", 1),
            }
            assert sum(row["turns"] for row in found["days"]) == 3
            assert total["loops"] >= 1
            assert found["longest"][0]["turn"] == long_turn
            assert found["longest"][0]["session_title"] == "Sums"
            assert found["longest"][0]["block"] == 0
            assert found["priced_by"].startswith("genai-prices")
            assert found["complete"]
            await caller.call("DELETE", f"/api/sessions/{other}", status=204)
            await caller.run_turn(session)
            assert (await _figures(caller))["total"]["turns"] == 3  # one is gone, one is new
            assert (await _figures(caller))["total"]["loops"] == 0

    asyncio.run(story())


def test_days_begin_at_midnight_of_the_caller(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, "vllm", [SHORT] * 2) as caller:
            session = await caller.create_session()
            for _ in range(2):
                await caller.run_turn(session)
            midnight_ms = caller.gateway.now_ms() // DAY_MS * DAY_MS
            statement = text("UPDATE turns SET created_ms = :before + position")
            await caller.database.write(lambda conn: conn.execute(statement, {"before": midnight_ms - 1}))
            assert [row["turns"] for row in (await _figures(caller, "?days=2"))["days"]] == [1, 1]
            assert (await _figures(caller, "?days=1"))["total"]["turns"] == 1
            behind = await _figures(caller, "?days=3&utc_offset_minutes=-1")
            assert [row["turns"] for row in behind["days"]] == [2]
            for query in ("?days=0", "?days=367", "?utc_offset_minutes=900", "?day=1"):
                await caller.call("GET", f"/api/figures{query}", status=400)

    asyncio.run(story())


def test_figures_count_unknown_apart_and_leave_imports_out(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, "vllm", [SHORT]) as caller:
            session = await caller.create_session()
            await caller.run_turn(session)
            exported = await caller.call("GET", f"/api/sessions/{session}/export?format=json")
            await caller.call("POST", "/api/import", exported, status=201)
            total = (await _figures(caller))["total"]
            assert (total["turns"], total["priced"], total["usd"]) == (1, 0, "0")

    asyncio.run(story())


def test_hidden_thinking_is_not_in_figures(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, "vllm", [LONG] * 4) as owner:
            for shown in (ThinkingShown.LENGTH, ThinkingShown.NOTHING):
                async with restricted_caller(owner, shown, name=shown) as caller:
                    await caller.run_turn(await caller.create_session())
                    found = await _figures(caller)
                    total = found["total"]
                    assert total["turns"] == 1
                    if shown is ThinkingShown.LENGTH:
                        assert total["thinking_ms"] > 0
                        assert len(found["longest"]) == 1
                        continue
                    sums = {name: value for name, value in total.items() if name not in ("turns", "hidden")}
                    assert set(sums.values()) <= {0, "0", ""}
                    assert (total["hidden"], found["longest"]) == (1, [])

    asyncio.run(story())


def test_turns_are_counted_in_steps(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(figures, "TURNS_PER_REQUEST", 2)

    async def story() -> None:
        async with start_gateway(tmp_path, "vllm", [SHORT] * 3) as caller:
            session = await caller.create_session()
            for _ in range(3):
                await caller.run_turn(session)
            first, second = await _figures(caller), await _figures(caller)
            assert (first["total"]["turns"], first["complete"]) == (2, False)
            assert (second["total"]["turns"], second["complete"]) == (3, True)

    asyncio.run(story())


def test_sums_read_only_the_owners_rows_in_order(tmp_path: Path) -> None:
    """Figures stay fast with 100,000 turns: one range of a narrow table is read."""

    async def story() -> None:
        async with start_gateway(tmp_path, "vllm", [SHORT]) as caller:
            owner = Owner(1, 1)

            def plan(conn: Connection) -> str:
                statements: list[str] = []
                raw = conn.connection.driver_connection
                assert raw is not None
                raw.set_trace_callback(statements.append)
                sum_figures(conn, owner, since_ms=0, offset_ms=0)
                raw.set_trace_callback(None)
                (query,) = [one for one in statements if "turn_figures" in one]
                return "\n".join(str(row) for row in conn.execute(text(f"EXPLAIN QUERY PLAN {query}")))

            steps = await caller.database.read(plan)
            assert "SEARCH turn_figures USING PRIMARY KEY (user=? AND workspace=? AND created_ms>?)" in steps

    asyncio.run(story())
