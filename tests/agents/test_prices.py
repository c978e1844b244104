"""The cost of a turn and its parts, at the prices of its time."""

import socket
import sys
import tomllib
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import genai_prices
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.transcript.turn_builders import answer, block, thought, timed_turn

import thinkaloud.core.catalog
from thinkaloud.agents.prices import Consumption, Cost, ReplyCost, cost_of, price_of
from thinkaloud.core.canon import Event, Kind, ReplyEnded, ToolFinished, TurnStarted, Usage, UsageReported
from thinkaloud.core.transcript import Reply, Turn, fold

CLAUDE = "claude-sonnet-4-5"  # $3 in, $15 out, $0.30 read from the cache, $3.75 written to it, for a million
USAGE_WITH_REASONING = Usage(input=1_000, output=100, reasoning=60)
PRICE = "0.0045"
PROVIDERS: dict[str, dict[str, Any]] = tomllib.loads(
    (Path(thinkaloud.core.catalog.__file__).parent / "providers.toml").read_text("utf-8")
)["providers"]


def ms(year: int, month: int, day: int, hour: int = 12) -> int:
    return int(datetime(year, month, day, hour, tzinfo=UTC).timestamp() * 1000)


NOW = ms(2026, 11, 1)


def turn_with_usage(usage: Usage, model: str = CLAUDE, *events: Event) -> Turn:
    return fold([TurnStarted("", model), *events, UsageReported(usage)])


def usd(
    usage: Usage, model: str = CLAUDE, provider: str = "anthropic", at_ms: int | None = NOW
) -> str | None:
    return cost_of(turn_with_usage(usage, model), provider=provider, at_ms=at_ms).turn.usd


def reply(usage: Usage, parent: int | None = None, model: str = CLAUDE) -> ReplyEnded:
    return ReplyEnded(usage=usage, model=model, provider="anthropic", parent=parent)


def test_cost_of_a_single_reply_turn() -> None:
    cost = cost_of(turn_with_usage(USAGE_WITH_REASONING), provider="anthropic", at_ms=NOW)
    spent = Consumption(USAGE_WITH_REASONING, usd=PRICE, usd_at_least=PRICE)
    assert cost.turn == spent
    assert cost.replies == (ReplyCost(spent, CLAUDE, "anthropic", context_window=200_000),)
    assert cost.priced_by == f"genai-prices {genai_prices.__version__}"


def test_cached_tokens_are_input_and_thoughts_are_output() -> None:
    """300 at $3, 600 at $0.30 and 100 at $3.75; 100 out at $15."""
    counts = Usage(input=1_000, output=100, reasoning=60, cache_read=600, cache_write=100)
    assert usd(counts) == "0.002955"


def test_long_requests_have_their_own_price() -> None:
    """Beyond 200,000 tokens: $6 in and $22.50 out, for all of them."""
    counts = Usage(input=300_000, output=1_000, reasoning=600)
    cost = cost_of(turn_with_usage(counts, CLAUDE, *thought(0, "Hm.")), provider="anthropic", at_ms=NOW)
    assert cost.turn.usd == "1.8225"
    assert cost.thoughts[0].usd == "0.0135"


def test_price_is_that_of_the_given_time() -> None:
    """The price of o3 fell to a fifth in June 2025."""
    assert usd(USAGE_WITH_REASONING, "o3", "openai", ms(2025, 6, 1)) == "0.014"
    assert usd(USAGE_WITH_REASONING, "o3", "openai", ms(2025, 7, 1)) == "0.0028"
    assert usd(USAGE_WITH_REASONING, "o3", "openai", None) is not None


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai-chat", "gpt-5"),
        ("openrouter", "anthropic/claude-opus-4.5"),
        ("gemini", "gemini-2.5-pro"),
        ("xai", "grok-4"),
        ("moonshot", "kimi-k2-thinking"),
        ("bedrock", "us.anthropic.claude-sonnet-4-20250514-v1:0"),
        ("deepseek", "deepseek-reasoner"),
    ],
)
def test_catalog_providers_have_a_price(provider: str, model: str) -> None:
    price = usd(USAGE_WITH_REASONING, model, provider)
    assert price is not None
    assert Decimal(price) > 0


