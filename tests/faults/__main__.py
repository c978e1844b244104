"""`python -m tests.faults` plays fault scenarios against real gateway processes and prints a table.

It exits with 1 if a rule was broken. The seed decides which faults are tried; the exact moments depend on the
machine. `--keep FOLDER` writes what every reader received, for `python -m tests.faults.checker`.
"""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from benchmarks.report import write_page
from tests.faults.fault_run import Load, Measurements
from tests.faults.report import PAGE, Results, late_scenarios, report_text
from tests.faults.scenarios import SCENARIOS, Plan, Scenario, run_scenario
from tests.gateway.paced_provider import run_provider

KILLS = ("kill", "node kill")
STORMS = ("kill storm", "node kill storm")
"""Scenarios that are played for a number of kills, and not for some minutes."""
SHOWN_VIOLATIONS = 20


def main() -> int:
    """Play the chosen scenarios and print the table."""
    options = _parse_options()
    os.environ.pop("THINKALOUD_MODEL", None)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # no gateway is left behind
    scenarios = [scenario for scenario in SCENARIOS if scenario.name in options.only or not options.only]
    results = _read_results(options.results)
    with run_provider() as provider, tempfile.TemporaryDirectory(prefix="faults-") as folder:
        for scenario in scenarios:
            print(f"playing: {scenario.name}: {scenario.summary}", file=sys.stderr, flush=True)
            measured = _play(scenario, provider, Path(folder), options, len(scenarios))
            if scenario.name in results:
                measured.add(results[scenario.name])
            results[scenario.name] = measured
            if options.results is not None:
                options.results.write_bytes(msgspec.json.encode(results))
    results = {scenario.name: results[scenario.name] for scenario in SCENARIOS if scenario.name in results}
    report = report_text(
        results, seed=options.seed, load=Load(turns=options.turns), day=datetime.now(UTC).date()
    )
    print(report)
    if options.write:
        write_page(report, PAGE)
    violated = _print_violations(results)
    late = late_scenarios(results)
    if late:
        print(f"slower than the limit: {', '.join(late)}", file=sys.stderr)
    return int(violated or (options.times and bool(late)))


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add_option = parser.add_argument
    add_option("--seed", type=int, default=1, metavar="N", help="which faults are tried (default: 1)")
    add_option(
        "--kills", type=int, default=20, metavar="N", help="of `kill` and `node kill` each (default: 20)"
    )
    add_option("--storm", type=int, default=480, metavar="N", help="kills of each kill storm (default: 480)")
    add_option(
        "--minutes", type=float, default=6, metavar="M", help="for all other scenarios together (default: 6)"
    )
    add_option("--turns", type=int, default=30, metavar="N", help="turns at the same time (default: 30)")
    add_option(
        "--only",
        action="append",
        default=[],
        choices=[scenario.name for scenario in SCENARIOS],
        metavar="NAME",
        help="play this scenario only; can be repeated: "
        + ", ".join(scenario.name for scenario in SCENARIOS),
    )
    add_option("--keep", type=Path, metavar="FOLDER", help="write the histories to files in this folder")
    add_option(
        "--times",
        action="store_true",
        help="exit with 1 also if readers resume too late; needs a machine that does nothing else",
    )
    add_option(
        "--results",
        type=Path,
        metavar="FILE",
        help="add to the measurements in this file, so that a long run can be made in parts",
    )
    add_option("--write", action="store_true", help="put the table on docs/reliability.md")
    options = parser.parse_args()
    played = {*options.only, *_read_results(options.results)}
    if options.write and options.only and played != {scenario.name for scenario in SCENARIOS}:
        parser.error("--write needs all scenarios. Leave out --only, or add to --results of the others.")
    return options


def _read_results(path: Path | None) -> Results:
    """Return the measurements of earlier runs."""
    if path is None or not path.exists():
        return {}
    return msgspec.json.decode(path.read_bytes(), type=Results)


def _play(
    scenario: Scenario, provider: str, folder: Path, options: argparse.Namespace, count: int
) -> Measurements:
    """Play one scenario: a number of kills, or a share of the minutes."""
    share_s: float = options.minutes * 60 / max(count - len(KILLS) - len(STORMS), 1)

    def another_round(measured: Measurements, elapsed_s: float) -> bool:
        if scenario.name in (*KILLS, *STORMS):
            most: int = options.storm if scenario.name in STORMS else options.kills
            return measured.kills < most
        return elapsed_s + elapsed_s / measured.rounds < share_s

    file_name = scenario.name.replace(" ", "-")
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
    keep = None if options.keep is None else options.keep / f"{file_name}.jsonl"
    plan = Plan(options.seed, Load(turns=options.turns), another_round, keep)
    return asyncio.run(run_scenario(scenario, folder / file_name, provider, plan))


def _print_violations(results: Results) -> bool:
    """Print the first violations of each scenario, and return whether there are any."""
    for name, measured in results.items():
        for violation in measured.violations[:SHOWN_VIOLATIONS]:
            print(f"{name}: {violation.rule}: {violation.where}: {violation.detail}", file=sys.stderr)
    return any(measured.violations for measured in results.values())


if __name__ == "__main__":
    sys.exit(main())
