"""A new provider on a known dialect needs one row and one recording, and no code."""

import asyncio
import json
from pathlib import Path

import pytest
from tests.client.upstream import STREAM, UpstreamRequest, serve_upstream

from thinkaloud.client import Options, ask
from thinkaloud.core.catalog import builtin_texts, parse_catalog
from thinkaloud.core.transcript import Turn

ROOT = Path(__file__).parents[2]
RECORDING = ROOT / "tests/recordings/openai_chat/deepseek/body.sse"
GUIDE = (ROOT / "docs/contributing/provider.md").read_text("utf-8")
ROW = GUIDE.partition('```toml title="src/thinkaloud/core/catalog/providers.toml"')[2].partition("```")[0]


def test_a_row_and_a_recording_make_a_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    """R011 R042: the row shown in the guide, pointed at a server that plays a recording."""
    monkeypatch.setenv("ACME_API_KEY", "sk-acme")

    async def play(request: UpstreamRequest) -> None:
        await request.send(STREAM + RECORDING.read_bytes())

    async def scenario() -> tuple[Turn, str, dict[str, object]]:
        async with serve_upstream(play) as upstream:
            row = ROW.replace("https://api.acme.test/v1", upstream.base_url)
            options = Options(catalog=parse_catalog(*builtin_texts(), row))
            turn = await ask("Hello?", model="acme/anvil-1", thinking="high", options=options)
            return turn, upstream.requests[0].head, json.loads(upstream.requests[0].body)

    turn, head, body = asyncio.run(scenario())
    assert turn.reasoning
    assert turn.answer
    assert turn.dialect == "openai_chat"
    assert "authorization: bearer sk-acme" in head.lower()
    assert (body["model"], body["reasoning_effort"]) == ("anvil-1", "high")
