"""The preferences API: per user and workspace, across sessions and restarts."""

import asyncio
from functools import partial
from pathlib import Path

import msgspec
import pytest
from tests.server.caller import start_gateway

from thinkaloud.core.view import Policy, preset
from thinkaloud.gateway.store.queries import users


def test_r055_preferences_survive_sessions_and_restarts(tmp_path: Path) -> None:
    """R054 R055 R058: they override a preset, belong to the user, and survive a restart."""

    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            body = await caller.call("GET", "/api/preferences")
            assert body["display"] == msgspec.to_builtins(Policy())
            assert (body["language"], body["context_mode"]) == ("en-US", "provider_default")
            preferences = {
                "display": {"preset": "trace", "show_thinking": False},
                "language": "pt-BR",
                "context_mode": "strip",
                "render": "plain",
                "expand_key": "Ctrl+Shift+KeyU",
            }
            response_body = await caller.call("PUT", "/api/preferences", preferences)
            assert response_body["display"] == {
                **msgspec.to_builtins(preset("trace")),
                "show_thinking": False,
            }
            assert (response_body["render"], response_body["expand_key"]) == ("plain", "Ctrl+Shift+KeyU")
        async with start_gateway(tmp_path) as caller:
            assert await caller.call("GET", "/api/preferences") == response_body
            turn = await caller.start_turn(await caller.create_session())
            await caller.read_stream(turn)
            assert (await caller.call("PUT", "/api/preferences", {}))["language"] == "en-US"

    asyncio.run(story())


def test_r054_preferences_belong_to_one_user_in_one_workspace(tmp_path: Path) -> None:
    """R054: the same user has other preferences in another workspace."""

    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            local, now_ms = caller.gateway.local_owner, caller.gateway.now_ms()
            join = partial(users.add_member, user=local.user, workspace_name="second", now_ms=now_ms)
            await caller.gateway.database.write(join)
            mine = await caller.gateway.database.read(partial(users.workspaces_of, user=local.user))
            second = {"Thinkaloud-Workspace": next(one.id for one in mine if one.name == "second")}
            first = await caller.call("GET", "/api/workspaces")
            assert [one["name"] for one in first["items"]] == ["default", "second"]
            assert first["current"] == first["items"][0]["id"]
            body = await caller.call("GET", "/api/workspaces", headers=second)
            assert body["current"] == second["Thinkaloud-Workspace"]
            await caller.call("PUT", "/api/preferences", {"language": "pt-BR"}, headers=second)
            assert (await caller.call("GET", "/api/preferences"))["language"] == "en-US"
            assert (await caller.call("GET", "/api/preferences", headers=second))["language"] == "pt-BR"

    asyncio.run(story())


@pytest.mark.parametrize(
    "body",
    [
        {"display": {"preset": "loud"}},
        {"display": {"while_streaming": "always"}},
        {"display": {"open_blocks": [1]}},
        {"open": True},
        {"language": "de-DE"},
        {"context_mode": "some"},
        {"render": "html"},
        {"expand_key": "E"},
    ],
    ids=str,
)
def test_r056_unknown_preferences_are_refused(tmp_path: Path, body: object) -> None:
    """R056: the open state of a single block is not a preference."""

    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            await caller.refusal_message("PUT", "/api/preferences", body, status=422)

    asyncio.run(story())


def test_r062_hiding_thinking_changes_no_stored_data(tmp_path: Path) -> None:
    """R062: only the display changes."""

    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            session = await caller.create_session()
            await caller.run_turn(session)
            body = await caller.call("GET", f"/api/sessions/{session}/messages")
            await caller.call("PUT", "/api/preferences", {"display": {"show_thinking": False}})
            assert await caller.call("GET", f"/api/sessions/{session}/messages") == body

    asyncio.run(story())
