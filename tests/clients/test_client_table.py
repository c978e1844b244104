"""The table of clients in the guide is the one that `make clients` checks."""

from tests.clients.client_programs import GUIDE, PROGRAMS, guide_with_part


def test_table_of_clients_is_current() -> None:
    guide = GUIDE.read_text("utf-8")
    assert guide == guide_with_part(guide), "run `python -m tests.clients.client_programs --write`"


def test_recipes_are_short() -> None:
    assert all(len(program.recipe.splitlines()) <= 3 for program in PROGRAMS)
