"""The canonical file of a session: one JSON object with every entry as it was told, stamps and all."""

import msgspec

from thinkaloud.canon import Refused
from thinkaloud.view.session_record import VERSION, Exchange, SessionRecord, refuse_newer_version, turns_of


class _JsonVersion(msgspec.Struct):
    thinkaloud: int


class _SessionFile(_JsonVersion):
    title: str
    created_ms: int | None
    exchanges: tuple[Exchange, ...]


def write_json(record: SessionRecord) -> bytes:
    """The bytes of the file; reading them gives the same record."""
    turns_of(record)
    return msgspec.json.encode(_SessionFile(VERSION, record.title, record.created_ms, record.exchanges))


def read_json(data: bytes) -> SessionRecord:
    """The session in these bytes."""
    try:
        refuse_newer_version(msgspec.json.decode(data, type=_JsonVersion).thinkaloud)
        file = msgspec.json.decode(data, type=_SessionFile)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise Refused(
            f"This is not a session of Thinkaloud: {error}. It needs one JSON object as an export writes it, "
            "with `thinkaloud`, `title`, `created_ms` and `exchanges`."
        ) from None
    record = SessionRecord(file.title, file.created_ms, file.exchanges)
    turns_of(record)
    return record
