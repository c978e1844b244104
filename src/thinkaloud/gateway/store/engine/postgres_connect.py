"""Connections to PostgreSQL: how they are made, how long each waits, and what its errors mean.

A network that goes silent is noticed within seconds: the connection itself has time limits. The server cannot
end the statement of a client that it does not hear.

PostgreSQL stores neither NUL nor lone surrogates in texts. Both are escaped, and read back: models send NUL
now and then, and SQLite keeps it.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import psycopg
from psycopg.adapt import Loader
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.string import StrDumper, TextLoader
from sqlalchemy.exc import DBAPIError, PendingRollbackError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from thinkaloud.core.canon import Refused, Wording
from thinkaloud.gateway.store.engine.database import NotSaved

_NETWORK = {
    "connect_timeout": 5,
    "tcp_user_timeout": 5_000,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
}
_FULL = "53100"
_READ_ONLY = "25006"
_REASONS = {
    _FULL: Wording("the disk of the server is full"),
    _READ_ONLY: Wording("the server is read-only, as a standby is"),
    "53300": Wording("the server accepts no more connections"),
    "55P03": Wording("a lock was held for too long"),
    "57014": Wording("a statement took too long"),
    "40P01": Wording("two changes waited for each other"),
    "25P03": Wording("a transaction did nothing for too long, as in a process that stands still"),
}
_DENIED = "42501"
_GRANT = Wording("Let its owner allow it: GRANT CREATE ON SCHEMA public TO the user in the URL.")
_CHECK_ADDRESS = Wording(
    "Check that PostgreSQL runs there, and the user, password and name of the database in the URL."
)
TIMELINE = (
    b"SELECT CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END"
)
RETRYABLE_STATES = frozenset({"40001", "40P01"})
"""A change that failed with one of them can be run again: the server has undone it."""
_ESCAPE = "\U0010ffff"
"""A noncharacter: no text should have it, and one that does is escaped too."""
_SHIFT = 0xE000 - 0xD800
"""Surrogates are written as characters for private use, which follow the escape."""
_UNSTORABLE = re.compile("[\x00\ud800-\udfff\U0010ffff]")
_ESCAPED = re.compile("\U0010ffff([0\ue000-\ue7ff\U0010ffff])")


class TimeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long the statements of a connection may take, and how long a transaction may do nothing."""

    statement_s: float = 15.0
    lock_s: float = 5.0
    idle_s: float = 10.0
    """A process that is stopped within a transaction would keep its locks for ever."""


def public_name(url: str) -> str:
    """Return where a database is, for messages: without user, password and options."""
    fields = _fields(url)
    name = fields.get("dbname") or fields.get("user") or "of this user"
    host = fields.get("host") or fields.get("hostaddr") or Wording("the local socket")
    if port := fields.get("port"):
        host = f"{host}:{port}"
    return f"database {name} at {host}"


def connect(url: str, limits: TimeLimits, *, name: str) -> psycopg.Connection[Any]:
    """Open a connection. `name` shows in `pg_stat_activity`. What the URL sets holds."""
    connection = psycopg.connect(**_parameters(url, limits, name))
    register_escapes(connection)
    return connection


def connect_to_pooler(url: str, *, name: str) -> psycopg.Connection[Any]:
    """Open a connection to a pooler such as PgBouncer, which gives each transaction another session.

    Nothing may be kept in the session: no prepared statement, and no time limit (see `local_limits`).
    """
    fields = {**_NETWORK, "application_name": f"thinkaloud {name}", **_fields(url)}
    connection = psycopg.connect(**fields, prepare_threshold=None)
    register_escapes(connection)
    return connection


def local_limits(limits: TimeLimits) -> str:
    """Return the statements that set time limits for one transaction."""
    return "; ".join(f"SET LOCAL {name} = {milliseconds}" for name, milliseconds in _settings(limits).items())


async def connect_async(url: str, limits: TimeLimits, *, name: str) -> psycopg.AsyncConnection[Any]:
    """Open a connection for notifications, as `connect` does."""
    return await psycopg.AsyncConnection.connect(autocommit=True, **_parameters(url, limits, name))


def read_timeline(connection: psycopg.Connection[Any]) -> str:
    """Return which history of the database a server writes. A replica that takes over begins a new one.

    Empty for a server that does not tell: a replica, or a service that hides its write-ahead log.
    """
    try:
        with connection.transaction():
            row = connection.execute(TIMELINE).fetchone()
    except psycopg.OperationalError:
        raise
    except psycopg.Error:
        return ""
    return "" if row is None else row[0] or ""


async def read_timeline_async(connection: psycopg.AsyncConnection[Any]) -> str:
    """Return the same over a connection for notifications."""
    try:
        row = await (await connection.execute(TIMELINE)).fetchone()
    except psycopg.OperationalError:
        raise
    except psycopg.Error:
        return ""
    return "" if row is None else row[0] or ""


