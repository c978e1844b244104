"""What `thinkaloud doctor` checks of a PostgreSQL database. It changes nothing."""

import time
from collections.abc import Iterator

import psycopg

from thinkaloud.gateway.store.engine.postgres import OLDEST_VERSION
from thinkaloud.gateway.store.engine.postgres_connect import TimeLimits, connect, public_name, refuse_in_words
from thinkaloud.gateway.store.migrations.migrate import LATEST_VERSION

_CLOCK_TOLERANCE_S = 5.0
_Connection = psycopg.Connection[tuple[object, ...]]
_PER_GATEWAY = 13
"""The connections of one gateway: see `PostgresConfig`."""


def check_postgres(url: str) -> Iterator[tuple[bool, str]]:
    """Yield whether each check has passed, and what was found."""
    with refuse_in_words(url):
        connection = connect(url, TimeLimits(), name="doctor")
    with connection:
        yield from _check_server(connection, public_name(url))
        if _scalar(connection, "SELECT to_regclass('alembic_version')") is None:
            yield True, "There are no tables yet. The first gateway that starts creates them."
            return
        yield _check_version(str(_scalar(connection, "SELECT version_num FROM alembic_version")))
        live = _scalar(
            connection,
            "SELECT count(*) FROM nodes WHERE lease_until_ms > extract(epoch FROM clock_timestamp()) * 1000",
        )
        yield True, f"{live} gateways use it now."


def _check_server(
    connection: psycopg.Connection[tuple[object, ...]], name: str
) -> Iterator[tuple[bool, str]]:
    version = connection.info.server_version // 10_000
    yield (
        version >= OLDEST_VERSION,
        f"The {name} runs PostgreSQL {version}; {OLDEST_VERSION} or newer is needed.",
    )
    before_s = time.time()
    server_s = float(str(_scalar(connection, "SELECT extract(epoch FROM clock_timestamp())")))
    difference_s = server_s - (before_s + time.time()) / 2
    yield (
        abs(difference_s) < _CLOCK_TOLERANCE_S,
        f"Its clock differs from the one of this machine by {difference_s:.1f} s. Leases follow its "
        "clock; the times of turns follow yours.",
    )
    may_create = bool(_scalar(connection, "SELECT has_schema_privilege(current_schema(), 'CREATE')"))
    yield (
        may_create,
        "Its user may create tables, as every upgrade does."
        if may_create
        else (
            "Its user may not create tables, so no gateway can start or upgrade. Run as its owner: "
            "GRANT CREATE ON SCHEMA public TO the user."
        ),
    )
    limit = int(str(_scalar(connection, "SHOW max_connections")))
    yield (
        limit >= 2 * _PER_GATEWAY,
        f"It accepts {limit} connections. A gateway opens up to {_PER_GATEWAY}.",
    )


def _check_version(version: str) -> tuple[bool, str]:
    if version > LATEST_VERSION:
        return (
            False,
            f"Its tables have version {version}; this version knows {LATEST_VERSION}. Upgrade Thinkaloud.",
        )
    if version < LATEST_VERSION:
        return True, f"Its tables have version {version}. The next start migrates them to {LATEST_VERSION}."
    return True, f"Its tables are up to date (version {version})."


def _scalar(connection: _Connection, query: str) -> object:
    row = connection.execute(query.encode()).fetchone()
    return None if row is None else row[0]
