"""A page reloaded at any moment resumes without duplicate or gap."""

import asyncio
import random
import statistics
import time
from pathlib import Path

from tests.gateway.gateway_process import Caller, GatewayProcess, start_caller
from tests.gateway.paced_provider import expected
from tests.gateway.stream_record import StreamRecord, follow, open_stream

PAGES = 6
RELOADS = 50
"""Reloads per page, three hundred in total."""
MODEL = "r400-c400-ms10"
SEED = 20_261_115
LONGEST_VISIT_BYTES = 2500
"""The response headers have about 700 bytes, an event about 90."""


class ReloadingReader:
    """A page that is reloaded all the time. `waited_s` holds the duration of each reload."""

    def __init__(self, caller: Caller, dice: random.Random) -> None:
        self._caller = caller
        self._dice = dice
        self._reloads_left = RELOADS
        self.waited_s: list[float] = []

    async def watch(self) -> None:
        """Reload while a turn runs, then continue with the next turn."""
        while self._reloads_left:
            await self._watch_one(await self._caller.start_turn(MODEL))

    async def _watch_one(self, turn: str) -> None:
        url = self._caller.gateway.url
        stayed, record = StreamRecord(), StreamRecord()
        staying = asyncio.create_task(follow(url, turn, stayed))
        while self._reloads_left and not record.state and await self._reload(turn, record):
            self._reloads_left -= 1
        await follow(url, turn, record)
        await staying
        assert stayed.text == expected(MODEL)
        assert record.lines == stayed.lines
        assert [name for name, _ in record.events] in ([], ["end"])

    async def _reload(self, turn: str, record: StreamRecord) -> bool:
        """Read some bytes and leave, perhaps inside an event or a character."""
        dice = self._dice
        started_s, answered = time.perf_counter(), False
        bytes_left = dice.randrange(1, LONGEST_VISIT_BYTES)
        async with open_stream(
            self._caller.gateway.url, turn, record, by_query=dice.random() < 0.5
        ) as stream:
            while bytes_left > 0 and await stream.read(read_size := min(bytes_left, dice.randrange(1, 400))):
                bytes_left -= read_size
                if stream.body_started and not answered:
                    answered = True
                    self.waited_s.append(time.perf_counter() - started_s)
            await stream.drop(reset=dice.random() < 0.5)
        assert stream.status in (0, 200, 204)
        return stream.status != 204


def test_three_hundred_reloads_resume_without_gap_or_duplicate(tmp_path: Path, provider: str) -> None:
    async def story() -> None:
        async with start_caller(GatewayProcess(tmp_path, provider)) as caller:
            pages = [ReloadingReader(caller, random.Random(SEED + number)) for number in range(PAGES)]
            await asyncio.gather(*(page.watch() for page in pages))
        waited_s = [took_s for page in pages for took_s in page.waited_s]
        usual_s = statistics.median(waited_s)
        print(
            f"{len(waited_s)} of {PAGES * RELOADS} reloads stayed for an answer, which took "
            f"{usual_s * 1000:.1f} ms by the median and {max(waited_s) * 1000:.1f} ms at worst"
        )
        assert len(waited_s) > PAGES * RELOADS / 2

    asyncio.run(story())
