"""The benchmarks run, find what they time to be right and answer every question; speed is not judged."""

import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import (
    ask,
    event_log,
    fold,
    gateways,
    prompt_cache,
    read,
    report,
    search,
    serve,
    split_tags,
    startup,
    tui,
    watchers,
    web_element,
    web_session,
)
from benchmarks.__main__ import FULL, QUICK
from benchmarks.tag_splitters import PerCharacter
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[1]
GROUPS = {
    "responses": [read.TITLE, split_tags.TITLE, fold.TITLE],
    "requests": [startup.TITLE, ask.TITLE, prompt_cache.TITLE],
    "gateway": [event_log.TITLE, search.TITLE, serve.TITLE, gateways.TITLE, watchers.TITLE],
    "screens": [web_element.TITLE, web_session.TITLE, tui.TITLE],
}
"""One process answers several questions: starting it takes as long as most of the answers."""
TITLES = [title for titles in GROUPS.values() for title in titles]


def run_benchmarks(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "benchmarks", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE_S,
        check=False,
    )


@pytest.mark.parametrize("titles", GROUPS.values(), ids=list(GROUPS))
def test_a_quick_run_answers_every_question(titles: list[str]) -> None:
    completed = run_benchmarks("--quick", *titles)
    assert completed.returncode == 0, completed.stderr
    headings = [
        line.removeprefix("### ") for line in completed.stdout.splitlines() if line.startswith("### ")
    ]
    assert headings == ["Goals", *titles]


def test_a_run_without_titles_has_all_of_them() -> None:
    assert [*QUICK] == [*FULL] == TITLES


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no such title"], "unknown benchmark: no such title. Use some of: "),
        (["--write", TITLES[0]], "the page has the figures of a whole run"),
    ],
)
def test_titles_that_cannot_be_are_refused(arguments: list[str], message: str) -> None:
    completed = run_benchmarks(*arguments)
    assert completed.returncode == 2
    assert message in completed.stderr


def test_the_page_has_the_figures_of_a_whole_run() -> None:
    page = report.PAGE.read_text("utf-8")
    _, _, text_from_begin = page.partition(report.BEGIN)
    figures, end_marker, _ = text_from_begin.partition(report.END)
    assert end_marker
    assert [title for title in TITLES if f"### {title}\n" not in figures] == []


def test_figures_are_written_between_their_marks(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n", "utf-8")
    report.write_page("new", page)
    report.write_page("newer", page)
    assert page.read_text("utf-8") == f"before\n{report.BEGIN}\n\nnewer\n\n{report.END}\nafter\n"
    page.write_text("no place\n", "utf-8")
    with pytest.raises(SystemExit, match="no place for the figures"):
        report.write_page("new", page)


@pytest.mark.parametrize("text", ["<<think>a</think>b", "a<thi", "<think>a</thi</think>b", "<think></think>"])
def test_the_state_machine_we_compare_with_is_no_straw_man(text: str) -> None:
    def split_letters(deltas: list[str]) -> list[tuple[str, str]]:
        machine = PerCharacter()
        pieces = [piece for delta in deltas for piece in machine.feed(delta)] + machine.close()
        return [(str(kind), letter) for kind, run in pieces for letter in run]

    for place in range(len(text)):
        assert split_letters([text[:place], text[place:]]) == split_letters([text])
    text_before, opened, after_open = text.partition("<think>")
    thought, _, after = after_open.partition("</think>")
    texts_by_kind = {"reasoning": thought, "text": text_before + after if opened else text}
    for kind, expected in texts_by_kind.items():
        assert "".join(letter for of, letter in split_letters([text]) if of == kind) == expected