def _parameters(url: str, limits: TimeLimits, name: str) -> dict[str, Any]:
    fields = _fields(url)
    given_options = fields.pop("options", "")
    options = " ".join(f"-c {name}={milliseconds}" for name, milliseconds in _settings(limits).items())
    return {
        **_NETWORK,
        "application_name": f"thinkaloud {name}",
        **fields,
        "options": f"{options} {given_options}".strip(),
    }


def _settings(limits: TimeLimits) -> dict[str, int]:
    seconds = {
        "statement_timeout": limits.statement_s,
        "lock_timeout": limits.lock_s,
        "idle_in_transaction_session_timeout": limits.idle_s,
    }
    return {name: int(value * 1000) for name, value in seconds.items()}


@contextmanager
def refuse_in_words(url: str) -> Iterator[None]:
    """Raise what the server or the network refuses as `Refused`, with what to do about it."""
    try:
        yield
    except (DBAPIError, psycopg.Error, PendingRollbackError) as error:
        original = error.orig if isinstance(error, DBAPIError) else error
        reason, remedy = _reason(original), _CHECK_ADDRESS
        if sql_state(original) == _DENIED:
            reason, remedy = Wording.plain(_one_line(original)), _GRANT
        if not reason:
            raise
        raise Refused(
            "Cannot use the {database}: {reason}. {remedy}",
            database=public_name(url),
            reason=reason,
            remedy=remedy,
        ) from None


@contextmanager
def translate_errors(url: str) -> Iterator[None]:
    """Raise an unreachable, full or busy server as `NotSaved`, and all other errors unchanged."""
    try:
        yield
    except (DBAPIError, psycopg.Error, PoolTimeout, PendingRollbackError) as error:
        original = error.orig if isinstance(error, DBAPIError) else error
        reason = _reason(original)
        if not reason and isinstance(error, DBAPIError) and error.connection_invalidated:
            reason = Wording("the connection was lost")
        if not reason:
            raise
        raise NotSaved(
            "Cannot use the {database}: {reason}.", database=public_name(url), reason=reason
        ) from error


def sql_state(error: BaseException | None) -> str:
    """Return the code that the server gave an error; empty if it gave none."""
    original = error.orig if isinstance(error, DBAPIError) else error
    return getattr(original, "sqlstate", None) or ""


def _reason(error: BaseException | None) -> Wording | None:
    """Return why a statement could not run; None if the statement itself was wrong."""
    state = sql_state(error)
    if state in _REASONS:
        return _REASONS[state]
    if isinstance(error, PoolTimeout):
        return Wording("all connections are in use")
    if isinstance(error, PendingRollbackError):
        return Wording("the connection was lost")
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return Wording.plain(_one_line(error)) if _one_line(error) else Wording("the connection was lost")
    return None


def _one_line(error: BaseException | None) -> str:
    """Return what the server said, without the statement that it quotes."""
    message, _, _ = str(error).partition("\nLINE ")
    return re.sub(r"\s+", " ", message).strip().rstrip(".")


def _fields(url: str) -> dict[str, Any]:
    try:
        return dict(conninfo_to_dict(url))
    except psycopg.Error as error:
        hidden = re.sub(r"//[^/@]*@", "//", _one_line(error))
        raise Refused(
            "The address of the database is not valid: {hidden}. It looks like "
            "postgresql://USER:PASSWORD@HOST:5432/NAME",
            hidden=hidden,
        ) from None


def escape(text: str) -> str:
    """Return a text that PostgreSQL can store."""
    return _UNSTORABLE.sub(lambda match: _ESCAPE + _escape_character(match[0]), text)


def unescape(text: str) -> str:
    """Return the text that `escape` was given."""
    return _ESCAPED.sub(lambda match: _unescape_character(match[1]), text) if _ESCAPE in text else text


def _escape_character(character: str) -> str:
    if character == "\x00":
        return "0"
    return character if character == _ESCAPE else chr(ord(character) + _SHIFT)


def _unescape_character(character: str) -> str:
    if character == "0":
        return "\x00"
    return character if character == _ESCAPE else chr(ord(character) - _SHIFT)


class _EscapingDumper(StrDumper):
    def dump(self, obj: str) -> Any:
        return super().dump(escape(obj))


class _EscapingLoader(Loader):
    def __init__(self, oid: int, context: Any = None) -> None:
        super().__init__(oid, context)
        self._loader = TextLoader(oid, context)

    def load(self, data: Any) -> str:
        text = self._loader.load(data)
        return unescape(text if isinstance(text, str) else text.decode())


def register_escapes(connection: psycopg.Connection[Any]) -> None:
    """Escape all texts that this connection sends, and unescape those that it receives."""
    connection.adapters.register_dumper(str, _EscapingDumper)
    connection.adapters.register_loader("text", _EscapingLoader)
