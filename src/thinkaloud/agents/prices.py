"""The cost of a turn: of the whole, each reply, each assistant and each thought.

Prices are those of the installed `genai-prices`; nothing is fetched. Unknown stays unknown: a model without a
price, a reply without token counts, a local model. A sum with an unknown part is unknown too, and
`usd_at_least` is its known part. Dollars are decimal text, to avoid rounding.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import NamedTuple

import msgspec

from thinkaloud.core.canon import Kind, Usage
from thinkaloud.core.transcript import Block, Reply, Turn

_PRICE_PROVIDER_IDS = {
    "anthropic": "anthropic",
    "bedrock": "aws",
    "cerebras": "cerebras",
    "cohere": "cohere",
    "deepseek": "deepseek",
    "fireworks": "fireworks",
    "gemini": "google",
    "groq": "groq",
    "minimax": "minimax",
    "mistral": "mistral",
    "moonshot": "moonshotai",
    "openai": "openai",
    "openai-chat": "openai",
    "openrouter": "openrouter",
    "together": "together",
    "xai": "x-ai",
    "zai": "zai",
}
"""Our provider names, and those of genai-prices, which would otherwise guess "ollama-openai" to be OpenAI."""
_FREE_PROVIDER = "builtin"


class Consumption(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens, seconds and US dollars. None means unknown, never zero."""

    usage: Usage = Usage()
    seconds: float | None = None
    usd: str | None = None
    usd_at_least: str = "0"


class ReplyCost(msgspec.Struct, frozen=True, omit_defaults=True):
    """The cost of one reply. `parent` is the call of the assistant that replied; None for the agent."""

    spent: Consumption
    model: str = ""
    provider: str = ""
    parent: int | None = None
    context_window: int | None = None
    """How many tokens the model takes, as the source of the prices says; None if unknown."""


class Cost(msgspec.Struct, frozen=True):
    """The cost of a turn and its parts. Assistants and thoughts are listed by block number."""

    turn: Consumption
    replies: tuple[ReplyCost, ...]
    assistants: dict[int, Consumption]
    thoughts: dict[int, Consumption]
    priced_by: str
    """The source of the prices, such as "genai-prices 0.2.1"; empty if it is not installed."""


class _Price(NamedTuple):
    total: Decimal
    output: Decimal
    context_window: int | None = None


class _PricedReply(NamedTuple):
    """A reply, its blocks and its price."""

    reply: Reply
    blocks: list[Block]
    price: _Price | None


def cost_of(turn: Turn, *, provider: str, at_ms: int | None = None) -> Cost:
    """Return the cost of a turn so far.

    `provider` is used for replies that do not name theirs. `at_ms` is the time of the turn in milliseconds
    since 1970, for the prices of that time; without it the current prices are used.
    """
    moment = _datetime_at(at_ms)
    replies = _replies_with_blocks(turn, provider)
    priced = [_PricedReply(reply, blocks, _price(reply, reply.usage, moment)) for reply, blocks in replies]
    return Cost(
        turn=_consumption(priced, turn.usage, _seconds(turn.started_ms, turn.ended_ms)),
        replies=tuple(_reply_cost(entry) for entry in priced),
        assistants=_assistant_costs(turn, priced),
        thoughts=_thought_costs(turn, priced, moment),
        priced_by=price_source(),
    )


def price_of(reply: Reply, *, at_ms: int | None = None) -> str | None:
    """Return the price of a reply in US dollars, at this time or now; None if unknown."""
    price = _price(reply, reply.usage, _datetime_at(at_ms))
    return None if price is None else _dollars(price.total)


def _replies_with_blocks(turn: Turn, provider: str) -> Iterator[tuple[Reply, list[Block]]]:
    """Yield each reply with its blocks. A turn without recorded replies counts as one reply."""
    only_reply = Reply(usage=turn.usage, until=len(turn.blocks), ended_ms=turn.ended_ms)
    next_block: dict[int | None, int] = {}
    for reply in turn.replies or [only_reply]:
        if reply.parent is None:
            names = {"model": reply.model or turn.model, "provider": reply.provider or provider}
            reply = msgspec.structs.replace(reply, **names)
        blocks = turn.blocks[next_block.get(reply.parent, 0) : reply.until]
        next_block[reply.parent] = reply.until
        yield reply, [block for block in blocks if block.parent == reply.parent]


