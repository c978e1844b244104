"""The user's catalog: the built-in rows, with those of `catalog.toml` merged into them."""

from functools import lru_cache
from pathlib import Path

from thinkaloud.client.user_files import home_folder, locked_folder, replace_file
from thinkaloud.core.canon import BadCatalog, Wording
from thinkaloud.core.catalog import Catalog, builtin_catalog, builtin_texts, parse_catalog
from thinkaloud.core.catalog.catalog import FILES

CATALOG_NAME = "catalog.toml"


def load_catalog() -> Catalog:
    """Return the catalog, with the user's own `catalog.toml` merged into it if it exists."""
    path = user_catalog_path()
    rows = _read(path)
    return builtin_catalog() if rows is None else _merged(rows, str(path))


def add_rows(rows: str) -> Path:
    """Add rows to the end of `catalog.toml` and return its path. What is in the file stays as it is."""
    path = user_catalog_path()
    with locked_folder(path):
        text = (_read(path) or "") + rows
        _merged(text, str(path))  # rows that would not be accepted later are not written
        replace_file(path, text)
    return path


def user_catalog_path() -> Path:
    """Return the path of the user's own rows."""
    return home_folder() / CATALOG_NAME


def _read(path: Path) -> str | None:
    """Return the user's own rows; None if there is no such file."""
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or Wording("it is not UTF-8 text")
        raise BadCatalog(
            "{path} cannot be read: {reason}. Correct the file, or move it away.", path=path, reason=reason
        ) from None


@lru_cache(maxsize=4)
def _merged(rows: str, path: str) -> Catalog:
    """Return the catalog with these rows. It is kept, because every request asks for it."""
    return parse_catalog(*builtin_texts(), rows, names=(*FILES, path))
