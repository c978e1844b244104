"""Normalization, query parsing and snippets."""

import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tests.linear_time import assert_linear
from wcwidth import iter_graphemes

from thinkaloud.core.canon import Refused
from thinkaloud.gateway.store.search import query as search_query
from thinkaloud.gateway.store.search.find import COMPARED_LENGTH, SNIPPET_LENGTH, make_snippet
from thinkaloud.gateway.store.search.normalize import Word, normalize_text, words
from thinkaloud.gateway.store.search.query import (
    MAX_PHRASES,
    MAX_QUERY_CHARACTERS,
    Phrase,
    find_phrases,
    parse_query,
)

MIXED = st.text(
    st.one_of(
        st.sampled_from(
            'aAbBé çãÃıİßﬁﬂ½①㎏ﷺ"*-_.,()…\n\t\u00a0\u3000\u200b\u200d\u00ad\ufe0f\u0301\u0327\u0345'
        ),
        st.sampled_from("中文字かがカガｶﾞﾊﾟ한글각ᄀ\u1161\u11a8👍🏽👩👧🇧🇷❤№ΣσςὈᾳ\U0001d400"),
        st.sampled_from("ก\u0e33\u0e34\u09bcহন\u09cdहन\u093f\u093e\u0940א\u05b8ب\u064eأ"),
        st.characters(),
    ),
    max_size=60,
)


@given(MIXED)
@example("\u0301a")
@example("a \u200d👍🏽")
def test_normalized_text_is_the_words_joined(text: str) -> None:
    """`normalize_text` translates whole stretches; `words` looks at each character."""
    assert normalize_text(text) == " ".join(word.text for word in words(text))


def test_every_code_point_is_normalized_like_its_words() -> None:
    for first in range(0, 0x20000, 64):
        text = " ".join(f"a{chr(code)}é" for code in range(first, first + 64))
        assert normalize_text(text) == " ".join(word.text for word in words(text)), hex(first)


def test_text_without_spaces_is_normalized_in_linear_time() -> None:
    """Also with marks at every other character."""
    for letters in ("中文字漢", "กิข้", "a\u0301b\u0302"):
        assert_linear(partial(_normalize_repeated, letters), 10_000)


def _normalize_repeated(letters: str, size: int) -> Callable[[], str]:
    return partial(normalize_text, letters * size)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Ação, JÁ!", "acao ja"),
        ("a\u0327c\u0303a\u0303o", "acao"),
        ("Straße ﬁn ½ ①", "strasse fin 1 2 1"),
        ("ΣΊΣΥΦΟΣ ᾳ", "σισυφοσ α"),
        ("Łódź Ørsted İstanbul ısı Æsir", "lodz orsted istanbul isi aesir"),
        ("Việt Đường", "viet duong"),
        ("ＡＢＣ ｶﾞｷﾞ", "abc ガ ギ"),
        ("中文Word漢字", "中 文 word 漢 字"),
        ("한글\u1112\u1161\u11ab", "한 글 한"),
        ("がか", "が か"),
        ("สวัสดี", "ส ว ั ส ด ี"),
        ("हिन्दी में", "हिन्दी में"),
        ("שָׁלוֹם مُحَمَّد أحمد", "שלום محمد احمد"),
        ("👍🏽 ❤️ 👩‍👧 🇧🇷", "👍 🏽 ❤ 👩 👧 🇧 🇷"),
        ("snake_case foo-bar x.y", "snake case foo bar x y"),
        ("co\u00adoperate one\u200btwo", "cooperate one two"),
        ("C++ │ ── © \x00 \x1b[31m", "c 31m"),
        ("\ud800a\udfff", "a"),
        ("", ""),
    ],
)
def test_normalization_removes_case_accents_and_width(text: str, folded: str) -> None:
    assert normalize_text(text) == folded


@given(MIXED)
def test_normalization_is_idempotent(text: str) -> None:
    assert normalize_text(normalize_text(text)) == normalize_text(text)


@given(MIXED)
def test_unicode_forms_normalize_to_the_same_text(text: str) -> None:
    assert normalize_text(unicodedata.normalize("NFC", text)) == normalize_text(text)
    assert normalize_text(unicodedata.normalize("NFD", text)) == normalize_text(text)


