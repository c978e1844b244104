"""Statements of every turn, compiled once and run by SQLite's driver itself.

SQLAlchemy takes several times as long to pass on a small statement as SQLite takes to run it. Errors are
raised as SQLAlchemy's. On another engine, where a statement travels to a server, SQLAlchemy runs it.
"""

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from sqlalchemy import Connection, Executable
from sqlalchemy.engine.interfaces import DBAPICursor, Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ClauseElement

Convert = Callable[[Any], Any]
_make_row_type = cast(Callable[..., Any], namedtuple)


class _Compiled(NamedTuple):
    """A statement in SQLite's words."""

    sql: str
    names: Sequence[str]
    """The parameters in their order."""
    fixed_values: Mapping[str, Any]
    """Values that are part of the statement."""
    converters: Sequence[tuple[int, Convert]]
    """Of the parameters whose values the driver does not know, by their index."""
    make_row: Convert
    column_converters: Sequence[tuple[int, Convert]]


class PreparedStatement:
    """A statement that runs often, with the same parameters each time. Rows are named tuples."""

    def __init__(self, statement: Executable) -> None:
        self._statement = statement
        self._compiled: _Compiled | None = None

    def run(self, conn: Connection, values: Mapping[str, Any]) -> None:
        """Run the statement. It must return no rows."""
        if conn.dialect.name != "sqlite":
            conn.execute(self._statement, values)
        else:
            self._execute(conn, values)[0].close()

    def rows(self, conn: Connection, values: Mapping[str, Any]) -> list[Any]:
        """Run the statement and return all its rows."""
        if conn.dialect.name != "sqlite":
            return list(conn.execute(self._statement, values))
        cursor, compiled = self._execute(conn, values)
        rows = cursor.fetchall()
        cursor.close()
        if compiled.column_converters:
            rows = [_converted(row, compiled.column_converters) for row in rows]
        return list(map(compiled.make_row, rows))

    def first(self, conn: Connection, values: Mapping[str, Any]) -> Any:
        """Run the statement and return its first row, or None."""
        rows = self.rows(conn, values)
        return rows[0] if rows else None

    def scalar(self, conn: Connection, values: Mapping[str, Any]) -> Any:
        """Run the statement and return the first column of its first row, or None."""
        rows = self.rows(conn, values)
        return rows[0][0] if rows else None

    def _execute(self, conn: Connection, values: Mapping[str, Any]) -> tuple[DBAPICursor, _Compiled]:
        dialect, compiled = conn.dialect, self._compiled
        if compiled is None:
            compiled = self._compiled = self._compile(dialect, tuple(values))
        if compiled.fixed_values:
            values = {**compiled.fixed_values, **values}
        bound = [values[name] for name in compiled.names]
        for index, convert in compiled.converters:
            bound[index] = convert(bound[index])
        driver_connection = conn.connection.driver_connection
        assert driver_connection is not None
        try:
            cursor: DBAPICursor = driver_connection.execute(compiled.sql, bound)
        except dialect.loaded_dbapi.Error as error:
            raise DBAPIError.instance(
                compiled.sql, None, error, dialect.loaded_dbapi.Error, hide_parameters=True, dialect=dialect
            ) from error
        return cursor, compiled

    def _compile(self, dialect: Dialect, given_columns: Sequence[str]) -> _Compiled:
        """Compile the statement. An INSERT gives values to those of the columns that its table has."""
        assert isinstance(self._statement, ClauseElement)
        compiled = self._statement.compile(dialect=dialect, column_keys=given_columns)
        assert isinstance(compiled, SQLCompiler)
        columns = getattr(self._statement, "exported_columns", None)
        labels = () if columns is None else tuple(map(str, columns.keys()))
        converters = [] if columns is None else [c.type.result_processor(dialect, None) for c in columns]
        names, bind_processors = tuple(compiled.positiontup or ()), cast(Any, compiled._bind_processors)
        return _Compiled(
            sql=str(compiled),
            names=names,
            fixed_values={name: compiled.params[name] for name in names if name not in given_columns},
            converters=tuple(
                (n, bind_processors[name]) for n, name in enumerate(names) if name in bind_processors
            ),
            make_row=_make_row_type("Row", labels, rename=True)._make,
            column_converters=tuple((n, convert) for n, convert in enumerate(converters) if convert),
        )


def _converted(row: Sequence[Any], converters: Sequence[tuple[int, Convert]]) -> list[Any]:
    values = list(row)
    for index, convert in converters:
        values[index] = convert(values[index])
    return values
