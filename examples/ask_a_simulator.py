"""Ask a simulated provider on this machine and print its reasoning; no API key is needed."""

import asyncio

from thinkaloud.client import Options, ask, stream
from thinkaloud.core.canon import BlockEnded, BlockGrew
from thinkaloud.core.catalog import builtin_texts, parse_catalog
from thinkaloud.simulators import run_simulator

SCRIPT = [{"thinking": "17 * 3 is 51.", "text": "51"}, {"thinking": "Less 9.", "text": "42"}]


async def main() -> None:
    async with run_simulator("vllm", script=SCRIPT) as server:
        catalog_row = f'[providers.vllm]\nbase_url = "{server.base_url}"'
        options = Options(catalog=parse_catalog(*builtin_texts(), catalog_row), system="Be brief.")

        turn = await ask("How much is 17 * 3?", model="vllm/qwen3-8b", thinking="high", options=options)
        print(turn.reasoning, "=>", turn.answer, [notice.text for notice in turn.notices])

        async for event in stream("And 9 less?", model="vllm/qwen3-8b", thinking=2048, options=options):
            if isinstance(event, BlockGrew | BlockEnded):
                print(event)


asyncio.run(main())