@given(MIXED, st.sampled_from([" ", "\n", "\u3000"]))
def test_spaces_separate_words(text: str, space: str) -> None:
    """The words on one side of a space do not depend on the other side."""
    assert normalize_text(text + space + text) == f"{normalize_text(text)} {normalize_text(text)}".strip()


@given(MIXED)
def test_words_have_their_range_in_the_text(text: str) -> None:
    found_words = list(words(text))
    assert " ".join(word.text for word in found_words) == normalize_text(text)
    for word in found_words:
        assert 0 <= word.start < word.end <= len(text)
        assert word.text in normalize_text(text[word.start : word.end]).split()
        assert not any(
            letter.isspace() or (letter.isascii() and not letter.isalnum()) for letter in word.text
        )
    assert all(one.start <= other.start and one.end <= other.end for one, other in pairwise(found_words))


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("Apples pears", [("apples",), ("pears",)]),
        ("apples APPLES", [("apples",)]),
        ('"big Apples" pears', [("big", "apples"), ("pears",)]),
        ('"big apples', [("big", "apples")]),
        ("foo-bar", [("foo", "bar")]),
        ("中文 ação", [("中", "文"), ("acao",)]),
        ("- AND & one", [("and",), ("one",)]),
        ('say"hi"now', [("say",), ("hi",), ("now",)]),
        ("NEAR(one two)", [("near", "one"), ("two",)]),
    ],
)
def test_query_is_parsed_into_words_and_phrases(typed: str, wanted: list[tuple[str, ...]]) -> None:
    assert [phrase.words for phrase in parse_query(typed)] == wanted
    assert not any(phrase.prefix for phrase in parse_query(typed))


def test_star_makes_a_prefix_search() -> None:
    assert parse_query("App* pe") == (Phrase(("app",), prefix=True), Phrase(("pe",)))
    assert parse_query('"big app"*') == (Phrase(("big", "app"), prefix=True),)
    assert parse_query("a*b *cd") == (Phrase(("a", "b")), Phrase(("cd",)))
    assert parse_query("中*") == (Phrase(("中",)),)
    with pytest.raises(Refused, match="at least 2 letters"):
        parse_query("a*")


@pytest.mark.parametrize("typed", ["", " ", "-", '""', "*", '"*"', "\x00", "… — !"])
def test_query_without_words_is_refused(typed: str) -> None:
    with pytest.raises(Refused, match="search has no word"):
        parse_query(typed)


def test_query_size_is_limited() -> None:
    with pytest.raises(Refused, match="at most 1000 characters"):
        parse_query("x" * (MAX_QUERY_CHARACTERS + 1))
    with pytest.raises(Refused, match="at most 32 words and phrases"):
        parse_query(" ".join(f"w{at}" for at in range(MAX_PHRASES + 1)))
    assert len(parse_query(" ".join(f"w{at}" for at in range(MAX_PHRASES)))) == MAX_PHRASES


def matched_texts(text: str, typed: str) -> list[str]:
    return [text[start:end] for start, end in find_phrases(text, parse_query(typed))]


def test_phrase_ranges_refer_to_the_original_text() -> None:
    assert matched_texts("A ação, Ações e REAÇÃO: acao", "ação") == ["ação", "acao"]
    assert matched_texts("ﬁn de siècle", "fin") == ["ﬁn"]
    assert matched_texts("中文字典", "文字") == ["文字"]
    assert matched_texts("the\n\n  end. The end", '"the end"') == ["the\n\n  end", "The end"]
    assert matched_texts("apples app applied", "appl*") == ["apples", "applied"]
    assert matched_texts("½ cup", '"1 2 cup"') == ["½ cup"]
    assert matched_texts("one two", "two one") == ["one", "two"]
    assert matched_texts("bone", "one") == []


def test_snippet_shows_the_first_match_and_marks_all_near_it() -> None:
    text = "Lorem ipsum " * 40 + "the\n\tneedle   in hay, a NEEDLE " + "dolor sit " * 40 + "needle"
    shown, marks = make_snippet(text, parse_query("needle hay"))
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert "the needle in hay, a NEEDLE dolor" in shown
    assert [shown[start:end] for start, end in marks] == ["needle", "hay", "NEEDLE"]


