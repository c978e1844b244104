"""Creates the tables of a database, or migrates them to this version. Refuses those of a newer version."""

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text

from thinkaloud.core.canon import Refused
from thinkaloud.gateway.store.queries.values import ERASES_FACT, read_fact, store_fact
from thinkaloud.gateway.store.schema import metadata
from thinkaloud.gateway.store.search import index as search_index

if TYPE_CHECKING:
    from alembic.config import Config

LATEST_VERSION = "0015"
"""The newest migration. Written here too, so that an up-to-date database needs no import of Alembic."""

COMPATIBLE_SINCE = "0013"
"""The oldest version of the tables whose gateways can work with the newest tables, beside newer gateways.

Raise it only for a migration that takes away or changes what they use. Such an upgrade needs a stop of all.
"""
_COMPATIBLE_FACT = "schema_compatible_since"
SCRIPTS = Path(__file__).parent


def migrate(conn: Connection) -> None:
    """Create the tables or run the missing migrations in the caller's transaction: all of them or none."""
    version = _version(conn)
    if version == LATEST_VERSION:
        return
    if version > LATEST_VERSION:
        if (read_fact(conn, _COMPATIBLE_FACT) or version) <= LATEST_VERSION:
            return  # a newer gateway has added to the tables only what this one does not need to know
        raise Refused(
            "This database was made by a newer version of Thinkaloud (schema {version}; this version "
            "knows {latest_version}). Upgrade Thinkaloud, or set THINKALOUD_HOME to another folder.",
            version=version,
            latest_version=LATEST_VERSION,
        )
    if not version and conn.dialect.name == "sqlite":
        _create_tables(conn)
    else:
        run_migrations(conn)
    store_fact(conn, _COMPATIBLE_FACT, COMPATIBLE_SINCE)
    if not version:
        store_fact(conn, ERASES_FACT, "1")  # nothing was ever deleted from a new database


def run_migrations(conn: Connection, version: str = LATEST_VERSION) -> None:
    """Run the missing migrations up to a version."""
    from alembic import command

    command.upgrade(_config(conn), version)


def _create_tables(conn: Connection) -> None:
    """Create the tables that the migrations make. To import Alembic takes most of a first start."""
    metadata.create_all(conn, checkfirst=False)
    search_index.create(conn)
    conn.execute(
        text(
            "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
            "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
        )
    )
    conn.execute(text("INSERT INTO alembic_version VALUES (:version)"), {"version": LATEST_VERSION})


def outdated(conn: Connection) -> bool:
    """Return whether migrations are missing."""
    return _version(conn) < LATEST_VERSION


def load_migrations() -> None:
    """Import what `migrate` needs if something is missing. It takes seconds on a slow machine."""
    from alembic.script import ScriptDirectory

    for script in ScriptDirectory.from_config(_config(None)).walk_revisions():
        assert script.module is not None


def _config(conn: Connection | None) -> "Config":
    from alembic.config import Config

    config = Config(attributes={"connection": conn})
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    return config


def _version(conn: Connection) -> str:
    if not inspect(conn).has_table("alembic_version"):
        return ""
    return conn.scalar(text("SELECT version_num FROM alembic_version")) or ""
