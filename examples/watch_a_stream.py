"""Print the text of a response while it arrives in small chunks."""

from pathlib import Path

import thinkaloud
from thinkaloud.core.canon import BlockGrew

reader = thinkaloud.Reader()
turn = thinkaloud.Turn()
response = Path(__file__).parent / "responses" / "deepseek.sse"
body = response.read_bytes()
chunks = [body[start : start + 120] for start in range(0, len(body), 120)]

for events in [*map(reader.feed, chunks), reader.close()]:
    for event in events:
        thinkaloud.apply(turn, thinkaloud.Entry(turn.seq + 1, event))
        if isinstance(event, BlockGrew):
            print(f"{turn.blocks[event.block].kind}: {event.text!r}")