def test_snippet_shows_the_query_in_its_order_before_other_places_of_its_words() -> None:
    text = " ".join(f"Take option {number} or leave it, for nobody minds." for number in range(60))
    shown, marks = make_snippet(text, parse_query("option 47"))
    assert "option 47 or" in shown
    assert "47" in [shown[start:end] for start, end in marks]
    shown, _ = make_snippet(text, parse_query("leave 47"))
    assert "option 47 or leave" in shown, "the place with the most words"
    shown, _ = make_snippet(text, parse_query("option elsewhere"))
    assert shown.startswith("Take option 0")


def test_snippet_of_a_long_text_is_read_once_and_not_far_after_the_first_match(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reads = 0

    def counted(text: str) -> Iterator[Word]:
        nonlocal reads
        for word in words(text):
            reads += 1
            yield word

    monkeypatch.setattr(search_query, "words", counted)
    before, compared = 200_000, COMPARED_LENGTH // len("hay ")
    text = "hay " * before + "needle one " + "hay " * before + "needle two "
    shown, _ = make_snippet(text, [Phrase(("needle",)), Phrase(("two",))])
    assert "needle one" in shown
    assert reads < before + compared + 1_000


def test_snippet_of_a_short_text_is_the_whole_text() -> None:
    assert make_snippet("  one\n two ", parse_query("two")) == ("one two", ((4, 7),))
    assert make_snippet("one two three", parse_query('two "one two" three')) == (
        "one two three",
        ((0, 7), (8, 13)),
    )
    assert make_snippet("nothing here", parse_query("gone")) == ("nothing here", ())


def test_snippet_without_spaces_is_cut_between_characters() -> None:
    family = "👩\u200d👩\u200d👧"
    text = family * 60 + "中" + family * 60
    shown, marks = make_snippet(text, parse_query("中"))
    assert [shown[start:end] for start, end in marks] == ["中"]
    assert set(iter_graphemes(shown)) == {family, "中", "…"}


def test_match_longer_than_the_snippet_is_marked_to_its_end() -> None:
    text = "start " + "x" * 500 + " end"
    shown, marks = make_snippet(text, parse_query('"start ' + "x" * 500 + '"'))
    assert len(shown) <= SNIPPET_LENGTH + 2
    assert marks == ((0, len(shown) - 1),)


@given(MIXED, MIXED, MIXED, st.integers(0, 3))
@example("e\u0301" * 60, "n", "", 0)
@example("ﷺ" * 40, "word", "\u0301 ½ ﬁ", 1)
def test_marks_cover_the_match_when_normalization_changes_lengths(
    text_before: str, query: str, text_after: str, gaps: int
) -> None:
    """Normalization makes text longer and shorter; marks refer to the original text."""
    text = (text_before + " \n" * gaps) * 3 + " " + query + " " + text_after * 3
    query_words = normalize_text(query).split()
    assume(query_words)
    phrases = parse_query('"' + " ".join(query_words) + '"')
    snippet_text, marks = make_snippet(text, phrases)
    plain = " ".join(text.split())
    assert snippet_text.removeprefix("…").removesuffix("…") in plain
    assert len(snippet_text) <= SNIPPET_LENGTH + 2
    assert marks
    assert all(start < end for start, end in marks)
    assert all(one[1] < other[0] for one, other in pairwise(marks))
    assert marks[-1][1] <= len(snippet_text)
    for start, end in marks:
        inside = normalize_text(snippet_text[start:end])
        cut = end >= len(snippet_text) - 1
        assert " ".join(query_words) in inside or cut


@given(
    st.lists(st.sampled_from(["a", "b", "ab", "cd", "中", "文", "é", "\n", "", "-", "½"]), max_size=40),
    st.data(),
)
def test_phrase_ranges_are_exactly_the_matching_words(chunks: list[str], data: st.DataObject) -> None:
    """Compared with a plain search for the normalized phrase."""
    text = " ".join(chunks)
    text_words = [word.text for word in words(text)]
    assume(text_words)
    at = data.draw(st.integers(0, len(text_words) - 1))
    phrase = tuple(text_words[at : at + data.draw(st.integers(1, 3))])
    runs = [
        (list(words(text))[start].start, list(words(text))[start + len(phrase) - 1].end)
        for start in range(len(text_words) - len(phrase) + 1)
        if tuple(text_words[start : start + len(phrase)]) == phrase
    ]
    assert list(find_phrases(text, [Phrase(phrase)])) == runs
