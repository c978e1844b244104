"""Ask the gateway, close the connection in the middle, and resume the stream.

Start the gateway first (`make run`) and install aiohttp, then: python examples/resume_a_stream.py [URL]
"""

import asyncio
import sys

import aiohttp
import msgspec

import thinkaloud


async def follow(web: aiohttp.ClientSession, path: str, turn: thinkaloud.Turn, until: int) -> None:
    """Fold the entries after the turn's last one into the turn; stop at entry `until`."""
    headers = {"Last-Event-ID": str(turn.seq)} if turn.seq >= 0 else {}
    async with web.get(path, headers=headers, raise_for_status=True) as stream:
        async for line in stream.content:
            if line.startswith(b'data: {"seq"'):
                thinkaloud.apply(turn, msgspec.json.decode(line[6:], type=thinkaloud.Entry))
                if turn.seq == until:
                    return


async def main(url: str) -> None:
    async with aiohttp.ClientSession(url, raise_for_status=True) as web:
        session = await (await web.post("/api/sessions", json={})).json()
        new_turn = {"prompt": "make 24 from 4 7 8 8", "model": "builtin/solver"}
        started = await (await web.post(f"/api/sessions/{session['id']}/turns", json=new_turn)).json()

        turn = thinkaloud.Turn()
        await follow(web, started["events"], turn, until=20)
        print(
            f"--- disconnected after entry {turn.seq}: {len(turn.reasoning)} characters of reasoning so far"
        )
        await follow(web, started["events"], turn, until=-1)
        print(turn.reasoning, turn.answer, sep="\n")

        stored = await (await web.get(f"/api/turns/{started['id']}")).json()
        same = (turn.reasoning, turn.answer) == (stored["reasoning_content"], stored["copy_text"])
        print("--- identical to the stored turn" if same else "--- different from the stored turn")


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8321"))
