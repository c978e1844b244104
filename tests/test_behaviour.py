"""docs/behaviour.md is whole, up to date, and calls nothing done that no test proves."""

import re
from pathlib import Path

from tests.behaviour import PAGE, Evidence, evidence, fill_page, numbers_in, rows

TEXT = PAGE.read_text("utf-8")
ROWS = rows(TEXT)
EXPECTED = sorted(
    [f"R{number:03}" for number in range(1, 140)]
    + [f"S{number}" for number in range(1, 22)]
    + [f"T{number}" for number in range(1, 8)]
)
STATE = re.compile("done|(?:done; )?to come: Flutter")


def test_every_number_is_on_the_page_once() -> None:
    assert sorted(row.number for row in ROWS) == EXPECTED


def test_every_state_names_missing_surfaces() -> None:
    assert [row for row in ROWS if not STATE.fullmatch(row.state)] == []


def test_what_is_done_is_proved() -> None:
    known = evidence()
    unproved = [
        row.number
        for row in ROWS
        if row.state.startswith("done") and not known.get(row.number, Evidence([], [])).proofs
    ]
    assert not unproved, f"called done, and no test or story proves it: {', '.join(unproved)}"


def test_tests_name_only_numbers_of_the_page() -> None:
    unknown = {number: links for number, links in evidence().items() if number not in EXPECTED}
    assert not unknown


def test_the_page_is_up_to_date() -> None:
    assert fill_page(TEXT, evidence()) == TEXT, "run `make behaviour`"


def test_names_and_leading_numbers_prove_and_others_are_mentioned(tmp_path: Path) -> None:
    (tmp_path / "tests" / "deep").mkdir(parents=True)
    (tmp_path / "stories").mkdir()
    (tmp_path / "tests/deep/test_tags.py").write_text(
        "def test_r018_and_T2(): ...\n"
        "async def test_cuts():\n    '''R019 and R021–R023: any cut. See R024; DeepSeek R1 is no number.'''\n"
        "def help_me():\n    '''R025'''\n"
    )
    (tmp_path / "tests/deep/test_shared_tags.py").write_text("def test_r018(): ...\n")
    (tmp_path / "stories/late.json").write_text('{"proves": ["R018"]}')
    (tmp_path / "stories/list.json").write_text("[]")
    cuts = "[test_tags.py::test_cuts](../tests/deep/test_tags.py)"
    named = "[test_tags.py::test_r018_and_T2](../tests/deep/test_tags.py)"
    shared = "[test_shared_tags.py::test_r018](../tests/deep/test_shared_tags.py)"
    assert evidence(tmp_path) == {
        "R018": Evidence(["[stories/late.json](../stories/late.json)", named], [shared]),
        "R019": Evidence([cuts], []),
        "R021": Evidence([cuts], []),
        "R022": Evidence([cuts], []),
        "R023": Evidence([cuts], []),
        "R024": Evidence([], [cuts]),
        "T2": Evidence([named], []),
    }


def test_number_ranges_are_expanded() -> None:
    assert numbers_in("R120-R122, R004") == {"R004", "R120", "R121", "R122"}


def test_filling_in_keeps_the_promises_and_can_be_repeated() -> None:
    page = "| R001 | Says `a`. | done | old |\n| R002 | More. | done | |\n"
    found = {"R001": Evidence(["[x](y)"], ["[m](n)"])}
    once = fill_page(page, found)
    assert once == "| R001 | Says `a`. | done | [x](y); mentioned in [m](n) |\n| R002 | More. | done | |\n"
    assert fill_page(once, found) == once
