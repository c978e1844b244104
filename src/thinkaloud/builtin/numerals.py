"""Numbers in words, in English and Portuguese: "twenty-four", "cento e vinte e um". Articles stay words."""

import re

_UNITS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen"""
_UNITS_PT = """zero um dois tres quatro cinco seis sete oito nove dez onze doze treze quatorze quinze
    dezesseis dezessete dezoito dezenove"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS_PT = "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa"
_HUNDREDS_PT = "cento duzentos trezentos quatrocentos quinhentos seiscentos setecentos oitocentos novecentos"

_VALUES = {
    **{word: value for words in (_UNITS, _UNITS_PT) for value, word in enumerate(words.split())},
    **{word: 10 * value for words in (_TENS, _TENS_PT) for value, word in enumerate(words.split(), 2)},
    **{word: 100 * value for value, word in enumerate(_HUNDREDS_PT.split(), 1)},
    "cem": 100, "uma": 1, "duas": 2, "catorze": 14, "duzentas": 200,
}  # fmt: skip
_FACTORS = {
    "hundred": 100,
    "thousand": 1000,
    "mil": 1000,
    "million": 10**6,
    "milhao": 10**6,
    "milhoes": 10**6,
}
_ARTICLES = {"one", "um", "uma"}
_JOINERS = {"and", "e"}
_NAMES = "|".join(sorted([*_VALUES, *_FACTORS], key=len, reverse=True))
_RUN = re.compile(rf"(?<![\w'])(?:{_NAMES})(?:[ -](?:(?:and|e) )?(?:{_NAMES}))*(?![\w'])")


def with_digits(text: str) -> str:
    """Returns a normalized text with its numbers in digits."""
    return _RUN.sub(lambda match: _digits(match[0]), text)


def _digits(run: str) -> str:
    words = run.replace("-", " ").split()
    if len(words) == 1 and words[0] in _ARTICLES:
        return run
    numbers: list[list[int]] = []  # each number as its thousands and what is below them
    joined = ""
    written: list[str] = []
    for word in words:
        if word in _JOINERS:
            joined = word
        elif word in _FACTORS:
            _multiply(numbers, written, joined, _FACTORS[word])
            joined = ""
        else:
            _add(numbers, written, joined, _VALUES[word])
            joined = ""
    return "".join(written).format(*(sum(number) for number in numbers))


def _add(numbers: list[list[int]], written: list[str], joined: str, value: int) -> None:
    """Adds a value to the last number if it fits behind it, else begins another number."""
    rest = numbers[-1][1] if numbers else -1
    fits = rest >= 0 and (
        (rest % 100 == 0 and value < 100 and sum(numbers[-1]) > 0)
        or (rest % 100 >= 20 and rest % 10 == 0 and 0 < value < 10)
        or (rest == 0 and value < 1000 and numbers[-1][0] > 0)
    )
    if fits:
        numbers[-1][1] += value
        return
    written.append((f" {joined} " if joined else " ") * bool(numbers) + "{}")
    numbers.append([0, value])


def _multiply(numbers: list[list[int]], written: list[str], joined: str, factor: int) -> None:
    if not numbers:
        _add(numbers, written, joined, 1)
    thousands, rest = numbers[-1]
    numbers[-1] = (
        [thousands, (rest or 1) * factor] if factor == 100 else [thousands + (rest or 1) * factor, 0]
    )
