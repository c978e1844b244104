"""The settings file is the only home of the local user's preferences: the gateway serves and changes it."""

import asyncio
import tomllib
from functools import partial
from pathlib import Path

import pytest
from tests.server.caller import quick_settings, start_gateway

from thinkaloud.client.config import ConfigFile
from thinkaloud.core.view import preset
from thinkaloud.gateway.store.queries import preferences, users
from thinkaloud.gateway.store.rows import Preferences


def values(path: Path) -> dict[str, object]:
    return tomllib.loads(path.read_text()) if path.exists() else {}


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG", "THINKALOUD_MODEL"):
        monkeypatch.delenv(name, raising=False)


def test_r055_preferences_of_the_local_user_are_the_settings_file(tmp_path: Path) -> None:
    """R055, R117: `show_thinking` is in the settings, and a change on either side is seen on the other."""
    path = tmp_path / "config.toml"
    path.write_text('# mine\nlanguage = "pt-BR" # Brazil\n[extra]\nkept = 1\n')

    async def story() -> None:
        async with start_gateway(tmp_path, settings=quick_settings(config_path=path)) as caller:
            body = await caller.call("GET", "/api/preferences")
            assert (body["language"], body["model"], body["thinking"]) == ("pt-BR", "", "")
            body["display"]["show_thinking"] = False
            body["thinking"] = "high"
            assert await caller.call("PUT", "/api/preferences", body) == body
            assert values(path) == {
                "language": "pt-BR",
                "extra": {"kept": 1},
                "thinking": {"display": {"show_thinking": False}, "level": "high"},
            }
            assert path.read_text().startswith('# mine\nlanguage = "pt-BR" # Brazil\n')
            ConfigFile(path).change({"thinking.display.preset": "trace", "language": None})
            body = await caller.call("GET", "/api/preferences")
            assert (body["language"], body["display"]["preset"]) == ("en-US", "trace")
            assert body["display"]["header"] == "summary"
            await caller.call("PUT", "/api/preferences", {})
            assert values(path) == {"extra": {"kept": 1}, "thinking": {"display": {}}}

    asyncio.run(story())


def test_a_broken_settings_file_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"

    async def story() -> None:
        async with start_gateway(tmp_path, settings=quick_settings(config_path=path)) as caller:
            path.write_text("language = ")
            message = await caller.refusal_message("GET", "/api/preferences", status=422)
            assert "config.toml is not valid TOML" in message

    asyncio.run(story())


def test_a_bad_thinking_level_in_the_settings_file_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"

    async def story() -> None:
        async with start_gateway(tmp_path, settings=quick_settings(config_path=path)) as caller:
            session = await caller.create_session()
            path.write_text('thinking.level = "banana"')
            turn = await caller.start_turn(session, "Hi")
            assert (await caller.read_stream(turn)).state == "done"

    asyncio.run(story())


def test_stored_preferences_of_an_earlier_version_move_into_the_file_once(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    settings = quick_settings(config_path=path)
    stored = Preferences(display=preset("trace"), language="pt-BR")

    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            owner = caller.gateway.local_owner
            await caller.gateway.database.write(
                partial(preferences.write, owner=owner, settings=stored, now_ms=1)
            )
        async with start_gateway(tmp_path, settings=settings) as caller:
            assert values(path) == {"language": "pt-BR", "thinking": {"display": {"preset": "trace"}}}
            assert (await caller.call("GET", "/api/preferences"))["language"] == "pt-BR"
            assert await caller.gateway.database.read(partial(preferences.read, owner=owner)) == Preferences()

    asyncio.run(story())


def test_remember_user_holds_in_other_workspaces_of_the_local_user(tmp_path: Path) -> None:
    """R054, R055: other workspaces are in the database; `remember: user` is one value for all of them."""
    path = tmp_path / "config.toml"

    async def story() -> None:
        async with start_gateway(tmp_path, settings=quick_settings(config_path=path)) as caller:
            local, now_ms = caller.gateway.local_owner, caller.gateway.now_ms()
            join = partial(users.add_member, user=local.user, workspace_name="second", now_ms=now_ms)
            workspace = await caller.gateway.database.write(join)
            second = {"Thinkaloud-Workspace": workspace.id}
            await caller.call("PUT", "/api/preferences", {"language": "pt-BR"}, headers=second)
            assert values(path) == {}
            hidden = {"preset": "toggle", "show_thinking": False}
            await caller.call("PUT", "/api/preferences", {"display": hidden})
            body = await caller.call("GET", "/api/preferences", headers=second)
            assert (body["language"], body["display"]["show_thinking"]) == ("pt-BR", False)
            body["display"]["show_thinking"] = True
            await caller.call("PUT", "/api/preferences", body, headers=second)
            assert (await caller.call("GET", "/api/preferences"))["display"]["show_thinking"] is True
            body["display"]["remember"] = "user_workspace"
            await caller.call("PUT", "/api/preferences", body, headers=second)
            body["display"]["show_thinking"] = False
            await caller.call("PUT", "/api/preferences", body, headers=second)
            assert (await caller.call("GET", "/api/preferences"))["display"]["show_thinking"] is True

    asyncio.run(story())


def test_model_and_thinking_of_the_settings_are_used_for_turns(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"

    async def story() -> None:
        async with start_gateway(tmp_path, settings=quick_settings(config_path=path)) as caller:
            session = await caller.create_session(model="")
            await caller.call("PUT", "/api/preferences", {"model": caller.model, "thinking": "off"})
            await caller.run_turn(session)
            sent = caller.simulator.requests[-1].body
            assert sent["chat_template_kwargs"] == {"enable_thinking": False}
            ConfigFile(path).change({"thinking.level": 5000, "model": "no-such-model"})
            message = await caller.refusal_message(
                "POST", f"/api/sessions/{session}/turns", {"prompt": "Hi"}, status=422
            )
            assert "no-such-model" in message
            ConfigFile(path).change({"thinking.level": "high", "model": None})
            await caller.run_turn(session, model=caller.model)
            assert caller.simulator.requests[-1].body["chat_template_kwargs"] == {"enable_thinking": True}
            assert caller.simulator.refusals == []

    asyncio.run(story())


def test_preferred_thinking_is_left_out_for_a_model_that_cannot_think(tmp_path: Path) -> None:
    row = '[models.plain]\nat = { vllm = "qwen3-8b" }\nthinking = "none"\n'
    row += 'fact = { as_of = "2026-11-01", source = "test" }\n'

    async def story() -> None:
        async with start_gateway(tmp_path, extra=row) as caller:
            await caller.call("PUT", "/api/preferences", {"thinking": "high"})
            session = await caller.create_session(model="vllm/plain")
            await caller.run_turn(session)
            message = await caller.refusal_message(
                "POST", f"/api/sessions/{session}/turns", {"prompt": "Hi", "thinking": "high"}, status=422
            )
            assert "does not support thinking" in message

    asyncio.run(story())
