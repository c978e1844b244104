"""Words, plurals, numbers and times, in both languages."""

import re
from pathlib import Path
from string import Formatter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import thinkaloud.core.view
from thinkaloud.core.canon import UnknownLocale
from thinkaloud.core.view import LOCALES, Words
from thinkaloud.core.view.locales import EN_US, PT_BR, Plural

EN, PT = Words("en-US"), Words("pt-BR")

FIXED = """
ai.thinking.streaming        | Thinking...            | Pensando...
ai.thinking.complete         | Thought for {duration} | Pensou por {duration}
ai.thinking.words            | {n} words              | {n} palavras
ai.thinking.status.thinking  | Thinking…              | Pensando…
ai.thinking.status.done      | Done                   | Concluído
ai.thinking.status.error     | Failed                 | Falhou
ai.thinking.tools            | {n} tools used         | {n} ferramentas usadas
ai.thinking.working          | {name} is working…     | {name} está trabalhando…
ai.thinking.expand           | (click to expand)      | (clique para expandir)
ai.thinking.blocks_shown     | Thinking blocks: shown | Blocos de pensamento: visíveis
ai.thinking.blocks_hidden    | Thinking blocks: hidden | Blocos de pensamento: ocultos
ai.thinking.enable           | Enable thinking        | Ativar pensamento
ai.thinking.complete_unknown | Thought                | Pensou
"""


@pytest.mark.parametrize("row", FIXED.strip().splitlines())
def test_fixed_strings_are_verbatim(row: str) -> None:
    """R078, R098, R103, R110, R116, R126, R127, R128, R129: strings that the requirements fix."""
    key, english, portuguese = (cell.strip() for cell in row.split("|"))
    assert _other(EN_US.words[key]) == english
    assert _other(PT_BR.words[key]) == portuguese


def test_the_reasoning_only_notice_is_verbatim() -> None:
    """R027: the exact sentence."""
    text = EN.text("ai.notice.reasoning_only")
    assert text == "Model provided reasoning but no response. Try rephrasing your question."


def test_every_language_has_the_same_keys_and_placeholders() -> None:
    """R129: no key can be missing in one language."""
    for locale in LOCALES.values():
        assert locale.words.keys() == EN_US.words.keys(), locale.name
        for key, text in EN_US.words.items():
            other = locale.words[key]
            assert isinstance(text, Plural) == isinstance(other, Plural), (locale.name, key)
            assert _gaps(text) == _gaps(other), (locale.name, key)


def test_every_word_key_in_the_code_exists() -> None:
    named = set()
    for path in Path(thinkaloud.core.view.__file__).parent.glob("*.py"):
        named |= set(re.findall(r'"(ai\.[\w.]+\w)"', path.read_text(encoding="utf-8")))
    assert len(named) > 20
    assert named <= EN_US.words.keys()


@pytest.mark.parametrize(
    ("key", "n", "english", "portuguese"),
    [
        ("ai.thinking.words", 0, "0 words", "0 palavra"),
        ("ai.thinking.words", 1, "1 word", "1 palavra"),
        ("ai.thinking.words", 2, "2 words", "2 palavras"),
        ("ai.thinking.words", 1234, "1,234 words", "1.234 palavras"),
        ("ai.thinking.tools", 1, "1 tool used", "1 ferramenta usada"),
        ("ai.thinking.tools", 3, "3 tools used", "3 ferramentas usadas"),
        ("ai.thinking.tokens", 1, "1 token", "1 token"),
        ("ai.thinking.tokens", 1_234_567, "1,234,567 tokens", "1.234.567 tokens"),
        ("ai.thinking.step", 2, "[Step 2]", "[Etapa 2]"),
    ],
)
def test_plurals_and_thousands(key: str, n: int, english: str, portuguese: str) -> None:
    """R087, R128, R129: singular and plural by the rules of each language."""
    assert EN.text(key, n=n) == english
    assert PT.text(key, n=n) == portuguese


