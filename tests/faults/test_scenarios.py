"""One short round of every fault scenario: nothing lost, nothing doubled, every turn ends once."""

import asyncio
import resource
from pathlib import Path

import msgspec
import pytest
from tests.faults.fault_run import GatewaySetup, Load
from tests.faults.history import read_histories
from tests.faults.scenarios import SCENARIOS, Plan, Scenario, run_scenario

LIGHT = Load(turns=6, steady=3, stalled_readers=20, requests=800, kills=4)
BROKEN_LINKS = {
    "reload",
    "reset",
    "black hole",
    "slow link",
    "provider breaks off",
    "provider stalls",
    "provider drips",
    "provider refuses",
    "database reset",
}
"""The scenarios in which a proxy breaks connections in every round."""

LONG = {
    "upload bombs",
    "node kill storm",
    "database slow",
    "database silent",
    "rolling restart",
    "cancel anywhere",
}
"""Scenarios that only `make faults` plays: each takes half a minute."""
SHORT_SCENARIOS = [scenario for scenario in SCENARIOS if scenario.name not in LONG]

pytestmark = pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of others are set on Linux")


@pytest.mark.parametrize("scenario", SHORT_SCENARIOS, ids=lambda scenario: scenario.name.replace(" ", "-"))
def test_fault_scenario_loses_and_doubles_nothing(tmp_path: Path, provider: str, scenario: Scenario) -> None:
    histories = tmp_path / "histories.jsonl"
    plan = Plan(1, LIGHT, another_round=lambda measured, elapsed_s: False, keep=histories)
    # What is imported before a program changes the clock has the true one. A forked process that ends writes
    # what is left of its log, and waits where nobody reads that.
    forked = scenario.setup.program == GatewaySetup().program and not scenario.log_ignored
    setup = msgspec.structs.replace(scenario.setup, forked=forked)
    scenario = msgspec.structs.replace(scenario, setup=setup)
    measured = asyncio.run(run_scenario(scenario, tmp_path / "home", provider, plan))
    assert measured.violations == []
    assert measured.rounds == 1
    assert measured.turns >= min(LIGHT.turns, LIGHT.steady)
    assert measured.entries > measured.turns, "hardly anything was received, so nothing was tried"
    assert measured.kills >= ("kill" in scenario.name)
    assert (measured.faults > 0) or scenario.name not in BROKEN_LINKS
    assert len(list(read_histories(histories))) >= measured.turns
