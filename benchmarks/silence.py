"""Measures how long a live stream is silent under the heaviest load that the limits allow.

Run it on a machine that does nothing else: `python -m benchmarks.silence`.
"""

import asyncio
import tempfile
from pathlib import Path

from tests.gateway.gateway_process import GatewayProcess
from tests.gateway.heavy_load import HeavyLoad, measure_silence
from tests.gateway.paced_provider import run_provider


def main() -> None:
    """Print the result of one run."""
    with run_provider() as provider, tempfile.TemporaryDirectory() as home:
        print(asyncio.run(measure_silence(GatewayProcess(Path(home), provider), HeavyLoad())))


if __name__ == "__main__":
    main()
