"""The table of a run of fault scenarios as Markdown, for the terminal and for docs/reliability.md."""

import statistics
from datetime import date
from pathlib import Path

from benchmarks.report import machine, table
from tests.faults.checker import CLIENT_RULES, RULES, created_once
from tests.faults.fault_run import Load, Measurements
from tests.faults.scenarios import SCENARIOS

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
MIB = 1024 * 1024
HEAD = (
    "scenario",
    "rounds",
    "kills",
    "turns",
    "entries seen",
    "lost",
    "doubled",
    "other violations",
    "resume p50",
    "resume p99",
    "limit",
    "longest silence",
    "peak memory",
)

Results = dict[str, Measurements]


def report_text(results: Results, *, seed: int, load: Load, day: date) -> str:
    """Return the whole report: the machine, the seed, and one row for each scenario."""
    totals = list(results.values())
    found = sum(len(measured.violations) for measured in totals)
    summary = (
        f"{day.isoformat()}, {machine()}, seed {seed}, {load.turns} turns at a time with two readers each. "
        f"{sum(measured.kills for measured in totals):,} kills, "
        f"{sum(measured.turns for measured in totals):,} turns, "
        f"{sum(measured.faults for measured in totals):,} broken connections, "
        f"{sum(measured.entries for measured in totals):,} entries seen, {found} violations."
    )
    return f"{summary}\n\n{table(HEAD, map(_row, results, totals))}"


def _row(name: str, measured: Measurements) -> tuple[str, ...]:
    lost, doubled = measured.count("lost"), measured.count("doubled")
    counts = (measured.rounds, measured.kills, measured.turns, measured.entries, lost, doubled)
    return (
        name,
        *(f"{count:,}" for count in counts),
        str(len(measured.violations) - lost - doubled),
        _milliseconds(measured.resume_ms, 50),
        _milliseconds(measured.resume_ms, 99),
        _limit(name, measured),
        "–" if measured.silence_ms is None else f"{measured.silence_ms:,.0f} ms",
        f"{measured.peak_bytes / MIB:.0f} MiB" if measured.peak_bytes else "unknown",
    )


def late_scenarios(results: Results) -> list[str]:
    """Return the scenarios in which readers took longer to resume than the limit allows."""
    return [name for name, measured in results.items() if _limit(name, measured).endswith("exceeded")]


def _limit(name: str, measured: Measurements) -> str:
    """Return the limit of a scenario, and whether it was met; a dash if nothing was measured."""
    limit_ms = next(scenario.resume_limit_ms for scenario in SCENARIOS if scenario.name == name)
    p99_ms = _percentile(measured.resume_ms, 99)
    if limit_ms is None or p99_ms is None:
        return "–"
    return f"{limit_ms:,} ms: {'met' if p99_ms <= limit_ms else 'exceeded'}"


def _percentile(times_ms: list[float], percent: int) -> float | None:
    if len(times_ms) < 2:
        return None
    return statistics.quantiles(times_ms, n=100, method="inclusive")[percent - 1]


def _milliseconds(times_ms: list[float], percent: int) -> str:
    """Return a percentile, or a dash if no reader had to resume."""
    time_ms = _percentile(times_ms, percent)
    return "–" if time_ms is None else f"{time_ms:,.0f} ms"


def scenario_table() -> str:
    """Return what happens in each scenario."""
    return _text_table(("scenario", "what happens"), {row.name: row.summary for row in SCENARIOS})


def rule_table() -> str:
    """Return the rules of the checker."""
    rules = {rule.__name__: rule.__doc__ or "" for rule in (*RULES, created_once, *CLIENT_RULES)}
    return _text_table(("rule", "what must hold"), rules)


def _text_table(head: tuple[str, str], rows: dict[str, str]) -> str:
    return "\n".join(f"| {name} | {text} |" for name, text in (head, ("---", "---"), *rows.items()))
