"""The report of benchmarks as Markdown: tables, goals, and their place on the page."""

import os
import platform
from collections.abc import Iterable, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
BEGIN = "<!-- measured: begin -->"
END = "<!-- measured: end -->"


class Goal(NamedTuple):
    """A goal, the measured value, and whether it is met."""

    promise: str
    measured: str
    met: bool


class Section(NamedTuple):
    """The results of one benchmark."""

    title: str
    body: str
    goals: tuple[Goal, ...] = ()


class WrongAnswer(Exception):
    """A measured function returned a wrong result, so its time means nothing."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others are numbers."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def machine() -> str:
    """The Python version and machine, without names."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    cores = os.cpu_count() or 1
    return (
        f"{python}, msgspec {version('msgspec')}; "
        f"{platform.system()} {platform.machine()}, {cores} core{'s' * (cores > 1)}"
    )


def load() -> str:
    """How busy the machine is, so that a reader can tell a quiet run from one beside other work."""
    if not hasattr(os, "getloadavg"):
        return "The load of the machine is not known."
    return f"Load average at the end of the run, its own work included: {os.getloadavg()[2]:.1f}."


def report_text(sections: Sequence[Section]) -> str:
    """The whole report."""
    goals = [goal for section in sections for goal in section.goals]
    goal_table = table(
        ("goal", "measured", "met"),
        ((goal.promise, goal.measured, "yes" if goal.met else "**no**") for goal in goals),
    )
    parts = [f"Measured on {date.today()} with {machine()}. {load()}", f"### Goals\n\n{goal_table}"]
    parts += [f"### {section.title}\n\n{section.body}" for section in sections]
    return "\n\n".join(parts)


def write_page(report: str, page: Path = PAGE) -> None:
    """Write the report to its place on the page."""
    text_before, _, text_from_begin = page.read_text("utf-8").partition(BEGIN)
    _, end_marker, text_after = text_from_begin.partition(END)
    if not end_marker:
        raise SystemExit(f"{page.name} has no place for the figures: {BEGIN} ... {END}")
    page.write_text(f"{text_before}{BEGIN}\n\n{report}\n\n{END}{text_after}", "utf-8")
