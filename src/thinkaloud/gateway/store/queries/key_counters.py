"""The counters from which a database takes the keys of new rows. Keys of deleted rows are not used again."""

from sqlalchemy import Connection, func, select, text

from thinkaloud.gateway.store.schema import metadata

_COUNTED = [table for table in metadata.sorted_tables if "key" in table.c]
_SQLITE_COUNTERS = text("SELECT name, seq FROM sqlite_sequence")
_RAISE_SQLITE = text("UPDATE sqlite_sequence SET seq = max(seq, :last) WHERE name = :name")
_ADD_SQLITE = text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)")
_POSTGRES_SEQUENCE = text("SELECT pg_get_serial_sequence(:name, 'key')")
_RAISE_POSTGRES = text("SELECT setval(CAST(:sequence AS regclass), :last)")


def key_counters(conn: Connection) -> dict[str, int]:
    """Return the last key that each table has given out; 0 for none."""
    counters = {
        table.name: conn.scalar(select(func.coalesce(func.max(table.c.key), 0))) or 0 for table in _COUNTED
    }
    if conn.dialect.name == "postgresql":
        counted = {table.name: _postgres_counter(conn, table.name) for table in _COUNTED}
    else:
        counted = {row.name: row.seq for row in conn.execute(_SQLITE_COUNTERS)}
    return {name: max(last, counted.get(name, 0)) for name, last in counters.items()}


def raise_key_counters(conn: Connection, counters: dict[str, int]) -> None:
    """Make every new key higher than these, and than those of the rows."""
    own = key_counters(conn)
    autoincrement = {table.name for table in _COUNTED if table.dialect_options["sqlite"]["autoincrement"]}
    for name, last in counters.items():
        values = {"name": name, "last": max(last, own[name])}
        if not values["last"]:
            continue
        if conn.dialect.name == "postgresql":
            conn.execute(_RAISE_POSTGRES, {**values, "sequence": _sequence(conn, name)})
        elif name in autoincrement and conn.execute(_RAISE_SQLITE, values).rowcount == 0:
            conn.execute(_ADD_SQLITE, values)


def _sequence(conn: Connection, table: str) -> str:
    return str(conn.scalar(_POSTGRES_SEQUENCE, {"name": table}))


def _postgres_counter(conn: Connection, table: str) -> int:
    query = f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {_sequence(conn, table)}"
    return conn.scalar(text(query)) or 0
