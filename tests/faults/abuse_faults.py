"""What callers and providers do to exhaust a gateway, and what a revoked token may still do: nothing.

Beside each attack run ordinary turns. The longest silence of their streams is measured, and every one of them
is checked like any other.
"""

import asyncio
import io
from functools import partial

from tests.faults.bombs import RESPONSES, UPLOADS, Upload
from tests.faults.client_faults import post_cancel
from tests.faults.fault_proxy import FaultKind, LinkFault, no_fault
from tests.faults.fault_run import FaultRun, LiveTurn, peak_memory_bytes
from tests.faults.format_clients import FormatClients
from tests.faults.process_faults import import_file
from tests.gateway.forked_gateway import run_forked
from tests.gateway.gateway_process import bearer_headers
from tests.gateway.heavy_load import large_import
from tests.gateway.stream_record import StreamRecord, follow
from tests.patience import PATIENCE_S

STEADY = "r20000-c1-ms50"
"""A stream of a quarter of an hour: it is cancelled when the attack is over."""
MIB = 1024 * 1024
MEMORY_LIMIT_BYTES = 256 * MIB
"""Of the gateway itself, with bodies of 10 MiB each. Reading one of the bombs here takes more."""
RESPONSES_LIMIT_BYTES = 600 * MIB
"""With five responses at once that have an event of 15 MB each, in a few copies."""
REFUSED = (400, 413, 415, 422)
BUSY = 429
FLOOD_IMPORTS = 6
FLOOD_EXPORTS = 30
LARGE_BLOCKS = 2_000


async def _start_steady(run: FaultRun) -> list[LiveTurn]:
    return await run.start_turns([STEADY] * run.load.steady)


async def _finish_steady(
    run: FaultRun, live_turns: list[LiveTurn], limit_bytes: int = MEMORY_LIMIT_BYTES
) -> None:
    """Note how silent the streams were and how much memory the gateway took, and end the turns."""
    run.note_silence(live_turns)
    peak_bytes = peak_memory_bytes(run.gateway.pid)
    run.expect(peak_bytes < limit_bytes, "bounded", f"the gateway has taken {peak_bytes:,} bytes")
    for live in live_turns:
        await post_cancel(run, live.id)
    await run.finish(live_turns)


async def upload_bombs(run: FaultRun) -> None:
    """Files that are small and large to read are uploaded, two at a time, one of each kind."""
    steady = await _start_steady(run)
    gate = asyncio.Semaphore(2)

    async def send(name: str, upload: Upload) -> None:
        async with gate:
            data = await asyncio.to_thread(upload.make)
            status = await _upload(run, data, upload.media_type)
        run.expect(status in REFUSED, "refused", f"{name} got the status {status}")

    await asyncio.gather(*(send(name, upload) for name, upload in UPLOADS.items()))
    await _finish_steady(run, steady)


async def _upload(run: FaultRun, data: bytes, media_type: str, token: str = "") -> int:
    """Upload a file and return the status of the response."""
    headers = {"Content-Type": media_type, **bearer_headers(token)}
    async with run.caller.http.post(
        f"{run.gateway.url}/api/import", data=io.BytesIO(data), headers=headers
    ) as response:
        await response.read()
        return response.status


async def provider_bombs(run: FaultRun) -> None:
    """The provider sends far too much of everything, to turns and to clients of all four formats."""
    steady = await _start_steady(run)
    for name, parts in RESPONSES.items():
        run.upstream.next_fault = partial(LinkFault, FaultKind.REPLACE, response=parts)
        turn = await run.post_turn(await run.caller.create_session(), "r1-c1-ms0")
        clients = FormatClients(run, run.gateway.url, lambda: "r1-c1-ms0")
        state = await _final_state(run, turn)
        run.expect(state == "failed", "ended", f"a turn with {name} is {state}")
        for client in await clients.read_all():
            run.expect(client.ends == ("error",), "ended", f"{name}: {client.name} was told {client.ends}")
    run.upstream.next_fault = no_fault
    await _finish_steady(run, steady, RESPONSES_LIMIT_BYTES)