@pytest.mark.parametrize("provider", [name for name, row in PROVIDERS.items() if row.get("local")])
def test_local_model_has_no_price(provider: str) -> None:
    """The cost of a local model is unknown; only the built-in solver counts as free."""
    expected = "0" if provider == "builtin" else None
    for model in ("gpt-5", "gpt-oss:20b", "openai/gpt-oss-20b", "solver"):
        assert usd(USAGE_WITH_REASONING, model, provider) == expected


def test_builtin_solver_costs_zero() -> None:
    assert usd(Usage(), "solver", "builtin") == "0"


@pytest.mark.parametrize(
    ("counts", "model", "provider"),
    [
        pytest.param(USAGE_WITH_REASONING, "claude-of-tomorrow", "anthropic", id="unknown model"),
        pytest.param(USAGE_WITH_REASONING, "", "anthropic", id="no model"),
        pytest.param(USAGE_WITH_REASONING, CLAUDE, "", id="no provider"),
        pytest.param(USAGE_WITH_REASONING, CLAUDE, "my-anthropic", id="a provider of one's own"),
        pytest.param(USAGE_WITH_REASONING, "gemma-3", "gemini", id="listed without a price"),
        pytest.param(USAGE_WITH_REASONING, "text-embedding-3-small", "openai", id="no price for output"),
        pytest.param(Usage(), CLAUDE, "anthropic", id="no counts"),
        pytest.param(Usage(input=5), CLAUDE, "anthropic", id="half the counts"),
        pytest.param(Usage(input=5, output=5, cache_read=9), CLAUDE, "anthropic", id="nonsense"),
        pytest.param(Usage(input=-5, output=5), CLAUDE, "anthropic", id="less than nothing"),
    ],
)
def test_unknown_prices_stay_unknown(counts: Usage, model: str, provider: str) -> None:
    spent = cost_of(turn_with_usage(counts, model), provider=provider, at_ms=NOW).turn
    assert (spent.usd, spent.usd_at_least) == (None, "0")


def test_costs_of_replies_and_assistants_add_up() -> None:
    """The price of an assistant includes its own assistants."""
    small, large = Usage(input=1_000, output=0), Usage(input=2_000, output=0)
    turn = fold(
        [
            TurnStarted("", CLAUDE),
            *thought(0, "Plan."),
            *block(1, Kind.ASSISTANT_CALL, "task"),
            reply(small),
            *block(2, Kind.ASSISTANT_CALL, "part of it", parent=1),
            reply(large, parent=1),
            *block(3, Kind.TEXT, "done", parent=2),
            reply(small, parent=2),
            ToolFinished(2, "done"),
            reply(small, parent=1),
            ToolFinished(1, "done"),
            *answer(4, "Done."),
            reply(large),
        ]
    )
    cost = cost_of(turn, provider="", at_ms=NOW)
    assert [(one.parent, one.spent.usd) for one in cost.replies] == [
        (None, "0.003"),
        (1, "0.006"),
        (2, "0.003"),
        (1, "0.003"),
        (None, "0.006"),
    ]
    assert {number: spent.usd for number, spent in cost.assistants.items()} == {1: "0.012", 2: "0.003"}
    assert cost.assistants[1].usage == Usage(input=4_000, output=0)
    assert cost.turn.usd == "0.021"


def test_unknown_part_makes_the_sum_unknown_with_a_lower_bound() -> None:
    turn = fold(
        [
            TurnStarted("", CLAUDE),
            *block(0, Kind.ASSISTANT_CALL, "task"),
            *block(1, Kind.ASSISTANT_CALL, "never begun"),
            reply(USAGE_WITH_REASONING),
            *block(2, Kind.TEXT, "done", parent=0),
            reply(USAGE_WITH_REASONING, parent=0, model="claude-of-tomorrow"),
        ]
    )
    cost = cost_of(turn, provider="anthropic", at_ms=NOW)
    assert (cost.turn.usd, cost.turn.usd_at_least) == (None, PRICE)
    assert (cost.assistants[0].usd, cost.assistants[0].usd_at_least) == (None, "0")
    assert cost.assistants[1] == Consumption()


