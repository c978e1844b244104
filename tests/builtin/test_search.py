"""Random puzzles against a slow oracle: solved, or correctly without a solution."""

from fractions import Fraction
from random import Random

import pytest
from tests.builtin.oracle import makes, reachable, value_of, village
from tests.builtin.replay import FalseStep, replay

from thinkaloud.builtin import check, solve
from thinkaloud.builtin.skills.knights import Contradicted, KnightsPuzzle, Statement
from thinkaloud.builtin.skills.number_puzzle import Combined, Dropped, Exhausted, Found, NumberPuzzle, Stopped
from thinkaloud.builtin.solver import parse

EN, PT = 0, 1


def puzzle_in(question: str) -> NumberPuzzle | KnightsPuzzle:
    puzzle = parse(question).question
    assert isinstance(puzzle, NumberPuzzle | KnightsPuzzle), (question, puzzle)
    return puzzle


@pytest.mark.some_cases(3)
@pytest.mark.parametrize("seed", range(8))
def test_all_numbers_used_with_fractions(seed: int) -> None:
    """400 puzzles of four numbers, in all seeds."""
    random = Random(seed)
    for _ in range(50):
        numbers = tuple(sorted(random.randint(1, 10) for _ in range(4)))
        target = random.choice((24, random.randint(1, 100)))
        reply = solve(f"make {target} from {' '.join(map(str, numbers))}")
        puzzle = NumberPuzzle(target, numbers, True)
        if makes(numbers, target):
            expression, _, reached = reply.answer.partition(" = ")
            assert value_of(expression) == int(reached) == target
            assert replay(puzzle) == target
        else:
            assert reply.answer.startswith("There is no way"), reply.answer
            assert replay(puzzle) is None
            assert isinstance([*puzzle.steps()][-1], Exhausted)


@pytest.mark.some_cases(2)
@pytest.mark.parametrize("seed", range(4))
def test_countdown_with_some_numbers_used(seed: int) -> None:
    """400 puzzles of three to five numbers, in all seeds."""
    random = Random(seed)
    for _ in range(100):
        numbers = tuple(sorted(random.choices((1, 2, 3, 4, 5, 6, 7, 8, 9, 25, 50), k=random.randint(3, 5))))
        target = random.randint(1, 999)
        reply = solve(f"chegue a {target} usando {', '.join(map(str, numbers))}")
        result = replay(NumberPuzzle(target, numbers, False))
        if reachable(numbers, target):
            assert value_of(reply.answer.partition(" = ")[0]) == target == result
        else:
            assert reply.answer.startswith("Não há como obter"), reply.answer
            assert result is None


@pytest.mark.some_cases(2)
@pytest.mark.parametrize("seed", range(6))
def test_knights_and_knaves_in_both_languages(seed: int) -> None:
    """600 puzzles in all seeds, in English and in Portuguese: the same arrangements fit in both."""
    random = Random(seed)
    for _ in range(100):
        puzzle = village(random)
        fitting = frozenset(frozenset(who for who in fits if fits[who]) for fits in puzzle.fitting)
        for language, question in ((EN, puzzle.english), (PT, puzzle.portuguese)):
            island = puzzle_in(question)
            assert replay(island) == fitting, question
            answer = solve(question).answer
            if len(fitting) == 1:
                knight = ("is a knight", "é cavaleiro")[language]
                knights = {who for who in puzzle.people if f"{who} {knight}" in answer}
                assert knights == set(*fitting), (question, answer)
            elif fitting:
                assert str(len(fitting)) in answer
            else:
                assert answer.startswith(("This cannot be", "Isto não pode ser")[language])


def test_countdown_with_six_numbers() -> None:
    reply = solve("reach 952 from 25 50 75 100 3 6")
    assert value_of(reply.answer.partition(" = ")[0]) == 952
    assert check("reach 952 from 25 50 75 100 3 6", "((100 + 6) * 3 * 75 - 50) / 25").right


def test_thinking_shows_what_was_tried_and_why_it_was_dropped() -> None:
    reply = solve("use 3, 3, 8, 8 to get 24")
    assert reply.answer == "8 ÷ (3 − 8 ÷ 3) = 24"
    assert reply.thinking[1] == "3 + 3 = 6 leaves 6 8 8; nothing more from these reaches 24 (69 tried)."
    assert reply.thinking[-1] == "Found after 608 combinations: 8 ÷ (3 − 8 ÷ 3) = 24."


def test_the_counts_in_the_trace_add_up() -> None:
    """Every combination tried is either a step of the trace or counted in a step that was dropped."""
    trace = tuple(NumberPuzzle(24, (1, 1, 1, 7), True).steps())
    last = trace[-1]
    assert isinstance(last, Exhausted)
    steps = sum(isinstance(step, Combined) for step in trace)
    assert last.tried == steps + sum(step.tried for step in trace if isinstance(step, Dropped))


def test_a_stopped_search_has_no_conclusion() -> None:
    """A bound in combinations, not in seconds: the same search stops at the same place everywhere."""
    puzzle = NumberPuzzle(24, (1, 1, 1, 1), True)
    assert list(puzzle.steps(50))[-1] == Stopped(50)
    assert list(puzzle.steps(50)) == list(puzzle.steps(50))
    assert list(puzzle.steps(72))[-1] == Exhausted(72)


def test_a_target_among_the_numbers_takes_no_steps() -> None:
    assert list(NumberPuzzle(50, (7, 50, 3), False).steps()) == [Found("50", 0)]
    assert solve("make 7 from 7").answer == "7 = 7"
    assert solve("make 8 from 7").answer.startswith("There is no way")


def test_replay_detects_a_false_step() -> None:
    puzzle = NumberPuzzle(24, (4, 6), True)
    assert replay(puzzle, (Combined(6, "×", 4, 24, (24,)), Found("6 × 4", 1))) == 24
    for false_trace in (
        (Combined(6, "×", 4, 25, (25,)),),
        (Combined(6, "×", 5, 30, (30,)),),
        (Combined(6, "×", 4, 24, (4, 24)),),
        (Combined(6, "−", 4, 2, (2,)), Found("6 × 4", 1)),
    ):
        with pytest.raises(FalseStep):
            replay(puzzle, false_trace)


def test_replay_detects_a_false_contradiction() -> None:
    island = puzzle_in("A says B is a knave. B says we are both knights.")
    assert isinstance(island, KnightsPuzzle)
    assert [type(statement) for statement in island.statements] == [Statement, Statement]
    trace = tuple(island.steps())
    assert replay(island, trace) == {frozenset({"A"})}
    with pytest.raises(FalseStep):
        replay(island, (trace[0], Contradicted(0, False, 0)))


def test_a_long_trace_is_cut_in_the_middle() -> None:
    people = "ABCDEFGH"
    many = " ".join(f"{me} says exactly 4 of us are knights." for me in people)
    thinking = solve(many).thinking
    assert len(thinking) == 200
    assert "more steps, not told here" in thinking[159]
    assert thinking[-1].startswith("All arrangements of 8 people are tried: ")


def test_fractions_are_exact() -> None:
    """Nothing is rounded on the way."""
    trace = tuple(NumberPuzzle(24, (3, 3, 8, 8), True).steps())
    values = [step.value for step in trace if isinstance(step, Combined)]
    assert Fraction(8, 3) in values
    assert values[-1] == 24
