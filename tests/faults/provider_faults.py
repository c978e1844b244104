"""Faults between the gateway and the provider. Retries are the gateway's own, before the first byte only."""

from tests.faults.client_faults import with_probability
from tests.faults.fault_proxy import FaultKind, LinkFault
from tests.faults.fault_run import FaultRun

LONGEST_RESPONSE_BYTES = 12_000


async def break_responses(run: FaultRun) -> None:
    """Responses of the provider are reset or cut at any byte."""

    def fault() -> LinkFault:
        kind = run.dice.choice((FaultKind.RESET, FaultKind.CLOSE))
        return LinkFault(kind, run.dice.randrange(1, LONGEST_RESPONSE_BYTES))

    run.upstream.next_fault = with_probability(run, 0.8, fault)
    await run.finish(await run.start_turns())


async def stall_responses(run: FaultRun) -> None:
    """The provider goes silent in mid-response, and the connection stays open."""
    run.upstream.next_fault = with_probability(
        run, 0.6, lambda: LinkFault(FaultKind.STALL, run.dice.randrange(200, LONGEST_RESPONSE_BYTES))
    )
    await run.finish(await run.start_turns())


async def drip_responses(run: FaultRun) -> None:
    """Bytes of the provider arrive a few at a time."""
    run.upstream.next_fault = lambda: LinkFault(FaultKind.SLICE, run.dice.randrange(1, 40))
    models = [run.pick_model(longest_words=30) for _ in range(run.load.turns)]
    await run.finish(await run.start_turns(models))


async def flood_responses(run: FaultRun) -> None:
    """The provider sends a line without an end to some turns."""
    run.upstream.next_fault = with_probability(
        run, 0.2, lambda: LinkFault(FaultKind.FLOOD, run.dice.randrange(200, LONGEST_RESPONSE_BYTES))
    )
    await run.finish(await run.start_turns())


async def refuse_requests(run: FaultRun) -> None:
    """The provider is overloaded, and some requests succeed only when they are repeated."""
    run.upstream.next_fault = with_probability(run, 0.4, lambda: LinkFault(FaultKind.REFUSE))
    await run.finish(await run.start_turns())
