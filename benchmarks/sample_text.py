"""Text for benchmarks: always the same, with the features of real text.

It has quotes, backslashes, line breaks, characters of two to four bytes, and `<` that starts no tag.
"""

import random

_VOCABULARY = """
the of and a to in is so that it we check first then sum total value because therefore however step answer
number equals plus minus if not but maybe wait let me think again "yes" a<b {x:1} C:\\tmp café naïve → — 数字
次 42 3.14 one two three; done. fine, ok: 😀 [1,2]
"""


def words(count: int, seed: int) -> list[str]:
    """Deltas of one word each, as a model sends them."""
    chosen = random.Random(seed).choices(_VOCABULARY.split(), k=count)
    return [f"{word}\n" if index % 29 == 28 else f" {word}" for index, word in enumerate(chosen)]


def prose(length: int) -> str:
    """A text of exactly this length, without tags."""
    line = "".join(words(2_000, seed=3))
    return (line * (length // len(line) + 1))[:length]
