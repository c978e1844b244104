"""A pytest plugin for the second run of failed tests: it names those that pass, in the last lines.

`make test` runs once more, alone, what failed beside other tests. A test that passes only then is not steady.
"""

import os

import pytest

HEADING = "These tests passed only alone: each is a defect, to be fixed at its cause."


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Print the names after everything else, where whoever reads only the end finds them."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    names = [report.nodeid for report in reporter.stats.get("passed", [])]
    if not names:
        return
    reporter.write_line(HEADING, yellow=True)
    for name in names:
        reporter.write_line(f"  {name}", yellow=True)
    if "GITHUB_ACTIONS" in os.environ:  # shown on the page of the run as well, where nobody opens the log
        reporter.write_line(f"::warning title=Not steady::{HEADING}%0A{'%0A'.join(names)}")
