"""A session of another program as an outline: what a person would say came out of the file."""

import io
import zipfile
from pathlib import Path

from msgspec import UNSET

from thinkaloud.core.export.record import SessionRecord, turns_of
from thinkaloud.core.transcript import Block, Turn
from thinkaloud.importers import HistoryFile, open_history

FILES = Path(__file__).with_name("files")


def outline_of_file(path: Path) -> str:
    file, history = open_history(path)
    with file:
        return outline(history)


def outline_of_bytes(data: bytes) -> str:
    return outline(HistoryFile(io.BytesIO(data)))


def outline(history: HistoryFile) -> str:
    records = [session.record for session in history.sessions()]
    lines = [history.format]
    for record in records:
        lines += session_lines(record)
    lines += [f"unread: {item.count} x {item.what} (line {item.line})" for item in history.unread]
    return "\n".join(lines) + "\n"


def session_lines(record: SessionRecord) -> list[str]:
    assert record.source is not None
    source = record.source
    parent = f" in {source.parent}" if source.parent else ""
    lines = ["", f"{source.client} | {source.conversation}{parent} | {record.title!r} | {record.created_ms}"]
    for index, (exchange, turn) in enumerate(zip(record.exchanges, turns_of(record), strict=True)):
        follows = index - 1 if exchange.follows is UNSET else exchange.follows
        lines.append(f"turn {index} after {follows} at {exchange.created_ms}, {exchange.model or 'no model'}")
        for message in exchange.asked:
            attached = len(message.images) + len(getattr(message, "files", ()))
            lines.append(f"  asked {getattr(message, 'text', '')!r}{f' + {attached} image' * bool(attached)}")
        lines += [f"  {_block(block)}" for block in turn.blocks]
        lines.append(f"  {_end(turn)}")
    return lines


def _block(block: Block) -> str:
    parts = [block.kind.value, block.name, repr(block.text)]
    if block.duration_ms is not None:
        parts.append(f"{block.duration_ms} ms")
    parts += [f"{seal.form} of {seal.dialect} {seal.model}" for seal in block.seals]
    if block.result is not None:
        parts.append(f"-> failed {block.error!r}" if block.error else f"-> {block.result!r}")
    return " ".join(part for part in parts if part)


def _end(turn: Turn) -> str:
    assert turn.outcome is not None
    sealed = [message for message in (turn.message, *(reply.message for reply in turn.replies)) if message]
    usage = f"{turn.usage.input}/{turn.usage.output}/{turn.usage.reasoning}"
    return f"{turn.outcome.ending} ({turn.outcome.cause}), {len(sealed)} messages kept, usage {usage}"


def zipped(**entries: bytes) -> bytes:
    """Return a zip file; `__` in a name is a dot."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name.replace("__", "."), data)
    return buffer.getvalue()
