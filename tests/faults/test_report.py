"""The page about reliability has the rules, the scenarios and the table of a whole run."""

import subprocess
import sys
from datetime import date

import pytest
from tests.faults.checker import Violation
from tests.faults.fault_run import Load, Measurements
from tests.faults.report import PAGE, late_scenarios, report_text, rule_table, scenario_table
from tests.faults.scenarios import SCENARIOS
from tests.gateway.paced_provider import ROOT
from tests.patience import PATIENCE_S


def test_page_shows_the_rules_and_the_scenarios() -> None:
    page = PAGE.read_text("utf-8")
    assert rule_table() in page
    assert scenario_table() in page


def test_page_has_a_row_for_every_scenario() -> None:
    _, _, results = PAGE.read_text("utf-8").partition("<!-- measured: begin -->")
    figures, end_marker, _ = results.partition("<!-- measured: end -->")
    assert end_marker
    assert [scenario.name for scenario in SCENARIOS if f"\n| {scenario.name} | " not in figures] == []


def test_report_counts_violations_and_shows_unknown_times_as_unknown() -> None:
    calm, broken = Measurements(), Measurements()
    broken.rounds, broken.kills, broken.turns, broken.entries = 3, 2, 90, 12_345
    broken.resume_ms = [float(number) for number in range(101)]
    broken.peak_bytes = 100 * 1024 * 1024
    broken.violations = [Violation(rule, "t", "") for rule in ("lost", "lost", "doubled", "ended")]
    text = report_text({"kill": broken, "stop": calm}, seed=7, load=Load(), day=date(2026, 11, 17))
    assert "seed 7" in text
    assert "2 kills, 90 turns, 0 broken connections, 12,345 entries seen, 4 violations." in text
    assert (
        "\n| kill | 3 | 2 | 90 | 12,345 | 2 | 1 | 1 | 50 ms | 99 ms | 5,000 ms: met | – | 100 MiB |" in text
    )
    assert text.endswith("| stop | 0 | 0 | 0 | 0 | 0 | 0 | 0 | – | – | – | – | unknown |")


def test_report_judges_scenarios_by_their_time_limits() -> None:
    slow = Measurements()
    slow.resume_ms = [301.0] * 100
    results = {"reload": slow, "kill": slow, "stop": Measurements()}
    assert "| 301 ms | 300 ms: exceeded |" in report_text(
        results, seed=1, load=Load(), day=date(2026, 11, 17)
    )
    assert late_scenarios(results) == ["reload"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--only", "rain"), "invalid choice: 'rain'"),
        (("--only", "kill", "--write"), "--write needs all scenarios"),
    ],
)
def test_command_refuses_wrong_options(options: tuple[str, ...], message: str) -> None:
    completed = subprocess.run(
        [sys.executable, "-m", "tests.faults", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert completed.returncode == 2
    assert message in completed.stderr
