"""The sessions API: create, list, read, change, delete, and messages."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE_S
from tests.server.caller import ENDLESS_SCRIPT, SLOW_SCRIPT, start_gateway

from thinkaloud.gateway.server.handlers import sessions as session_handlers


def test_page_of_long_messages_is_cut_and_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page holds fewer turns than asked for if they are long, so that no page fills the memory."""
    monkeypatch.setattr(session_handlers, "PAGE_CHARS", 20)

    async def story() -> None:
        script = [{"thinking": "hm", "text": f"{number} " + "x" * 15} for number in range(5)]
        async with start_gateway(tmp_path, script=script) as caller:
            session = await caller.create_session()
            for _ in script:
                await caller.run_turn(session)
            for order, numbers in (("oldest", "01234"), ("newest", "34120")):
                pages, after = [], ""
                while True:
                    path = f"/api/sessions/{session}/messages?order={order}&limit=50&after={after}"
                    page = await caller.call("GET", path)
                    pages.append([m["content"][0] for m in page["items"] if m["role"] == "assistant"])
                    after = page["next"]
                    if not after:
                        break
                assert len(pages) == 3
                assert "".join(number for page in pages for number in page) == numbers

    asyncio.run(story())


def test_create_change_and_delete_session(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            body = await caller.call("POST", "/api/sessions", {"title": " Sums "}, status=201)
            assert (body["title"], body["titled_by"], body["agent"]) == ("Sums", "person", "")
            path = f"/api/sessions/{body['id']}"
            changed = await caller.call("PATCH", path, {"title": "Products", "model": "vllm/x"})
            assert (changed["title"], changed["model"]) == ("Products", "vllm/x")
            assert (await caller.call("PATCH", path, {}))["title"] == "Products"
            untitled = await caller.call("PATCH", path, {"title": ""})
            assert untitled["titled_by"] == ""
            assert (await caller.call("GET", path))["turns"] == []
            assert await caller.call("DELETE", path, status=204) is None
            await caller.call("GET", path, status=404)
            await caller.call("DELETE", path, status=404)

    asyncio.run(story())


def test_invalid_session_fields_are_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            path = f"/api/sessions/{await caller.create_session()}"
            for body in ({"title": "x" * 201}, {"colour": "red"}, {"title": 3}, {"model": None}):
                await caller.refusal_message("POST", "/api/sessions", body, status=422)
                await caller.refusal_message("PATCH", path, body, status=422)
            unknown_agent = {"agent": "agt_" + "x" * 22}
            assert "GET /api/agents" in await caller.refusal_message(
                "POST", "/api/sessions", unknown_agent, status=422
            )
            assert "GET /api/agents" in await caller.refusal_message("PATCH", path, unknown_agent, status=422)

    asyncio.run(story())


def test_session_pages_are_stable_while_sessions_are_added(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            session_ids = [await caller.create_session(title=str(number)) for number in range(7)]
            page = await caller.call("GET", "/api/sessions?limit=3")
            listed_ids = [item["id"] for item in page["items"]]
            while page["next"]:
                await caller.create_session(title="in between")
                page = await caller.call("GET", f"/api/sessions?limit=3&after={page['next']}")
                listed_ids += [item["id"] for item in page["items"]]
            assert listed_ids == session_ids[::-1]
            for query in ("limit=0", "limit=201", "limit=x", "offset=2"):
                await caller.refusal_message("GET", f"/api/sessions?{query}", status=400)
            await caller.refusal_message("GET", "/api/sessions?after=nonsense", status=422)

    asyncio.run(story())


@pytest.mark.parametrize(
    ("provider", "asked_for"), [("vllm", None), ("anthropic", 2048), ("deepseek", "high")]
)
def test_r053_thinking_has_its_own_field(tmp_path: Path, provider: str, asked_for: str | int | None) -> None:
    """R050 R051 R052 R053: parts in order, `thinking` as text, from a block or from a field.

    Four timestamps and usage are included; `content` holds no thinking.
    """

    async def story() -> None:
        async with start_gateway(tmp_path, provider, SLOW_SCRIPT) as caller:
            session = await caller.create_session()
            await caller.run_turn(session, "Think.", thinking=asked_for)
            user_message, assistant_message = (await caller.call("GET", f"/api/sessions/{session}/messages"))[
                "items"
            ]
            assert (user_message["role"], user_message["content"], user_message["thinking"]) == (
                "user",
                "Think.",
                None,
            )
            assert (
                assistant_message["role"],
                assistant_message["content"],
                assistant_message["thinking"],
            ) == (
                "assistant",
                SLOW_SCRIPT[0]["text"],
                SLOW_SCRIPT[0]["thinking"],
            )
            assert [(part["kind"], part["text"]) for part in assistant_message["parts"]] == [
                ("reasoning", SLOW_SCRIPT[0]["thinking"]),
                ("text", SLOW_SCRIPT[0]["text"]),
            ]
            assert assistant_message["usage"]["reasoning"] > 0
            stamps = assistant_message["stamps"]
            assert (
                stamps["request_sent_ms"]
                <= stamps["first_reasoning_ms"]
                < stamps["last_reasoning_ms"]
                <= stamps["first_text_ms"]
            )

    asyncio.run(story())


def test_messages_are_paged_by_turns(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, script=[{"text": str(number)} for number in range(5)]) as caller:
            session = await caller.create_session()
            for number in range(5):
                await caller.run_turn(session, f"Question {number}")
            path, messages = f"/api/sessions/{session}/messages?limit=2", list[Any]()
            after = ""
            while True:
                page = await caller.call("GET", f"{path}&after={after}")
                messages += [item["content"] for item in page["items"]]
                after = page["next"]
                if not after:
                    break
            assert messages == [text for number in range(5) for text in (f"Question {number}", str(number))]
            turns = await caller.call("GET", f"/api/sessions/{session}?limit=3")
            assert [turn["state"] for turn in turns["turns"]] == ["done"] * 3
            assert turns["next"]

    asyncio.run(story())


def test_title_comes_from_the_first_question_at_once_and_never_from_thinking(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, script=ENDLESS_SCRIPT * 3) as caller:
            session = await caller.create_session()
            titles = []
            for question in ("How much is it? Say it.", "And now?"):
                turn = await caller.start_turn(session, question)
                body = await caller.call("GET", f"/api/sessions/{session}")
                titles.append((body["title"], body["titled_by"]))
                await caller.call("POST", f"/api/turns/{turn}/cancel", status=202)
                await caller.read_stream(turn)
            assert titles == [("How much is it?", "question")] * 2
            await caller.call("PATCH", f"/api/sessions/{session}", {"title": "Mine"})
            await caller.start_turn(session)
            assert (await caller.call("GET", f"/api/sessions/{session}"))["titled_by"] == "person"

    asyncio.run(story())


def test_session_with_running_turn_is_not_deleted(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, script=ENDLESS_SCRIPT) as caller:
            session = await caller.create_session()
            turn = await caller.start_turn(session)
            assert turn in await caller.refusal_message("DELETE", f"/api/sessions/{session}", status=409)
            running = (await caller.call("GET", f"/api/sessions/{session}/messages"))["items"]
            assert [(item["role"], item["state"]) for item in running] == [("user", "running")]
            await caller.call("POST", f"/api/turns/{turn}/cancel", status=202)
            await caller.call("DELETE", f"/api/sessions/{session}", status=204)
            await caller.call("GET", f"/api/turns/{turn}", status=404)
            assert (await caller.read_stream(turn)).status == 404

    asyncio.run(story())


def test_delete_erases_the_words_from_all_files_of_the_home(tmp_path: Path) -> None:
    question, thought, answer = (
        "Is Zanzibarquito expensive?",
        "Wobblethornic doubts.",
        "Quivershamble says no.",
    )
    secrets = [word.encode() for word in ("nzibarquito", "bblethornic", "ivershamble")]

    def found_secrets() -> list[bytes]:
        content = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        return [secret for secret in secrets if secret in content.lower()]

    async def story() -> None:
        script = [{"thinking": thought, "text": answer}, {"thinking": "hm", "text": "Other words."}]
        async with start_gateway(tmp_path, script=script) as caller:
            session, other = await caller.create_session(), await caller.create_session()
            await caller.run_turn(session, question)
            await caller.run_turn(other)
            assert found_secrets() == secrets
            await caller.call("DELETE", f"/api/sessions/{session}", status=204)
            async with asyncio.timeout(PATIENCE_S):
                while found_secrets():
                    await asyncio.sleep(0.05)
            assert (await caller.call("GET", "/api/search?q=other"))["items"]

    asyncio.run(story())
