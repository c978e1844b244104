"""Files of other programs become the sessions that are written beside them in `files/*.story`."""

import io
from pathlib import Path

import msgspec
import pytest
from tests.importers.outline import FILES, outline, outline_of_bytes, outline_of_file, zipped

from thinkaloud.core.canon import Refused
from thinkaloud.importers import FORMAT_NAMES, DamagedFile, HistoryFile
from thinkaloud.importers.json_items import read_items

SAMPLES = sorted(path for path in FILES.iterdir() if path.suffix != ".story")


def test_every_json_format_has_a_sample() -> None:
    assert {path.stem.partition("_lines")[0] for path in SAMPLES} >= set(FORMAT_NAMES) - {"llm", "messages"}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_file_becomes_the_sessions_of_its_story(path: Path) -> None:
    assert outline_of_file(path) == path.with_suffix(".story").read_text("utf-8")


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_indentation_line_ends_and_a_mark_at_the_start_change_nothing(path: Path) -> None:
    data = path.read_bytes()
    story = _without_lines(path.with_suffix(".story").read_text("utf-8"))
    assert _without_lines(outline_of_bytes(b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"))) == story
    if path.suffix == ".json":
        one_line = msgspec.json.encode(msgspec.json.decode(data))
        assert _without_lines(outline_of_bytes(one_line)) == story


def _without_lines(story: str) -> str:
    return "\n".join(line.partition(" (line ")[0] for line in story.splitlines())


def test_gemini_cli_file_of_an_earlier_version_is_one_object() -> None:
    head, *lines = map(msgspec.json.decode, (FILES / "gemini_cli.jsonl").read_bytes().splitlines())
    messages = [line for line in lines if line.get("id") in ("g1", "g2")]
    whole = msgspec.json.encode({**head, "messages": messages, "summary": "Gulls"})
    story = outline_of_bytes(whole)
    assert story.startswith("gemini_cli\n\nGemini CLI | gemini_cli:3c0e5a22-")
    assert "reasoning '**Planning**" in story
    assert "-> failed 'No such file'" in story


def test_gemini_cli_history_that_was_replaced_is_counted() -> None:
    head, user, _, reply, *_ = (FILES / "gemini_cli.jsonl").read_bytes().splitlines()
    shorter = {"$set": {"messages": [msgspec.json.decode(user) | {"id": "g20", "content": "Shorter."}]}}
    story = outline_of_bytes(b"\n".join((head, user, reply, msgspec.json.encode(shorter))))
    assert "asked 'Shorter.'" in story
    assert "Count the gulls" not in story
    assert "unread: 2 x message that a shorter history replaced (line 4)" in story


def test_gemini_cli_message_written_again_without_its_type_is_counted() -> None:
    head, user, _, reply, *_ = (FILES / "gemini_cli.jsonl").read_bytes().splitlines()
    again = {"id": msgspec.json.decode(user)["id"]}
    messages = [*map(msgspec.json.decode, (user, reply)), again]
    story = outline_of_bytes(msgspec.json.encode({**msgspec.json.decode(head), "messages": messages}))
    assert "Count the gulls" in story
    assert "unread: 1 x message of type ''" in story


def test_qwen_code_line_without_an_id_is_counted() -> None:
    head, *lines = map(msgspec.json.decode, (FILES / "qwen_code.jsonl").read_bytes().splitlines())
    del lines[-1]["uuid"]
    data = b"\n".join(map(msgspec.json.encode, (head, *lines)))
    assert "unread: 1 x line without an id" in outline_of_bytes(data)


@pytest.mark.parametrize("content", [{"parts": [{"text": "Hi."}]}, {"content": None}, {"content": []}])
def test_claude_code_line_of_which_nothing_was_understood_is_counted(content: dict[str, object]) -> None:
    ids = {"sessionId": "s1", "timestamp": "2026-01-05T10:00:00Z"}
    lines = [
        {**ids, "type": "user", "uuid": "a", "message": {"role": "user", "content": "Hello?"}},
        {**ids, "type": "assistant", "uuid": "b", "parentUuid": "a", "message": {"id": "m1", **content}},
        {**ids, "type": "assistant", "uuid": "c", "parentUuid": "b", "message": {"content": "Hello."}},
    ]
    data = b"\n".join(map(msgspec.json.encode, lines))
    story = outline(HistoryFile(io.BytesIO(data), format_name="claude_code"))
    assert "unread: 1 x assistant line of which nothing was understood (line 2)" in story
    assert "text 'Hello.'" in story


@pytest.mark.parametrize("name", ["chatgpt", "claude"])
def test_account_export_is_read_from_its_zip_file(name: str) -> None:
    data = (FILES / f"{name}.json").read_bytes()
    story = (FILES / f"{name}.story").read_text("utf-8")
    archive = zipped(conversations__json=data, user__json=b"{}", chat__html=b"<html>")
    assert outline_of_bytes(archive) == story.replace(
        "unread", "unread: 2 x other file in the zip file (line 1)\nunread", 1
    )
    nested = zipped(**{"export/conversations-000__json": data})
    assert outline_of_bytes(nested) == story


def test_large_list_is_read_in_chunks_of_any_size() -> None:
    """The scanner cuts the same items, with the same lines, wherever a chunk of the file ends."""
    conversations = [{"n": index, "text": 'quote " \\ {[' * index, "deep": [[{}]]} for index in range(40)]
    data = msgspec.json.format(msgspec.json.encode(conversations), indent=1)
    whole = list(read_items(io.BytesIO(data)))
    assert [item.value for item in whole] == conversations
    lines = data.split(b"\n")
    assert all(lines[item.line - 1].strip() == b"{" for item in whole)
    for size in (1, 2, 7, 1000):
        assert list(read_items(_Dribble(data, size))) == whole


class _Dribble(io.BytesIO):
    """A file that returns a few bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data)
        self._size = size

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(self._size)


def test_named_format_is_used_and_an_unknown_one_is_refused() -> None:
    data = (FILES / "chatgpt.json").read_bytes()
    history = HistoryFile(io.BytesIO(data), format_name="claude")
    assert outline(history).startswith("claude\nunread: 2 x entry without a conversation")
    with pytest.raises(Refused, match="Use one of: chatgpt, claude"):
        HistoryFile(io.BytesIO(data), format_name="word")
    with pytest.raises(DamagedFile, match="'llm' is a database"):
        outline(HistoryFile(io.BytesIO(data), format_name="llm"))


def test_keys_of_turns_stay_when_a_conversation_grows() -> None:
    lines = (FILES / "claude_code.jsonl").read_bytes().splitlines(keepends=True)
    whole = next(HistoryFile(io.BytesIO(b"".join(lines))).sessions()).record
    shorter = next(HistoryFile(io.BytesIO(b"".join(lines[:14]))).sessions()).record
    assert [exchange.key for exchange in whole.exchanges][:2] == [
        exchange.key for exchange in shorter.exchanges
    ]
    assert len({exchange.key for exchange in whole.exchanges}) == 3


def test_answer_that_went_on_has_another_key() -> None:
    lines = (FILES / "claude_code.jsonl").read_bytes().splitlines(keepends=True)
    early = next(HistoryFile(io.BytesIO(b"".join(lines[:9]))).sessions()).record
    late = next(HistoryFile(io.BytesIO(b"".join(lines[:12]))).sessions()).record
    assert len(early.exchanges) == len(late.exchanges) == 1
    assert early.exchanges[0].key != late.exchanges[0].key
