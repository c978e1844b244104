"""Brings a database to the tables of this version, and refuses one that a newer version has made."""

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from thinkaloud.canon import Refused

LATEST_VERSION = "0002"
"""The newest migration. Known here, so that a database that is up to date costs no import of Alembic."""

SCRIPTS = Path(__file__).with_name("migrations")


def migrate(conn: Connection) -> None:
    """Run the migrations that are missing, within the caller's transaction: all of them or none."""
    version = _version(conn)
    if version == LATEST_VERSION:
        return
    if version > LATEST_VERSION:
        raise Refused(
            f"This database was made by a newer Thinkaloud (tables {version}, this version knows {LATEST_VERSION}). Upgrade "
            "Thinkaloud, or give this version a folder of its own with THINKALOUD_HOME."
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
