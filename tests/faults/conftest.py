"""One paced provider for all scenarios, and no API keys from the environment."""

from tests.gateway.conftest import no_keys, provider

__all__ = ["no_keys", "provider"]
