"""Labelled streams for the loop watcher: streams with loops, and healthy ones that look like loops.

All streams are synthetic and deterministic. A family is a function from a random generator to the text of one
block; its name says what it is. The healthy ones are hard on purpose: a watcher that only counts repetitions
fails on them.
"""

import base64
import json
import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from thinkaloud.agents.watchers import REPEATING, TurnWatcher
from thinkaloud.builtin import solve
from thinkaloud.core.canon import BlockEnded, BlockGrew, BlockStarted, Entry, Event, Kind, ToolFinished
from thinkaloud.core.transcript import Turn, apply

STREAMS_PER_FAMILY = 12
"""Streams of a family."""


class Loop(NamedTuple):
    """A text that loops from some character on."""

    healthy_part: str
    looping_part: str


class Stream(NamedTuple):
    """The text of a model. `onset` is the number of characters before the loop; None without a loop."""

    family: str
    events: tuple[Event, ...]
    onset: int | None = None


def first_notice(stream: Stream) -> int | None:
    """Return the number of characters at the first loop notice; None without one."""
    watch, turn, chars = TurnWatcher(), Turn(), 0
    for seq, event in enumerate(stream.events):
        entry = Entry(seq, event)
        apply(turn, entry)
        chars += len(event.text) if isinstance(event, BlockGrew) else 0
        if any(notice.code == REPEATING for notice in watch.feed(turn, entry)):
            return chars
    return None


def streams() -> Iterator[Stream]:
    """Return all streams, about as many with loops as without."""
    for family, loop in LOOPING.items():
        for dice in _dice(family):
            sample = loop(dice)
            yield Stream(
                family,
                _block_events(sample.healthy_part + sample.looping_part, dice),
                len(sample.healthy_part),
            )
    for family, text in HEALTHY.items():
        for dice in _dice(family):
            yield Stream(family, _block_events(text(dice), dice))
    for dice in _dice("the same call"):
        yield Stream("the same call again and again", _same_calls(dice), 0)
    for dice in _dice("calls that differ"):
        yield Stream("calls that differ", _other_calls(dice))


def _dice(family: str) -> Iterator[random.Random]:
    return (random.Random(f"{family} {number}") for number in range(STREAMS_PER_FAMILY))


def _block_events(text: str, dice: random.Random) -> tuple[Event, ...]:
    kind, deltas, offset = dice.choice([Kind.REASONING, Kind.TEXT]), [], 0
    while offset < len(text):
        size = dice.randint(1, 40)
        deltas.append(BlockGrew(0, text[offset : offset + size]))
        offset += size
    return (BlockStarted(0, kind), *deltas, BlockEnded(0))


# Words to make text of.

_EN = (
    """the model|a careful reader|the second equation|our first guess|the table above|this branch
    |the constraint|one of the factors|the old proof|the remaining case|the smaller triangle
    |what the user wants""",
    """rules out|depends on|is larger than|does not follow from|agrees with|can be rewritten using|hides|needs
    |would contradict|says nothing about|leads back to|is enough for""",
    """the boundary condition|every even number|the last digit|a sum of squares|the given radius
    |that assumption|a shorter route|the original question|the average speed|both sides
    |an integer solution|the next step""",
    "Wait, |So |Hmm, |But then |Let me check: |Now |Perhaps |In other words, |First, |Therefore ",
)
_PT = (
    """o modelo|a segunda equação|o primeiro palpite|a tabela acima|esse ramo|a restrição|um dos fatores
    |a prova|o caso que falta|o triângulo menor|a pergunta original|o relógio da estação""",
    """exclui|depende de|é maior que|não decorre de|concorda com|pode ser escrita com|esconde|precisa de
    |contradiz|não diz nada sobre|leva de volta a|basta para""",
    """a condição de contorno|todo número par|o último algarismo|uma soma de quadrados|o raio dado
    |essa hipótese|um caminho mais curto|a velocidade média|os dois lados
    |uma solução inteira|o próximo passo""",
    "Espera, |Então |Hum, |Mas aí |Vejamos: |Agora |Talvez |Ou seja, |Primeiro, |Portanto ",
)
_ZH = (
    "模型|第二个方程|这个条件|我们的假设|用户的问题|剩下的情况|较小的三角形|上面的表格",
    "排除了|取决于|大于|并不推出|符合|可以改写成|隐藏了|需要",
    "边界条件|所有偶数|最后一位数字|平方和|给定的半径|更短的路线|平均速度|整数解",
)
_WORDS = "the|so|wait|no|answer|yes|and|I|check|number|false|maybe"
_PARAPHRASES = (
    "Wait,|Hmm,|But wait,|Hold on,|No,|Actually,",
    "let me check that again|I should verify this once more|I need to look at it again",
    "to be sure|just in case|before I answer|from the start",
)