def test_reply_without_provider_uses_that_of_the_turn() -> None:
    """Not for an assistant: it may have another model."""
    turn_reply = ReplyEnded(usage=USAGE_WITH_REASONING)
    assistant_reply = ReplyEnded(usage=USAGE_WITH_REASONING, parent=0)
    turn = fold(
        [TurnStarted("", CLAUDE), *block(0, Kind.ASSISTANT_CALL, "task"), turn_reply, assistant_reply]
    )
    costs = cost_of(turn, provider="anthropic", at_ms=NOW).replies
    assert [one.spent.usd for one in costs] == [PRICE, None]


def test_thought_costs_its_tokens_at_the_output_price() -> None:
    """60 tokens at $15 per million; with several thoughts in a reply the tokens cannot be attributed."""
    alone = cost_of(
        turn_with_usage(USAGE_WITH_REASONING, CLAUDE, *thought(0, "Hm.")), provider="anthropic", at_ms=NOW
    )
    assert alone.thoughts == {0: Consumption(Usage(output=60, reasoning=60), None, "0.0009", "0.0009")}
    two = turn_with_usage(USAGE_WITH_REASONING, CLAUDE, *thought(0, "Hm."), *thought(1, "Well."))
    assert cost_of(two, provider="anthropic", at_ms=NOW).thoughts == {0: Consumption(), 1: Consumption()}
    uncounted = turn_with_usage(Usage(input=10, output=10), CLAUDE, *thought(0, "Hm."))
    assert cost_of(uncounted, provider="anthropic", at_ms=NOW).thoughts == {0: Consumption()}


def test_thoughts_are_attributed_to_their_reply() -> None:
    """A reply without blocks has no thoughts, even if the previous one had."""
    other = Usage(input=1_000, output=100, reasoning=20)
    turn = fold([TurnStarted("", CLAUDE), *thought(0, "Hm."), reply(USAGE_WITH_REASONING), reply(other)])
    assert cost_of(turn, provider="", at_ms=NOW).thoughts[0].usd == "0.0009"
    more = fold([*thought(1, "So."), reply(other)], turn)
    assert [spent.usd for spent in cost_of(more, provider="", at_ms=NOW).thoughts.values()] == [
        "0.0009",
        "0.0003",
    ]


def test_durations_come_from_the_timestamps() -> None:
    first, grown, last = thought(0, "Hm.")
    turn = timed_turn(
        (0, TurnStarted("", CLAUDE)),
        (500, first),
        (900, grown),
        (2_500, last),
        (4_000, reply(USAGE_WITH_REASONING)),
    )
    cost = cost_of(turn, provider="", at_ms=NOW)
    assert cost.turn.seconds is None, "it is not over"
    assert cost.replies[0].spent.seconds == 3.5
    assert cost.thoughts[0].seconds == 2.0


def test_price_of_one_reply() -> None:
    counted = Reply(usage=USAGE_WITH_REASONING, model=CLAUDE, provider="anthropic")
    assert price_of(counted, at_ms=NOW) == PRICE
    assert price_of(Reply(usage=USAGE_WITH_REASONING, model=CLAUDE)) is None
    assert price_of(Reply(provider="builtin", model="solver")) == "0"


def test_no_price_is_known_without_genai_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    cost = cost_of(
        turn_with_usage(USAGE_WITH_REASONING, CLAUDE, *thought(0, "Hm.")), provider="anthropic", at_ms=NOW
    )
    assert (cost.turn.usd, cost.thoughts[0].usd, cost.priced_by) == (None, None, "")
    assert cost.turn.usage == USAGE_WITH_REASONING


def test_prices_are_never_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("prices were looked for on the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert usd(USAGE_WITH_REASONING) == PRICE


def test_cost_round_trips_through_json() -> None:
    cost = cost_of(
        turn_with_usage(USAGE_WITH_REASONING, CLAUDE, *thought(0, "Hm.")), provider="anthropic", at_ms=NOW
    )
    assert msgspec.json.decode(msgspec.json.encode(cost), type=Cost) == cost


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=8))
def test_prices_are_not_rounded(counts: list[int]) -> None:
    """A sum is exact to the last digit and has no exponent."""
    turn = fold([TurnStarted("", CLAUDE), *(reply(Usage(input=count, output=count)) for count in counts)])
    cost = cost_of(turn, provider="", at_ms=NOW)
    parts = [Decimal(one.spent.usd or "nan") for one in cost.replies]
    assert Decimal(cost.turn.usd or "nan") == sum(parts)
    assert set(cost.turn.usd or "") <= set("0123456789.")
