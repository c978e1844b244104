"""The list of sessions: which client a session was recorded from, which are pinned, and which run."""

import asyncio
from pathlib import Path

import pytest
from tests.patience import PATIENCE_S
from tests.server.caller import ENDLESS_SCRIPT, SCRIPT, Caller, start_gateway

from thinkaloud.gateway.server.compatible.client_identity import MAX_CLIENT_CHARACTERS, client_name


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        ("claude-cli/2.1.197 (external, cli)", "Claude Code"),
        ("codex_cli_rs/0.166.0 (Debian 13; x86_64) xterm", "Codex"),
        ("AsyncOpenAI/Python 2.8.1", "OpenAI SDK"),
        ("Anthropic/JS 0.70.0", "Anthropic SDK"),
        ("ai-sdk/openai-compatible/1.0.22", "AI SDK"),
        ("my-script/1 (by me)", "my-script"),
        ("  curl/8.5.0", "curl"),
        ("<b>/1", "API"),
        ("", "API"),
        ("x" * 500, "x" * MAX_CLIENT_CHARACTERS),
    ],
)
def test_client_is_named_by_its_user_agent(user_agent: str, name: str) -> None:
    assert client_name({"user-agent": user_agent}) == name
    assert client_name({}) == "API"


def test_sessions_name_their_client_and_whether_they_run(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, "vllm", [*SCRIPT, *ENDLESS_SCRIPT]) as caller:
            question = {"model": caller.model, "messages": [{"role": "user", "content": "17 * 3 - 9?"}]}
            await caller.call(
                "POST", "/v1/chat/completions", question, headers={"User-Agent": "claude-cli/2.1.197"}
            )
            own = await caller.create_session()
            turn = await caller.start_turn(own)
            listed = (await caller.call("GET", "/api/sessions"))["items"]
            assert [(one["id"] == own, one["client"], one["running"]) for one in listed] == [
                (True, "", True),
                (False, "Claude Code", False),
            ]
            await caller.call("POST", f"/api/turns/{turn}/cancel", status=202)
            async with asyncio.timeout(PATIENCE_S):
                while any(one["running"] for one in (await caller.call("GET", "/api/sessions"))["items"]):
                    await asyncio.sleep(0.02)

    asyncio.run(story())


def test_pinned_sessions_are_listed_apart_and_keep_their_place(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, "vllm", SCRIPT) as caller:
            first, second, third = [await caller.create_session(title=name) for name in "abc"]
            changed = await caller.call("PATCH", f"/api/sessions/{first}", {"pinned": True})
            assert changed["pinned"]
            assert await _listed(caller, "") == [third, second, first]
            assert await _listed(caller, "?pinned=true") == [first]
            assert await _listed(caller, "?pinned=false") == [third, second]
            await caller.call("PATCH", f"/api/sessions/{first}", {"pinned": False})
            assert await _listed(caller, "?pinned=true") == []
            await caller.call("PATCH", f"/api/sessions/{first}", {"pinned": "yes"}, status=422)

    asyncio.run(story())


async def _listed(caller: Caller, query: str) -> list[str]:
    return [one["id"] for one in (await caller.call("GET", f"/api/sessions{query}"))["items"]]