async def _final_state(run: FaultRun, turn: str) -> str:
    """Wait until a turn has ended and return its state."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            body = await run.caller.call("GET", f"/api/turns/{turn}", token=run.token)
            if body["state"] != "running":
                return str(body["state"])
            await asyncio.sleep(0.05)


async def _new_token(run: FaultRun, user: str) -> tuple[str, str]:
    """Create a token of a user; return it and its id."""
    token, note = await run_forked(run.gateway.home, "tokens", "create", user)
    return token.strip(), note.split("tokens revoke ")[1].strip()


async def revoke_while_streaming(run: FaultRun) -> None:
    """A token is revoked while streams of turns and of all four formats run; another of the user stays."""
    user = f"user-{run.measured.rounds}"
    await run_forked(run.gateway.home, "users", "add", user)
    run.token, _ = await _new_token(run, user)
    revoked, token_id = await _new_token(run, user)
    steady = await _start_steady(run)
    records = [StreamRecord() for _ in steady]
    streams = [
        asyncio.create_task(follow(run.gateway.url, live.id, record, revoked))
        for live, record in zip(steady, records, strict=True)
    ]
    clients = FormatClients(run, run.gateway.url, lambda: STEADY, each=2, token=revoked)
    await clients.until_begun()
    await run_forked(run.gateway.home, "tokens", "revoke", token_id)
    async with asyncio.timeout(PATIENCE_S):
        cut_streams = await asyncio.gather(*streams)
        histories = await clients.finish(may_break=True)
    whole = sum(stream.complete for stream in cut_streams)
    run.expect(whole == 0, "revoked", f"{whole} streams of a revoked token ended in order")
    for history in histories:
        run.expect(history.ends == (), "revoked", f"{history.name} was told {history.ends} after the cut")
        state = await _final_state(run, history.turn)
        run.expect(state == "cancelled", "revoked", f"{history.name}: a turn of a revoked token is {state}")
    again = await follow(run.gateway.url, steady[0].id, StreamRecord(), revoked)
    run.expect(again.status == 401, "revoked", f"a revoked token got the status {again.status}")
    await _finish_steady(run, steady)


async def flood_beside_neighbour(run: FaultRun) -> None:
    """One user sends more imports and exports than may wait, while another one imports, exports and reads."""
    names = [f"{role}-{run.measured.rounds}" for role in ("neighbour", "flooder")]
    for name in names:
        await run_forked(run.gateway.home, "users", "add", name)
    run.token, _ = await _new_token(run, names[0])
    flooder, _ = await _new_token(run, names[1])
    steady = await _start_steady(run)
    imported = await run.caller.call("POST", "/api/import", import_file("own"), status=201, token=run.token)
    large = large_import(LARGE_BLOCKS)
    statuses: list[int] = []

    async def flood_import() -> None:
        statuses.append(await _upload(run, large, "application/json", flooder))

    flood = [asyncio.create_task(flood_import()) for _ in range(FLOOD_IMPORTS)]
    await _until_one_is_refused(statuses)
    session = await run.caller.create_session(flooder)
    path = f"{run.gateway.url}/api/sessions/{session}/export?format=json"
    exports = [asyncio.create_task(_export_status(run, path, flooder)) for _ in range(FLOOD_EXPORTS)]
    await run.caller.call("POST", "/api/import", import_file("beside"), status=201, token=run.token)
    waiting = sum(not task.done() for task in flood)
    run.expect(waiting > 0, "fair", "an import of a neighbour ended after all imports of a flood")
    own_path = f"{run.gateway.url}/api/sessions/{imported['id']}/export?format=json"
    status = await _export_status(run, own_path, run.token)
    run.expect(status == 200, "fair", f"an export of a neighbour got the status {status}")
    await asyncio.gather(*flood)
    unexpected = {*statuses, *await asyncio.gather(*exports)} - {200, 201, BUSY}
    run.expect(not unexpected, "fair", f"requests of a flood got {sorted(unexpected)}")
    await _finish_steady(run, steady)


async def _until_one_is_refused(statuses: list[int]) -> None:
    """Wait until the flood has as many requests in progress as one user may have."""
    async with asyncio.timeout(PATIENCE_S):
        while BUSY not in statuses:
            await asyncio.sleep(0.01)


async def _export_status(run: FaultRun, path: str, token: str) -> int:
    async with run.caller.http.get(path, headers=bearer_headers(token)) as response:
        await response.read()
        return response.status