def _pick(words: str, dice: random.Random) -> str:
    return " ".join(dice.choice(words.split("|")).split())


def _sentence(dice: random.Random, words: tuple[str, str, str, str] = _EN) -> str:
    subject, verb, noun, opening = words
    sentence = f"{_pick(subject, dice)} {_pick(verb, dice)} {_pick(noun, dice)}"
    if dice.random() < 0.4:
        sentence = f"{dice.choice(opening.split('|'))}{sentence}"
    if dice.random() < 0.3:
        sentence = f"{sentence}, because {_pick(subject, dice)} {_pick(verb, dice)} {_pick(noun, dice)}"
    return f"{sentence[0].upper()}{sentence[1:]}{dice.choice('...?!')}"


def _prose(dice: random.Random, chars: int, words: tuple[str, str, str, str] = _EN) -> str:
    sentences, size = [], 0
    while size < chars:
        sentences.append(_sentence(dice, words) + ("\n\n" if dice.random() < 0.1 else " "))
        size += len(sentences[-1])
    return "".join(sentences)


def _chinese(dice: random.Random) -> str:
    return "".join(_pick(words, dice) for words in _ZH) + dice.choice("。。，？")


def _repeat(unit: str, dice: random.Random, min_chars: int = 6_000) -> str:
    """Repeat the unit until it is long enough for a check."""
    chars = max(min_chars + dice.randrange(4_000), 6 * len(unit))
    return unit * (chars // len(unit) + 1)


def _after_prose(again: str, dice: random.Random) -> Loop:
    return Loop(_prose(dice, dice.randrange(3_000)) if dice.random() < 0.7 else "", again)


# Streams that go round.


def _word(dice: random.Random) -> Loop:
    return _after_prose(
        _repeat(f"{_pick(_WORDS, dice)}{dice.choice([' ', ', ', '. ', chr(10)])}", dice), dice
    )


def _phrase(dice: random.Random) -> Loop:
    words = _sentence(dice).strip(".?!").split()[: dice.randint(2, 6)]
    return _after_prose(_repeat(" ".join(words) + dice.choice([" ", ", ", "\n", "... "]), dice), dice)


def _one_sentence(dice: random.Random) -> Loop:
    return _after_prose(_repeat(_sentence(dice) + dice.choice([" ", "\n", "\n\n"]), dice), dice)


def _paragraph(dice: random.Random) -> Loop:
    return _after_prose(_repeat(_prose(dice, dice.randint(250, 1_200)) + "\n\n", dice), dice)


def _blanks_differ(dice: random.Random) -> Loop:
    unit = _prose(dice, dice.randint(20, 200)).split()
    blanks = [" ", " ", " ", "  ", "\n", "\n\n", " \n  ", "\t"]
    again = "".join(word + dice.choice(blanks) for _ in range(9_000 // len(" ".join(unit))) for word in unit)
    return _after_prose(again, dice)


def _after_long(dice: random.Random) -> Loop:
    return Loop(
        _prose(dice, dice.randint(20_000, 60_000)), _repeat(_prose(dice, dice.randint(30, 400)), dice)
    )


def _portuguese(dice: random.Random) -> Loop:
    again = _repeat(_prose(dice, dice.randint(20, 300), _PT), dice)
    return Loop(_prose(dice, dice.randrange(3_000), _PT), again)


def _chinese_loop(dice: random.Random) -> Loop:
    opening = "".join(_chinese(dice) for _ in range(dice.randrange(150)))
    return Loop(opening, _repeat("".join(_chinese(dice) for _ in range(dice.randint(1, 6))), dice))


def _stutter(dice: random.Random) -> Loop:
    token = dice.choice(
        ["!", "0", "\n", " ", "\t\n", "...", "ha", "的", "<br>", "\\n", "1, ", "| ", "-", "\u200b"]
    )
    return _after_prose(_repeat(token, dice), dice)


def _few_sentences(dice: random.Random) -> Loop:
    known = [_sentence(dice) for _ in range(dice.randint(2, 4))]
    return _after_prose(" ".join(dice.choice(known) for _ in range(11_000 // len(known[0]))), dice)


def _a_word_swapped(dice: random.Random) -> Loop:
    unit = _sentence(dice)
    other = unit.replace(dice.choice(unit.split()), dice.choice(["really", "again", "maybe"]))
    again = (other if dice.random() < 0.1 else unit for _ in range(10_000 // len(unit)))
    return _after_prose(" ".join(again), dice)


def _formulas(dice: random.Random) -> Loop:
    a, b = dice.randint(2, 99), dice.randint(2, 99)
    unit = f"So \\( x = \\frac{{{a}}}{{{b}}} \\), thus \\( {b}x = {a} \\). " + _sentence(dice) + "\n"
    return _after_prose(_repeat(unit, dice), dice)


def _final_answer(dice: random.Random) -> Loop:
    unit = f"**Final Answer**\n\\boxed{{{dice.randint(1, 999)}}}\n\n"
    return _after_prose(_repeat(dice.choice([unit, f"{unit}{_sentence(dice)}\n\n"]), dice), dice)


def _loop_in_a_loop(dice: random.Random) -> Loop:
    unit = f"{dice.choice(['No. ', 'Wait. ', 'Hmm, no. '])}" * dice.randint(3, 60) + _sentence(dice) + " "
    return _after_prose(_repeat(unit, dice), dice)


def _data_forever(dice: random.Random) -> Loop:
    row = {
        "id": dice.randint(1, 99),
        "name": dice.choice(["Ana", "Bo"]),
        "tags": ["a", "b"][: dice.randint(0, 2)],
    }
    line = dice.choice(
        [json.dumps(row) + ",\n", f"    print({row['id']})\n", f"| {row['id']} | {row['name']} |\n"]
    )
    return _after_prose(_repeat(line, dice), dice)


def _very_long_unit(dice: random.Random) -> Loop:
    return _after_prose(_repeat(_prose(dice, dice.randint(2_000, 5_000)), dice), dice)


def _other_words_each_time(dice: random.Random) -> Loop:
    again = (" ".join(_pick(words, dice) for words in _PARAPHRASES) for _ in range(200))
    return _after_prose(". ".join(again), dice)


LOOPING: dict[str, Callable[[random.Random], Loop]] = {
    "one word": _word,
    "a phrase": _phrase,
    "a sentence": _one_sentence,
    "a paragraph": _paragraph,
    "with blanks that differ": _blanks_differ,
    "after long good text": _after_long,
    "in Portuguese": _portuguese,
    "in Chinese": _chinese_loop,
    "one token": _stutter,
    "a few sentences in any order": _few_sentences,
    "a word swapped now and then": _a_word_swapped,
    "formulas": _formulas,
    "the final answer": _final_answer,
    "a loop in a loop": _loop_in_a_loop,
    "data forever": _data_forever,
    "a passage of 2,000 to 5,000 characters": _very_long_unit,
    "the same in other words": _other_words_each_time,
}
HARD = {"a passage of 2,000 to 5,000 characters", "the same in other words"}
"""Families that are not, or not wholly, within what the watcher promises."""


# Healthy streams that look as if they went round.


def _essay(dice: random.Random) -> str:
    return _prose(dice, dice.randint(4_000, 20_000))


def _essay_pt(dice: random.Random) -> str:
    return _prose(dice, dice.randint(4_000, 20_000), _PT)


def _essay_zh(dice: random.Random) -> str:
    return "".join(_chinese(dice) for _ in range(dice.randint(300, 900)))


def _solver(dice: random.Random) -> str:
    numbers = [dice.randint(1, 25) for _ in range(4)]
    asked = [
        f"make {dice.randint(10, 60)} from {' '.join(map(str, numbers))}",
        f"reach {dice.randint(100, 999)} from 25 50 75 {' '.join(map(str, numbers[:3]))}",
        f"faça {dice.randint(10, 60)} com {' '.join(map(str, numbers))}",
    ]
    return "\n".join(line for question in asked for line in solve(question).thinking)


def _search(dice: random.Random) -> str:
    a, b = dice.randint(2, 30), dice.randint(2, 30)
    tried = ((a + step // 20, b + step % 20) for step in range(dice.randint(100, 500)))
    return "\n".join(
        f"try {x} + {y} = {x + y}, too {'small' if x + y < 50 else 'large'}, back" for x, y in tried
    )


def _table(dice: random.Random) -> str:
    columns = dice.randint(3, 8)
    rows = [[dice.choice(["0", "yes", "no", "", "n/a"])] * columns for _ in range(dice.randint(10, 60))]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(["|" + " name |" * columns, "|" + "---|" * columns, *lines])


def _code(dice: random.Random) -> str:
    row = '      <div class="white"></div>\n      <div class="black"></div>\n' * 4
    board = "".join(f'    <div class="row">\n{row}    </div>\n' for _ in range(8))
    tests = "".join(
        f"    def test_{name}(self):\n        self.assertIsNone(run())\n        self.assertIsNone(run())\n\n"
        for name in dice.sample("abcdefghijklmnopqrstuvwxyz", 20)
    )
    closing = "".join("    " * depth + "}\n" for depth in range(12, 0, -1))
    fields = "        public String getName();\n" * dice.randint(2, 12)
    return "".join(dice.sample([board, tests, closing * 3, fields, _prose(dice, 800)], 5))


def _rulers(dice: random.Random) -> str:
    ruler = dice.choice(["-", "=", "~", "* ", "─", "#", "_"]) * dice.randint(60, 400)
    return "\n".join(f"{ruler}\n{_sentence(dice)}\n{ruler}" for _ in range(dice.randint(5, 25)))


def _zeros(dice: random.Random) -> str:
    size = dice.randint(8, 30)
    zeros = json.dumps([[0] * size] * size, indent=dice.choice([None, None, 1]) if size < 12 else None)
    dump = "\n".join(
        f"{16 * row:08x}  " + "00 " * 16 + " |................|" for row in range(dice.randint(5, 80))
    )
    return dice.choice([zeros, dump, ", ".join(["0.0"] * dice.randint(100, 600))]) + "\n" + _prose(dice, 500)


def _false_table(dice: random.Random) -> str:
    size, word = dice.randint(5, 20), dice.choice(["False", "None", "nan", "inf"])
    row = "[" + f"{word}, " * size + "], "
    return f"dp = [{row * size}]\n{_prose(dice, 400)}"


def _lists(dice: random.Random) -> str:
    same = [
        f"- {dice.choice(['Not applicable.', 'See above.', 'Done', 'No change needed.'])}"
    ] * dice.randint(10, 45)
    counted = [f"{number}. Check the next item on the list." for number in range(1, dice.randint(30, 200))]
    boxes = [f"- [ ] {_pick(_EN[2], dice)}" for _ in range(40)]
    return "\n".join(line for part in dice.sample([same, counted, boxes], 3) for line in part)


def _refrain(dice: random.Random) -> str:
    words = dice.choice([_EN, _PT])
    refrain = "\n".join(_sentence(dice, words) for _ in range(dice.randint(2, 4))) + "\n\n"
    verses = ["\n".join(_sentence(dice, words) for _ in range(4)) + "\n\n" + refrain for _ in range(8)]
    return "".join(verses) + refrain[:220] * dice.randint(2, 4)


def _song(dice: random.Random) -> str:
    sung = [f"{dice.choice(['la', 'na', 'ha', 'hey'])} " * dice.randint(8, 90) for _ in range(12)]
    chords = dice.choice(["C G Am F ", "Dm7 G7 Cmaj7 | "]) * dice.randint(4, 40)
    return "\n".join([chords, *(f"{line}\n{_sentence(dice)}" for line in sung), chords])


def _base64(dice: random.Random) -> str:
    noise = base64.b64encode(dice.randbytes(dice.randint(2_000, 6_000))).decode()
    empty = base64.b64encode(bytes(dice.randint(200, 2_000))).decode()
    return f"data:image/bmp;base64,{noise[:1_000]}{empty}{noise[1_000:]}"


def _log(dice: random.Random) -> str:
    hour = dice.randrange(24)
    lines = (
        f"2026-11-16T{hour:02}:{second // 60:02}:{second % 60:02}Z WARN retrying the connection to the queue"
        for second in range(dice.randint(50, 400))
    )
    return "\n".join(lines)


def _true_or_false(dice: random.Random) -> str:
    verdicts = ["The statement is true.", "The statement is false."]
    return "\n".join(dice.choice(verdicts) for _ in range(dice.randint(50, 150)))


def _moves(dice: random.Random) -> str:
    words = dice.choice([["Heads", "Tails"], ["Up", "Down", "Left", "Right"], ["Turn left.", "Go on."]])
    return dice.choice(["\n", ", "]).join(dice.choice(words) for _ in range(dice.randint(100, 300)))


def _hanoi(dice: random.Random) -> str:
    def moves(disks: int, start: str, end: str, spare: str) -> Iterator[str]:
        if disks:
            yield from moves(disks - 1, start, spare, end)
            yield f"Move disk {disks} from peg {start} to peg {end}."
            yield from moves(disks - 1, spare, end, start)

    return "\n".join(moves(dice.randint(3, 8), *"ACB"))


def _checked_again(dice: random.Random) -> str:
    passage = _prose(dice, dice.randint(200, 900))
    twice = passage * dice.randint(2, 3)
    return "".join(f"{_prose(dice, dice.randint(300, 900))}{passage}" for _ in range(8)) + twice


def _csv(dice: random.Random) -> str:
    name = dice.choice(["widget", "gadget"])
    return "\n".join(f"{number},{name},2026-11-16,0,0,0,EUR,open" for number in range(dice.randint(100, 600)))


def _laid_out(dice: random.Random) -> str:
    gap = " " * dice.randint(10, 70)
    lines = (f"{gap}{_pick(_EN[0], dice)}{gap}{_pick(_EN[2], dice)}" for _ in range(60))
    return ("\n" * dice.randint(1, 40)).join(lines)


def _lorem(dice: random.Random) -> str:
    text = (
        "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore."
    )
    return "".join(f"<h2>{_pick(_EN[2], dice)}</h2>\n" + f"<p>{text}</p>\n" * 4 for _ in range(8))


HEALTHY: dict[str, Callable[[random.Random], str]] = {
    "an essay": _essay,
    "an essay in Portuguese": _essay_pt,
    "an essay in Chinese": _essay_zh,
    "the built-in solver's thinking": _solver,
    "a search with other numbers each time": _search,
    "tables": _table,
    "code with repeated lines": _code,
    "rulers": _rulers,
    "zeros": _zeros,
    "a table of one word": _false_table,
    "lists": _lists,
    "poems with refrains": _refrain,
    "songs and chords": _song,
    "base64": _base64,
    "a log": _log,
    "true or false": _true_or_false,
    "coins and moves": _moves,
    "the tower of Hanoi": _hanoi,
    "the same passage checked again": _checked_again,
    "CSV": _csv,
    "laid out with blanks": _laid_out,
    "filler text": _lorem,
}


# Calls of tools, which come back.


def _call_events(calls: list[tuple[str, str, str]]) -> tuple[Event, ...]:
    events: list[Event] = []
    for block, (name, arguments, result) in enumerate(calls):
        events += [BlockStarted(block, Kind.TOOL_CALL, name), BlockGrew(block, arguments), BlockEnded(block)]
        events += [ToolFinished(block, result)]
    return tuple(events)


def _call(dice: random.Random) -> tuple[str, str, str]:
    return dice.choice(["search", "read"]), json.dumps({"q": _pick(_EN[2], dice)}), _sentence(dice)


def _same_calls(dice: random.Random) -> tuple[Event, ...]:
    earlier_calls = [_call(dice) for _ in range(dice.randrange(6))]
    return _call_events([*earlier_calls, *[_call(dice)] * dice.randint(4, 12)])


def _other_calls(dice: random.Random) -> tuple[Event, ...]:
    name, arguments, result = _call(dice)
    polled = [("status", '{"job":7}', f"{percent}% done") for percent in range(0, 100, 10)]
    thrice = [(name, arguments, result)] * 3
    paged = [(name, json.dumps({"page": page}), "no match") for page in range(10)]
    return _call_events(
        [call for part in dice.sample([polled, thrice, paged, [_call(dice)]], 4) for call in part]
    )