def _reply_cost(priced: _PricedReply) -> ReplyCost:
    reply = priced.reply
    seconds = _seconds(priced.blocks[0].started_ms, reply.ended_ms) if priced.blocks else None
    return ReplyCost(
        _consumption([priced], reply.usage, seconds),
        reply.model,
        reply.provider,
        reply.parent,
        None if priced.price is None else priced.price.context_window,
    )


def _assistant_costs(turn: Turn, priced: Sequence[_PricedReply]) -> dict[int, Consumption]:
    """Return the cost of each assistant call, including all levels below it."""
    spent = {}
    for call in turn.blocks:
        if call.kind is Kind.ASSISTANT_CALL:
            nested = [entry for entry in priced if turn.within(entry.reply.parent, call.number)]
            usage = nested[0].reply.usage if nested else Usage()
            for entry in nested[1:]:
                usage = usage.add(entry.reply.usage)
            spent[call.number] = _consumption(nested, usage, _seconds(call.started_ms, call.ended_ms))
    return spent


def _thought_costs(
    turn: Turn, priced: Sequence[_PricedReply], moment: datetime | None
) -> dict[int, Consumption]:
    """Return the cost of each thought. Tokens and price are known only if a reply has a single thought."""
    thoughts = [block for block in turn.blocks if block.kind is Kind.REASONING]
    spent = {
        block.number: Consumption(seconds=_seconds(block.started_ms, block.ended_ms)) for block in thoughts
    }
    for reply, blocks, _ in priced:
        numbers = [block.number for block in blocks if block.number in spent]
        tokens = reply.usage.reasoning
        if len(numbers) == 1 and tokens is not None:
            price = _price(reply, msgspec.structs.replace(reply.usage, output=tokens), moment)
            usd = None if price is None else _dollars(price.output)
            seconds = spent[numbers[0]].seconds
            spent[numbers[0]] = Consumption(Usage(output=tokens, reasoning=tokens), seconds, usd, usd or "0")
    return spent


def _consumption(priced: Sequence[_PricedReply], usage: Usage, seconds: float | None) -> Consumption:
    known_prices = [entry.price.total for entry in priced if entry.price is not None]
    usd = _dollars(sum(known_prices, Decimal()))
    return Consumption(usage, seconds, usd if priced and len(known_prices) == len(priced) else None, usd)


def _price(reply: Reply, usage: Usage, moment: datetime | None) -> _Price | None:
    if reply.provider == _FREE_PROVIDER:
        return _Price(Decimal(), Decimal())
    if usage.input is None or usage.output is None or reply.provider not in _PRICE_PROVIDER_IDS:
        return None
    try:
        import genai_prices
    except ModuleNotFoundError:
        return None
    try:
        calculation = genai_prices.calc_price(
            genai_prices.Usage(
                input_tokens=usage.input,
                cache_read_tokens=usage.cache_read,
                cache_write_tokens=usage.cache_write,
                output_tokens=usage.output,
                output_reasoning_tokens=usage.reasoning,
            ),
            reply.model,
            provider_id=_PRICE_PROVIDER_IDS[reply.provider],
            genai_request_timestamp=moment,
        )
    except (LookupError, ValueError):  # unknown model, or inconsistent token counts
        return None
    if calculation.model_price.input_mtok is None or calculation.model_price.output_mtok is None:
        return None  # the model is listed without a price, which would count as zero
    return _Price(calculation.total_price, calculation.output_price, calculation.model.context_window)


def price_source() -> str:
    """Return the source of the prices, such as "genai-prices 0.2.1"; empty if it is not installed."""
    try:
        import genai_prices
    except ModuleNotFoundError:
        return ""
    return f"genai-prices {genai_prices.__version__}"


def _datetime_at(at_ms: int | None) -> datetime | None:
    return None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC)


def _dollars(amount: Decimal) -> str:
    return f"{amount.normalize():f}"


def _seconds(started_ms: int | None, ended_ms: int | None) -> float | None:
    return None if started_ms is None or ended_ms is None else (ended_ms - started_ms) / 1000
