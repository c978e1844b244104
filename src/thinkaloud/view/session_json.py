"""The canonical file of a session: one JSON object with every entry as it was told, stamps and all."""

import msgspec

from thinkaloud.canon import Refused
from thinkaloud.view.session_record import VERSION, Exchange, SessionRecord, refuse_newer, turns_of


class _Version(msgspec.Struct):
    thinkaloud: int


class _File(_Version):
    title: str
    created_ms: int | None
    exchanges: tuple[Exchange, ...]


def write_json(record: SessionRecord) -> bytes:
    """The bytes of the file; reading them gives the same record."""
    turns_of(record)
    return msgspec.json.encode(_File(VERSION, record.title, record.created_ms, record.exchanges))


def read_json(data: bytes) -> SessionRecord:
    """The session in these bytes."""
    try:
        refuse_newer(msgspec.json.decode(data, type=_Version).thinkaloud)
        file = msgspec.json.decode(data, type=_File)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise Refused(
            f"This is not a session of Thinkaloud: {error}. It needs one JSON object as an export writes it, "
            "with `thinkaloud`, `title`, `created_ms` and `exchanges`."
        ) from None
    record = SessionRecord(file.title, file.created_ms, file.exchanges)
    turns_of(record)
    return record
