"""Search over what was asked, answered, thought and done with tools, within what one owner may see.

What is found comes newest first. Every text is read from where it is kept, a message or a part of one, both
when it is taken into the index and when it is taken out: so index a message once its rows are written, and
forget it before they change or go. Thoughts are found only by who asks for them.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol

from sqlalchemy import (
    Connection,
    Integer,
    Row,
    Select,
    and_,
    case,
    cast,
    delete,
    func,
    insert,
    literal,
    null,
    or_,
    select,
    update,
)

from thinkaloud.canon import Kind, Refused
from thinkaloud.store import search_sqlite
from thinkaloud.store.paging import bounded, cursor, place_after
from thinkaloud.store.rows import Hit, Owner, Page, Role, SearchKind
from thinkaloud.store.schema import facts, found, messages, parts, sessions, turns
from thinkaloud.store.search_folding import FOLD_VERSION, fold_text
from thinkaloud.store.search_snippets import snippet
from thinkaloud.store.search_words import Phrase, read_words

FACT = "search_fold_version"
AT_ONCE = 200
_NEWEST = 2**63 - 1


class Engine(Protocol):
    """What a database must bring for itself: rows of folded words, found by tags and phrases."""

    def create(self, conn: Connection) -> None:
        """Make an empty index."""

    def add(self, conn: Connection, entries: Sequence[search_sqlite.Entry]) -> None:
        """Take rows into the index."""

    def remove(self, conn: Connection, entries: Sequence[search_sqlite.Entry]) -> None:
        """Take rows out again; each is exactly as it was added."""

    def clear(self, conn: Connection) -> None:
        """Take everything out."""

    def keys(
        self, conn: Connection, tags: Sequence[str], phrases: Sequence[Phrase], before: int, most: int
    ) -> Sequence[int]:
        """The newest rows under one of these tags that have all the phrases."""


_ENGINES: Mapping[str, Engine] = {"sqlite": search_sqlite}

_ASKED = select(
    messages.c.key,
    cast(null(), Integer),
    case((messages.c.role == Role.USER, literal(SearchKind.PROMPT)), else_=literal(SearchKind.TOOL)),
).where(messages.c.role != Role.ASSISTANT, messages.c.content != "")

_SAID = (
    select(
        parts.c.message,
        parts.c.number,
        case(
            (parts.c.kind == Kind.REASONING, literal(SearchKind.THOUGHT)),
            # What an assistant of the agent said is the result of a call, not an answer to the user.
            (and_(parts.c.kind == Kind.TEXT, parts.c.parent.is_(None)), literal(SearchKind.ANSWER)),
            else_=literal(SearchKind.TOOL),
        ),
    )
    .where(or_(parts.c.text != "", parts.c.name != ""))
    .order_by(parts.c.message, parts.c.position)
)

_FOUND: Select[Any] = (
    select(
        found.c.key,
        found.c.kind,
        found.c.block,
        func.coalesce(parts.c.name, messages.c.name).label("name"),
        func.coalesce(parts.c.text, messages.c.content).label("text"),
        parts.c.result,
        parts.c.error,
        sessions.c.user,
        sessions.c.workspace,
        sessions.c.id.label("session"),
        sessions.c.title,
        turns.c.id.label("turn"),
        turns.c.created_ms,
    )
    .select_from(found.join(messages).join(turns).join(sessions))
    .outerjoin(parts, and_(parts.c.message == found.c.message, parts.c.number == found.c.block))
)


def create(conn: Connection) -> None:
    """Make an empty index; for migrations."""
    _engine(conn).create(conn)
    _remember_folding(conn)


def current(conn: Connection) -> bool:
    """Whether the index was made by the same folding of text as this one; if not, `rebuild` it."""
    return conn.scalar(select(facts.c.value).where(facts.c.name == FACT)) == FOLD_VERSION


def rebuild(conn: Connection) -> None:
    """Make the index anew from what is kept."""
    _engine(conn).clear(conn)
    conn.execute(delete(found))
    some = select(messages.c.key).order_by(messages.c.key).limit(AT_ONCE)
    last = 0
    while batch := conn.scalars(some.where(messages.c.key > last)).all():
        index(conn, batch)
        last = batch[-1]
    _remember_folding(conn)


def index(conn: Connection, of: Collection[int], folded: Mapping[str, str] | None = None) -> None:
    """Make these messages findable, once; `folded` are texts of theirs that were folded beforehand."""
    for batch in _batches(of):
        for texts, message in ((_ASKED, messages.c.key), (_SAID, parts.c.message)):
            conn.execute(
                insert(found).from_select(["message", "block", "kind"], texts.where(message.in_(batch)))
            )
        rows = conn.execute(_FOUND.where(found.c.message.in_(batch)).order_by(found.c.key)).all()
        if rows:
            _engine(conn).add(conn, [_entry(row, folded or {}) for row in rows])


def forget(conn: Connection, of: Collection[int]) -> None:
    """Make these messages unfindable. They must still be there, as they were."""
    for batch in _batches(of):
        rows = conn.execute(_FOUND.where(found.c.message.in_(batch))).all()
        if rows:
            _engine(conn).remove(conn, [_entry(row, {}) for row in rows])
            conn.execute(delete(found).where(found.c.message.in_(batch)))


def find(
    conn: Connection, owner: Owner, words: str, *, kinds: frozenset[SearchKind], limit: int, after: str = ""
) -> Page[Hit]:
    """Where the owner's texts of these kinds have all the words."""
    phrases = read_words(words)
    if not kinds:
        raise Refused(f"Say what to search in: one or more of {', '.join(SearchKind)}.")
    (before,) = place_after(after, 1) or (_NEWEST,)
    tags = sorted(_tag(owner.user, owner.workspace, kind) for kind in kinds)
    keys = _engine(conn).keys(conn, tags, phrases, before, bounded(limit))
    mine = (
        sessions.c.user == owner.user,
        sessions.c.workspace == owner.workspace,
        sessions.c.whole,
        found.c.kind.in_(kinds),
    )
    rows = conn.execute(_FOUND.where(*mine, found.c.key.in_(keys[:limit])).order_by(found.c.key.desc()))
    more = cursor((keys[limit - 1],)) if len(keys) > limit else ""
    return Page(tuple(_hit(row, phrases) for row in rows), more)


