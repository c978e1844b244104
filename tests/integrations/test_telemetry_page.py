"""The page about OpenTelemetry names what is exported, and its program runs."""

import re
import runpy
from pathlib import Path

import pytest
from tests.integrations.screen_table import PAGES
from tests.integrations.traced_session import ANSWER, THOUGHT, traced_session

from thinkaloud.core.export.otlp import requests
from thinkaloud.core.export.record import SessionRecord, write_json
from thinkaloud.core.export.span_attributes import SpanContent
from thinkaloud.core.export.spans import SpanOptions

PAGE = (PAGES / "telemetry.md").read_text("utf-8")
_TABLE = PAGE[PAGE.index("| attribute |") : PAGE.index("With `seals`, OpenInference")]
_ROWS = [[cell.strip() for cell in line[1:].split("|")] for line in _TABLE.splitlines() if line]
_NAME = re.compile(r"`([a-z_]+(?:\.[a-z_]+)+)`")
_SOMETIMES = {"gen_ai.tool.description"}
"""What this session has nothing of."""
MAX_PROGRAM_LINES = 15
MAX_PICTURE_BYTES = 200_000


def exported(content: SpanContent, *, openinference: bool) -> set[str]:
    """Return the names of all attributes of a session, those of lists by their beginning."""
    record = traced_session()
    twice = (*record.exchanges, *record.exchanges)
    record = SessionRecord(record.title, record.created_ms, twice, "guide")
    names = {
        attribute["key"]
        for request in requests(record, SpanOptions(content, openinference))
        for span in request["resourceSpans"][0]["scopeSpans"][0]["spans"]
        for attribute in span["attributes"]
    }
    return {re.sub(r"(llm\.\w+_messages)\..*", r"\1", name) for name in names}


def documented(column: int, *levels: str) -> set[str]:
    return {
        name
        for row in _ROWS
        if row[3].split(",")[0].strip("`") in levels
        for name in _NAME.findall(row[column])
    }


@pytest.mark.parametrize(
    ("content", "levels"),
    [
        (SpanContent.NONE, ("always",)),
        (SpanContent.THOUGHTS, ("always", "messages")),
        (SpanContent.SEALS, ("always", "messages", "seals")),
    ],
)
def test_table_has_the_names_that_are_exported(content: SpanContent, levels: tuple[str, ...]) -> None:
    names = exported(content, openinference=False)
    cached = {"gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_write.input_tokens"}
    assert names | cached == documented(0, *levels) - _SOMETIMES | cached
    others = exported(content, openinference=True) - names
    cached = {f"llm.token_count.prompt_details.{name}" for name in ("cache_read", "cache_write")}
    assert others | cached == documented(1, *levels) | cached


def test_program_is_short_and_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    match = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert match is not None
    assert len(match[1].splitlines()) <= MAX_PROGRAM_LINES
    monkeypatch.chdir(tmp_path)
    Path("session.json").write_bytes(write_json(traced_session()))
    Path("program.py").write_text(match[1], "utf-8")
    runpy.run_path("program.py")
    traces = Path("session.otlp.jsonl").read_text("utf-8")
    assert THOUGHT in traces
    assert ANSWER in traces
    assert "c2lnbmVk" not in traces, "a seal, which was not asked for"


def test_picture_is_small_and_the_row_has_a_date() -> None:
    picture = PAGES.parent / "pictures/telemetry.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < MAX_PICTURE_BYTES
    assert re.search(r"^\| Phoenix \| [\d.]+ \| \d{4}-\d{2}-\d{2} \| 7 of 7 spans", PAGE, re.MULTILINE)
