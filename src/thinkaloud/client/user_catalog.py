"""The user's catalog: the built-in rows, with those of `catalog.toml` merged into them."""

from functools import lru_cache

from thinkaloud.canon import BadCatalog
from thinkaloud.catalog import Catalog, builtin_catalog, builtin_texts, parse_catalog
from thinkaloud.catalog.catalog import FILES
from thinkaloud.client.home import home_folder

CATALOG_NAME = "catalog.toml"


def load_catalog() -> Catalog:
    """Return the catalog, with the user's own `catalog.toml` merged into it if it exists."""
    path = home_folder() / CATALOG_NAME
    try:
        rows = path.read_text("utf-8")
    except FileNotFoundError:
        return builtin_catalog()
    except (OSError, UnicodeDecodeError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or "it is not UTF-8 text"
        raise BadCatalog(f"{path} cannot be read: {reason}. Correct the file, or move it away.") from None
    return _merged(rows, str(path))


@lru_cache(maxsize=4)
def _merged(rows: str, path: str) -> Catalog:
    """Return the catalog with these rows. It is kept, because every request asks for it."""
    return parse_catalog(*builtin_texts(), rows, names=(*FILES, path))
