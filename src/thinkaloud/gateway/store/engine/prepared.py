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
        compiled = self._compiled
        if compiled is None:
            compiled = self._compiled = self._compile(conn.dialect, tuple(values))
        if compiled.fixed_values:
            values = {**compiled.fixed_values, **values}
        bound = [values[name] for name in compiled.names]
        for index, convert in compiled.converters:
            bound[index] = convert(bound[index])
        return run_by_driver(conn, compiled.sql, bound), compiled

    def _compile(self, dialect: Dialect, given_columns: Sequence[str]) -> _Compiled:
        """Compile the statement. An INSERT gives values to those of the columns that its table has."""
        assert isinstance(self._statement, ClauseElement)
        compiled = self._statement.compile(dialect=dialect, column_keys=given_columns)
        assert isinstance(compiled, SQLCompiler)
        names = tuple(compiled.positiontup or ())
        bind_processors = cast(Any, compiled._bind_processors)
        fixed_values = {name: compiled.params[name] for name in names if name not in given_columns}
        converters: list[tuple[int, Convert]] = []
        for index, name in enumerate(names):
            if name in bind_processors:
                converters.append((index, bind_processors[name]))
        labels: list[str] = []
        column_converters: list[tuple[int, Convert]] = []
        columns = getattr(self._statement, "exported_columns", {})  # a statement without rows has none
        for index, (label, column) in enumerate(columns.items()):
            labels.append(str(label))
            if convert := column.type.result_processor(dialect, None):
                column_converters.append((index, convert))
        make_row = _make_row_type("Row", labels, rename=True)._make
        return _Compiled(str(compiled), names, fixed_values, converters, make_row, column_converters)


def run_by_driver(conn: Connection, sql: str, values: Sequence[Any]) -> DBAPICursor:
    """Run a statement in SQLite's words. The caller closes the cursor."""
    driver_connection = conn.connection.driver_connection
    assert driver_connection is not None
    try:
        cursor: DBAPICursor = driver_connection.execute(sql, values)
    except conn.dialect.loaded_dbapi.Error as error:
        kind = conn.dialect.loaded_dbapi.Error
        raise DBAPIError.instance(
            sql, None, error, kind, hide_parameters=True, dialect=conn.dialect
        ) from error
    return cursor


def _converted(row: Sequence[Any], converters: Sequence[tuple[int, Convert]]) -> list[Any]:
    values = list(row)
    for index, convert in converters:
        values[index] = convert(values[index])
    return values
