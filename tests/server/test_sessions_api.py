"""Sessions over HTTP: made, listed, read, changed, deleted; and the messages in them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.server.calling import ANSWER, ENDLESS, SLOW, THOUGHT, calling


def test_a_session_is_made_changed_and_deleted(tmp_path: Path) -> None:
    async def story() -> None:
        async with calling(tmp_path) as caller:
            made = await caller.call("POST", "/api/sessions", {"title": " Sums "}, status=201)
            assert (made["title"], made["titled_by"], made["agent"]) == ("Sums", "person", "")
            path = f"/api/sessions/{made['id']}"
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


def test_what_a_session_cannot_be_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with calling(tmp_path) as caller:
            path = f"/api/sessions/{await caller.session()}"
            for body in ({"title": "x" * 201}, {"colour": "red"}, {"title": 3}, {"model": None}):
                await caller.refused("POST", "/api/sessions", body, status=422)
                await caller.refused("PATCH", path, body, status=422)
            nobody = {"agent": "agt_" + "x" * 22}
            assert "GET /api/agents" in await caller.refused("POST", "/api/sessions", nobody, status=422)
            assert "GET /api/agents" in await caller.refused("PATCH", path, nobody, status=422)

    asyncio.run(story())


def test_lists_are_paged_and_stable_while_sessions_come(tmp_path: Path) -> None:
    async def story() -> None:
        async with calling(tmp_path) as caller:
            made = [await caller.session(title=str(number)) for number in range(7)]
            page = await caller.call("GET", "/api/sessions?limit=3")
            found = [item["id"] for item in page["items"]]
            while page["next"]:
                await caller.session(title="in between")
                page = await caller.call("GET", f"/api/sessions?limit=3&after={page['next']}")
                found += [item["id"] for item in page["items"]]
            assert found == made[::-1]
            for query in ("limit=0", "limit=201", "limit=x", "offset=2"):
                await caller.refused("GET", f"/api/sessions?{query}", status=400)
            await caller.refused("GET", "/api/sessions?after=nonsense", status=422)

    asyncio.run(story())


@pytest.mark.parametrize(
    ("provider", "asked_for"), [("vllm", None), ("anthropic", 2048), ("deepseek", "high")]
)
def test_r053_thoughts_have_a_field_of_their_own(
    tmp_path: Path, provider: str, asked_for: str | int | None
) -> None:
    """R050 R051 R052 R053: parts in order, `thinking` as text whether it came as a block or in a field.

    Four stamps and usage are beside it; `content` holds no thought.
    """

    async def story() -> None:
        async with calling(tmp_path, provider, SLOW) as caller:
            session = await caller.session()
            await caller.answered(session, "Think.", thinking=asked_for)
            asked, said = (await caller.call("GET", f"/api/sessions/{session}/messages"))["items"]
            assert (asked["role"], asked["content"], asked["thinking"]) == ("user", "Think.", None)
            assert (said["role"], said["content"], said["thinking"]) == (
                "assistant",
                SLOW[0]["text"],
                SLOW[0]["thinking"],
            )
            assert [(part["kind"], part["text"]) for part in said["parts"]] == [
                ("reasoning", SLOW[0]["thinking"]),
                ("text", SLOW[0]["text"]),
            ]
            assert said["usage"]["reasoning"] > 0
            stamps = said["stamps"]
            assert (
                stamps["request_sent_ms"]
                <= stamps["first_reasoning_ms"]
                < stamps["last_reasoning_ms"]
                <= stamps["first_text_ms"]
            )

    asyncio.run(story())


def test_messages_are_paged_by_turns(tmp_path: Path) -> None:
    async def story() -> None:
        async with calling(tmp_path, script=[{"text": str(number)} for number in range(5)]) as caller:
            session = await caller.session()
            for number in range(5):
                await caller.answered(session, f"Question {number}")
            path, found = f"/api/sessions/{session}/messages?limit=2", list[Any]()
            after = ""
            while True:
                page = await caller.call("GET", f"{path}&after={after}")
                found += [item["content"] for item in page["items"]]
                after = page["next"]
                if not after:
                    break
            assert found == [text for number in range(5) for text in (f"Question {number}", str(number))]
            turns = await caller.call("GET", f"/api/sessions/{session}?limit=3")
            assert [turn["state"] for turn in turns["turns"]] == ["done"] * 3
            assert turns["next"]

    asyncio.run(story())


def test_titles_are_made_of_answers_and_never_of_thoughts(tmp_path: Path) -> None:
    script = [
        {"thinking": "Canary thought without an answer.", "text": ""},
        {"thinking": "Another canary thought.", "text": ANSWER},
        {"thinking": THOUGHT, "text": "Something else."},
    ]

    async def story() -> None:
        async with calling(tmp_path, script=script) as caller:
            session = await caller.session()
            titles = []
            for _ in script:
                await caller.answered(session)
                told = await caller.call("GET", f"/api/sessions/{session}")
                titles.append((told["title"], told["titled_by"]))
            assert titles == [("", ""), ("It is 42", "answer"), ("It is 42", "answer")]

    asyncio.run(story())


def test_a_session_with_a_running_turn_is_not_deleted(tmp_path: Path) -> None:
    async def story() -> None:
        async with calling(tmp_path, script=ENDLESS) as caller:
            session = await caller.session()
            turn = await caller.begin(session)
            assert turn in await caller.refused("DELETE", f"/api/sessions/{session}", status=409)
            running = (await caller.call("GET", f"/api/sessions/{session}/messages"))["items"]
            assert [(item["role"], item["state"]) for item in running] == [("user", "running")]
            await caller.call("POST", f"/api/turns/{turn}/cancel", status=202)
            await caller.call("DELETE", f"/api/sessions/{session}", status=204)
            await caller.call("GET", f"/api/turns/{turn}", status=404)
            assert (await caller.read(turn)).status == 404

    asyncio.run(story())