def test_placeholders_are_filled_once() -> None:
    """R110, R129: names are inserted unchanged, braces included."""
    assert EN.text("ai.thinking.working", name="Policy {n} Checker") == "Policy {n} Checker is working…"
    assert "ANTHROPIC_API_KEY is not set" in EN.text("ai.thinking.no_key", name="ANTHROPIC_API_KEY")
    assert PT.text("ai.thinking.complete", duration="4,2s") == "Pensou por 4,2s"


@pytest.mark.parametrize(
    ("ms", "english", "portuguese"),
    [
        (0, "0 ms", "0 ms"),
        (850, "850 ms", "850 ms"),
        (999, "999 ms", "999 ms"),
        (1000, "1s", "1s"),
        (1049, "1s", "1s"),
        (1050, "1.1s", "1,1s"),
        (4200, "4.2s", "4,2s"),
        (59_949, "59.9s", "59,9s"),
        (59_950, "1m", "1m"),
        (80_000, "1m 20s", "1m 20s"),
        (119_500, "2m", "2m"),
        (3_599_499, "59m 59s", "59m 59s"),
        (3_599_500, "1h", "1h"),
        (3_720_000, "1h 2m", "1h 2m"),
        (90_000_000, "25h", "25h"),
        (-1, "", ""),
        (None, "", ""),
    ],
)
def test_durations_are_formatted(ms: int | None, english: str, portuguese: str) -> None:
    """R079, R129: two units at most; an unknown duration is empty."""
    assert EN.duration(ms) == english
    assert PT.duration(ms) == portuguese


@given(st.integers(0, 10**9), st.integers(0, 10**6))
def test_durations_are_monotonic(ms: int, later: int) -> None:
    assert _parsed_ms(EN.duration(ms)) <= _parsed_ms(EN.duration(ms + later))


@given(st.one_of(st.integers(-10, 10**9), st.integers(59_000, 61_000)), st.sampled_from([EN, PT]))
def test_durations_are_rounded_and_no_unit_overflows(ms: int, words: Words) -> None:
    """R129: never "60.0s" and never "60m"."""
    duration = words.duration(ms).replace(",", ".")
    assert all(float(amount) < 60 for amount in re.findall(r"([\d.]+)[ms]\b", duration))
    if ms >= 0:
        assert abs(_parsed_ms(duration) - ms) <= (30_000 if "h" in duration else 500)


@pytest.mark.parametrize("name", ["pt", "pt-br", "pt_BR", "PT-BR", "pt_BR.UTF-8", " pt-BR "])
def test_locale_names_of_portuguese(name: str) -> None:
    assert Words(name).locale == "pt-BR"


@pytest.mark.parametrize("name", ["en", "en-US", "en_us", "EN"])
def test_locale_names_of_english(name: str) -> None:
    assert Words(name).locale == "en-US"


@pytest.mark.parametrize("name", ["xx", "", "C", "klingon"])
def test_unknown_language_error_lists_the_known_languages(name: str) -> None:
    with pytest.raises(UnknownLocale, match="en-US, pt-BR"):
        Words(name)


def test_unknown_word_key_raises() -> None:
    with pytest.raises(KeyError):
        EN.text("ai.thinking.nonsense")
    assert list(LOCALES)[:2] == ["en-US", "pt-BR"]


def _other(text: str | Plural) -> str:
    return text if isinstance(text, str) else text.other


def _gaps(text: str | Plural) -> set[str]:
    texts = [text] if isinstance(text, str) else [text.one, text.other]
    return {name for each in texts for _, name, _, _ in Formatter().parse(each) if name}


def _parsed_ms(duration: str) -> float:
    units = {"h": 3_600_000, "m": 60_000, "s": 1000}
    if duration.endswith(" ms"):
        return float(duration[:-3])
    return sum(float(part[:-1]) * units[part[-1]] for part in duration.split())
