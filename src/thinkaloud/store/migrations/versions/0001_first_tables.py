"""The first tables."""

from alembic import op

from thinkaloud.store import search
from thinkaloud.store.schema import metadata

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make them."""
    metadata.create_all(op.get_bind())
    search.create(op.get_bind())
