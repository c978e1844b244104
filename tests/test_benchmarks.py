"""The benchmarks run, find what they time to be right and answer every question; speed is not judged."""

import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import (
    asking,
    folding,
    keeping,
    reading,
    report,
    searching,
    serving,
    splitting,
    starting,
    watching,
    web_blocks,
    web_session,
)
from benchmarks.rivals import PerCharacter
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[1]
TITLES = [
    reading.TITLE,
    splitting.TITLE,
    folding.TITLE,
    starting.TITLE,
    asking.TITLE,
    keeping.TITLE,
    searching.TITLE,
    serving.TITLE,
    watching.TITLE,
    web_blocks.TITLE,
    web_session.TITLE,
]


def test_a_quick_run_answers_every_question() -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-m", "benchmarks", "--quick"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    headings = [line.removeprefix("### ") for line in ran.stdout.splitlines() if line.startswith("### ")]
    assert headings == ["Goals", *TITLES]


def test_the_page_has_the_figures_of_a_whole_run() -> None:
    page = report.PAGE.read_text("utf-8")
    _, _, rest = page.partition(report.BEGIN)
    figures, found, _ = rest.partition(report.END)
    assert found
    assert [title for title in TITLES if f"### {title}\n" not in figures] == []


def test_figures_are_written_between_their_marks(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n", "utf-8")
    report.write("new", page)
    report.write("newer", page)
    assert page.read_text("utf-8") == f"before\n{report.BEGIN}\n\nnewer\n\n{report.END}\nafter\n"
    page.write_text("no place\n", "utf-8")
    with pytest.raises(SystemExit, match="no place for the figures"):
        report.write("new", page)


@pytest.mark.parametrize("text", ["<<think>a</think>b", "a<thi", "<think>a</thi</think>b", "<think></think>"])
def test_the_state_machine_we_compare_with_is_no_straw_man(text: str) -> None:
    def said(deltas: list[str]) -> list[tuple[str, str]]:
        machine = PerCharacter()
        pieces = [piece for delta in deltas for piece in machine.feed(delta)] + machine.close()
        return [(str(kind), letter) for kind, run in pieces for letter in run]

    for place in range(len(text)):
        assert said([text[:place], text[place:]]) == said([text])
    before, opened, rest = text.partition("<think>")
    thought, _, after = rest.partition("</think>")
    told = {"reasoning": thought, "text": before + after if opened else text}
    for kind, expected in told.items():
        assert "".join(letter for of, letter in said([text]) if of == kind) == expected
