"""The search API: scopes, thoughts only if named, accents ignored."""

import asyncio
from pathlib import Path
from typing import Any

from tests.server.caller import Caller, start_gateway

SCRIPT = [
    {"thinking": "A canário thought about gulls.", "text": "Gulls are birds."},
    {"thinking": "Nothing.", "text": "São gaivotas, e o pão é bom."},
]


async def find_hits(caller: Caller, query: str) -> list[tuple[str, str]]:
    hits = (await caller.call("GET", f"/api/search?{query}"))["items"]
    return [(hit["kind"], hit["snippet"][slice(*hit["marks"][0])]) for hit in hits]


def test_r138_thoughts_are_searched_only_if_the_scope_names_them(tmp_path: Path) -> None:
    """R138 R139: the newest hits first, each with kind and position; accents are ignored."""

    async def story() -> None:
        async with start_gateway(tmp_path, script=SCRIPT) as caller:
            session = await caller.create_session()
            turn = await caller.start_turn(session, "What are gulls?")
            await caller.read_stream(turn)
            await caller.run_turn(session, "E em português?")
            assert await find_hits(caller, "q=gulls") == [("answer", "Gulls"), ("prompt", "gulls")]
            assert await find_hits(caller, "q=canario") == []
            assert await find_hits(caller, "q=canario&scope=thoughts") == [("thought", "canário")]
            everything = await find_hits(caller, "q=gulls&scope=prompts,answers,tools,thoughts")
            assert sorted(kind for kind, _ in everything) == ["answer", "prompt", "thought"]
            assert await find_hits(caller, "q=pao") == [("answer", "pão")]
            hit: Any = (await caller.call("GET", "/api/search?q=canario&scope=thoughts"))["items"][0]
            assert (hit["session"], hit["turn"], hit["block"]) == (session, turn, 0)

    asyncio.run(story())


def test_search_hits_are_paged_and_invalid_queries_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(
            tmp_path, script=[{"text": f"word {number}"} for number in range(5)]
        ) as caller:
            session = await caller.create_session()
            for number in range(5):
                await caller.run_turn(session, f"Question {number}")
            page = await caller.call("GET", "/api/search?q=word&limit=2")
            snippets = [hit["snippet"] for hit in page["items"]]
            while page["next"]:
                page = await caller.call("GET", f"/api/search?q=word&limit=2&after={page['next']}")
                snippets += [hit["snippet"] for hit in page["items"]]
            assert snippets == [f"word {number}" for number in reversed(range(5))]
            for query in ("", "?q=", "?q=x&scope=dreams", "?q=x&scope=", "?q=x&limit=0"):
                await caller.refusal_message("GET", f"/api/search{query}", status=400)
            await caller.refusal_message("GET", "/api/search?q=x&after=nonsense", status=422)
            await caller.call("DELETE", f"/api/sessions/{session}", status=204)
            assert await find_hits(caller, "q=word") == []

    asyncio.run(story())
