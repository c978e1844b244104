"""Migrates a database to this version. Refuses a database that a newer version has migrated."""

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from thinkaloud.canon import Refused

LATEST_VERSION = "0008"
"""The newest migration. Written here too, so that an up-to-date database needs no import of Alembic."""

SCRIPTS = Path(__file__).with_name("migrations")


def migrate(conn: Connection) -> None:
    """Run the missing migrations in the caller's transaction: all of them or none."""
    version = _version(conn)
    if version == LATEST_VERSION:
        return
    if version > LATEST_VERSION:
        raise Refused(
            f"This database was made by a newer version of Thinkaloud (schema {version}; this version knows "
            f"{LATEST_VERSION}). Upgrade Thinkaloud, or set THINKALOUD_HOME to another folder."
        )
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": conn})
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    command.upgrade(config, "head")


def _version(conn: Connection) -> str:
    if not inspect(conn).has_table("alembic_version"):
        return ""
    return conn.scalar(text("SELECT version_num FROM alembic_version")) or ""
