"""Workspace isolation: three users in two workspaces never see or change data of others."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test as run_machine
from tests.postgres_server import shared_server
from tests.safety.gateway_under_test import GatewayUnderTest, run_gateway
from tests.safety.workspace_machine import WorkspaceMachine
from tests.store.engines import migrated_template


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayUnderTest]:
    with run_gateway(tmp_path_factory.mktemp("foreigners")) as gateway:
        yield gateway


OWN_OR_NOT = (
    "rename",
    "delete",
    "ask",
    "cancel",
    "read a turn",
    "read a session",
    "export",
    "change an agent",
    "look at an agent",
    "delete an agent",
    "use an agent",
)
EXPECTED_ACTIONS = {
    *(f"{name}, {ownership}" for name in OWN_OR_NOT for ownership in ("own", "foreign")),
    *("bring a file", "found something", "go on with a cursor"),
    *("call an agent, foreign", "go elsewhere, foreign"),
}
"""The actions that all runs together must have tried."""
LIMITS = settings(
    max_examples=20 if "ALL_CASES" in os.environ else 10,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],  # to make a failing story shorter takes minutes over HTTP
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


def test_workspaces_are_isolated(gateway: GatewayUnderTest) -> None:
    """S6, S7: streams, sessions, turns, agents, search, files, preferences and cursors of three users."""
    WorkspaceMachine.gateway = gateway
    WorkspaceMachine.action_counts.clear()
    run_machine(WorkspaceMachine, settings=LIMITS)
    assert {name for name, times in WorkspaceMachine.action_counts.items() if times} == EXPECTED_ACTIONS


def test_workspaces_are_isolated_over_two_gateways_on_postgres(monkeypatch: pytest.MonkeyPatch) -> None:
    """S6, S7: the same over two gateways on one PostgreSQL; each request goes to the other one."""
    name = shared_server().new_database(migrated_template())
    url = shared_server().url(name)
    with run_gateway(url) as first, run_gateway(url) as second:
        monkeypatch.setattr(WorkspaceMachine, "gateway", first, raising=False)
        monkeypatch.setattr(WorkspaceMachine, "other_gateway", second)
        WorkspaceMachine.action_counts.clear()
        run_machine(WorkspaceMachine, settings=settings(LIMITS, max_examples=2))
        tried = [name.rpartition(", ")[2] for name, times in WorkspaceMachine.action_counts.items() if times]
        assert tried.count("own") > 3
        assert tried.count("foreign") > 3
    shared_server().drop_database(name)