def _engine(conn: Connection) -> Engine:
    return _ENGINES[conn.dialect.name]


def _batches(keys: Collection[int]) -> Iterator[Sequence[int]]:
    told = sorted(keys)
    for start in range(0, len(told), AT_ONCE):
        yield told[start : start + AT_ONCE]


def _remember_folding(conn: Connection) -> None:
    if conn.execute(update(facts).where(facts.c.name == FACT).values(value=FOLD_VERSION)).rowcount == 0:
        conn.execute(insert(facts).values(name=FACT, value=FOLD_VERSION))


def _tag(user: int, workspace: int, kind: str) -> str:
    return f"u{user}w{workspace}{kind}"


def _entry(row: Row[Any], folded: Mapping[str, str]) -> search_sqlite.Entry:
    norm = " ".join(filter(None, (folded.get(text) or fold_text(text) for text in _texts(row))))
    return {"key": row.key, "norm": norm, "tags": _tag(row.user, row.workspace, row.kind)}


def _texts(row: Row[Any]) -> list[str]:
    """All that can be found in a row: of a tool its name, what it was given, and what came back."""
    told = (row.name, row.text, row.result, row.error) if row.kind == SearchKind.TOOL else (row.text,)
    return list(filter(None, told))


def _hit(row: Row[Any], phrases: Sequence[Phrase]) -> Hit:
    shown, marks = snippet("\n".join(_texts(row)), phrases)
    return Hit(
        SearchKind(row.kind), row.session, row.title, row.turn, row.block, shown, marks, row.created_ms
    )
