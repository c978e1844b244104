"""Every test has its own folder and only the API keys that it sets."""

from tests.server.conftest import keys

__all__ = ["keys"]
