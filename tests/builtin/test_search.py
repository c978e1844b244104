"""Two thousand random puzzles against a slow second opinion: right, or rightly without a solution."""

from fractions import Fraction
from random import Random

import pytest
from tests.builtin.oracle import makes, reachable, value_of, village

from thinkaloud.builtin import check, solve
from thinkaloud.builtin.concluding import work_out
from thinkaloud.builtin.questions import Island, NumberPuzzle, Told
from thinkaloud.builtin.reaching import search
from thinkaloud.builtin.replaying import Untrue, replay
from thinkaloud.builtin.trace import Combined, Contradicted, Dropped, Exhausted, Found, Stopped
from thinkaloud.builtin.understanding import understand

EN, PT = 0, 1


def puzzle_in(question: str) -> NumberPuzzle | Island:
    asked = understand(question).asked
    assert isinstance(asked, NumberPuzzle | Island), (question, asked)
    return asked


@pytest.mark.parametrize("seed", range(8))
def test_all_numbers_used_with_fractions(seed: int) -> None:
    """1,000 puzzles of four numbers."""
    random = Random(seed)
    for _ in range(125):
        numbers = tuple(sorted(random.randint(1, 10) for _ in range(4)))
        target = random.choice((24, random.randint(1, 100)))
        told = solve(f"make {target} from {' '.join(map(str, numbers))}")
        trace = work_out(NumberPuzzle(target, numbers, True))
        if makes(numbers, target):
            expression, _, reached = told.answer.partition(" = ")
            assert value_of(expression) == int(reached) == target
            assert replay(NumberPuzzle(target, numbers, True), trace) == target
        else:
            assert told.answer.startswith("There is no way"), told.answer
            assert replay(NumberPuzzle(target, numbers, True), trace) is None
            assert isinstance(trace[-1], Exhausted)


@pytest.mark.parametrize("seed", range(4))
def test_some_numbers_used_the_countdown_way(seed: int) -> None:
    """400 puzzles of three to five numbers."""
    random = Random(seed)
    for _ in range(100):
        numbers = tuple(sorted(random.choices((1, 2, 3, 4, 5, 6, 7, 8, 9, 25, 50), k=random.randint(3, 5))))
        target = random.randint(1, 999)
        told = solve(f"chegue a {target} usando {', '.join(map(str, numbers))}")
        result = replay(NumberPuzzle(target, numbers, False), work_out(NumberPuzzle(target, numbers, False)))
        if reachable(numbers, target):
            assert value_of(told.answer.partition(" = ")[0]) == target == result
        else:
            assert told.answer.startswith("Não há como obter"), told.answer
            assert result is None


@pytest.mark.parametrize("seed", range(6))
def test_knights_and_knaves_in_both_languages(seed: int) -> None:
    """600 puzzles, told in English and in Portuguese: the same arrangements fit in both."""
    random = Random(seed)
    for _ in range(100):
        puzzle = village(random)
        fitting = frozenset(frozenset(who for who in fits if fits[who]) for fits in puzzle.fitting)
        for language, question in ((EN, puzzle.english), (PT, puzzle.portuguese)):
            island = puzzle_in(question)
            assert replay(island, work_out(island)) == fitting, question
            answer = solve(question).answer
            if len(fitting) == 1:
                knight = ("is a knight", "é cavaleiro")[language]
                knights = {who for who in puzzle.people if f"{who} {knight}" in answer}
                assert knights == set(*fitting), (question, answer)
            elif fitting:
                assert str(len(fitting)) in answer
            else:
                assert answer.startswith(("This cannot be", "Isto não pode ser")[language])


def test_six_numbers_that_television_made_famous() -> None:
    told = solve("reach 952 from 25 50 75 100 3 6")
    assert value_of(told.answer.partition(" = ")[0]) == 952
    assert check("reach 952 from 25 50 75 100 3 6", "((100 + 6) * 3 * 75 - 50) / 25").right


def test_the_thinking_tells_what_was_tried_and_why_it_was_dropped() -> None:
    told = solve("use 3, 3, 8, 8 to get 24")
    assert told.answer == "8 ÷ (3 − 8 ÷ 3) = 24"
    assert told.thinking[1] == "3 + 3 = 6 leaves 6 8 8; nothing more from these reaches 24 (69 tried)."
    assert told.thinking[-1] == "Found: 8 ÷ (3 − 8 ÷ 3) = 24. Combinations tried: 609."


def test_the_counts_in_the_trace_add_up() -> None:
    """Every combination tried is either a step of the trace or counted in a step that was dropped."""
    trace = work_out(NumberPuzzle(24, (1, 1, 1, 7), True))
    last = trace[-1]
    assert isinstance(last, Exhausted)
    steps = sum(isinstance(step, Combined) for step in trace)
    assert last.tried == steps + sum(step.tried for step in trace if isinstance(step, Dropped))


def test_a_search_that_is_stopped_knows_nothing() -> None:
    """A bound in combinations, not in seconds: the same search stops at the same place everywhere."""
    puzzle = NumberPuzzle(24, (1, 1, 1, 1), True)
    assert list(search(puzzle, 50))[-1] == Stopped(50)
    assert list(search(puzzle, 50)) == list(search(puzzle, 50))
    assert list(search(puzzle, 72))[-1] == Exhausted(72)


def test_a_target_that_is_already_there_takes_no_steps() -> None:
    assert list(search(NumberPuzzle(50, (7, 50, 3), False))) == [Found("50", 0)]
    assert solve("make 7 from 7").answer == "7 = 7"
    assert solve("make 8 from 7").answer.startswith("There is no way")


def test_a_trace_that_lies_is_found_out() -> None:
    puzzle = NumberPuzzle(24, (4, 6), True)
    assert replay(puzzle, (Combined(6, "×", 4, 24, (24,)), Found("6 × 4", 1))) == 24
    for lie in (
        (Combined(6, "×", 4, 25, (25,)),),
        (Combined(6, "×", 5, 30, (30,)),),
        (Combined(6, "×", 4, 24, (4, 24)),),
        (Combined(6, "−", 4, 2, (2,)), Found("6 × 4", 1)),
    ):
        with pytest.raises(Untrue):
            replay(puzzle, lie)


def test_a_contradiction_that_is_none_is_found_out() -> None:
    island = puzzle_in("A says B is a knave. B says we are both knights.")
    assert isinstance(island, Island)
    assert [type(told) for told in island.told] == [Told, Told]
    trace = work_out(island)
    assert replay(island, trace) == {frozenset({"A"})}
    with pytest.raises(Untrue):
        replay(island, (trace[0], Contradicted(0, False, 0)))


def test_a_long_trace_is_told_from_both_ends() -> None:
    people = "ABCDEFGH"
    many = " ".join(f"{me} says exactly 4 of us are knights." for me in people)
    thinking = solve(many).thinking
    assert len(thinking) == 200
    assert "more steps, not told here" in thinking[159]
    assert thinking[-1].strip().startswith(("Everything fits", "Then"))


def test_fractions_are_exact() -> None:
    """1/3 three times is 1: nothing is lost on the way."""
    trace = work_out(NumberPuzzle(24, (3, 3, 8, 8), True))
    values = [step.value for step in trace if isinstance(step, Combined)]
    assert Fraction(8, 3) in values
    assert values[-1] == 24
