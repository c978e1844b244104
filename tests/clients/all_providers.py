"""A gateway process whose providers are simulators, all at once."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.cli.environment import CATALOG_ROWS
from tests.gateway.gateway_process import Caller, GatewayProcess, start_caller

from thinkaloud.core.catalog import builtin_catalog
from thinkaloud.simulators import run_simulator

KEY_NAME = "SIMULATED_PROVIDER_KEY"


@asynccontextmanager
async def start_with_simulators(home: Path, scripts: Mapping[str, list[Any]]) -> AsyncIterator[Caller]:
    """Start a gateway, which may be killed and restarted, and a simulator for each script, by its name."""
    async with AsyncExitStack() as stack:
        rows = []
        for name, script in scripts.items():
            server = await stack.enter_async_context(run_simulator(name, script=script))
            provider = builtin_catalog().providers[CATALOG_ROWS[name]]
            url = server.url + urlsplit(provider.base_url).path
            rows.append(f'[providers.{provider.name}]\nbase_url = "{url}"\n')
            rows.append(f'key = "env:{KEY_NAME}"\n' if provider.key else "")
        gateway = GatewayProcess(home, "http://127.0.0.1:9")
        (home / "catalog.toml").write_text("".join(rows), "utf-8")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(KEY_NAME, "simulated")
            patch.setitem(os.environ, "THINKALOUD_HOME", str(home))
            yield await stack.enter_async_context(start_caller(gateway))
