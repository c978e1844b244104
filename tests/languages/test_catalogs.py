"""Every text for people is in the catalog of every language, and is found there without a search."""

import ast
import io
import time
from pathlib import Path

import msgspec
import pytest
from babel.messages.pofile import read_po
from tests.languages.extract import (
    CATALOGS,
    FIELD,
    Text,
    error_names,
    message_calls,
    modules,
    texts,
    updated,
)

from thinkaloud.core.canon import Entry, Refused, TurnFailed, TurnStarted, Wording
from thinkaloud.core.canon.template import MAX_DEPTH
from thinkaloud.core.transcript import Turn, apply
from thinkaloud.core.view import notice
from thinkaloud.core.view.translate import catalog, read_catalog, translate

LANGUAGES = sorted(path.stem for path in CATALOGS.glob("*.po"))
MAKERS_OF_EVENTS = {"TurnFailed", "NoticeGiven", "fail", "add_fault", "add_notice"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_of_the_source_has_a_translation(language: str) -> None:
    known = catalog(language)
    missing = [
        text for text in texts() if text.template not in known and f"argparse\x04{text.template}" not in known
    ]
    assert missing == [], f"run `make languages`, and translate them in {language}.po"


@pytest.mark.parametrize("language", LANGUAGES)
def test_catalog_has_the_texts_of_the_source_and_no_others(language: str) -> None:
    content = (CATALOGS / f"{language}.po").read_bytes()
    others = set(_ids(content)) ^ set(_ids(updated(content)))
    # Another version of Python has other texts in `argparse`.
    assert {text for text in others if not text.startswith("argparse\x04")} == set(), "run `make languages`"


def _ids(content: bytes) -> list[str]:
    messages = [message for message in read_po(io.BytesIO(content)) if message.id]
    return [
        f"{message.context}\x04{message.id}" if message.context else str(message.id) for message in messages
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_have_the_same_fields(language: str) -> None:
    for template, translation in catalog(language).items():
        assert set(FIELD.findall(template)) == set(FIELD.findall(translation)), template


@pytest.mark.parametrize("language", LANGUAGES)
def test_catalog_is_read_as_the_standard_tools_read_it(language: str) -> None:
    content = (CATALOGS / f"{language}.po").read_bytes()
    messages = [message for message in read_po(io.BytesIO(content)) if message.id]
    strings = [str(message.string) for message in messages]
    assert dict(read_catalog(content.decode())) == dict(zip(_ids(content), strings, strict=True))


def test_text_that_waits_for_a_translator_is_not_read() -> None:
    entries = '#, fuzzy\nmsgid "a"\nmsgstr "b"\n\nmsgid "c"\nmsgstr ""\n\nmsgid "d"\nmsgstr "e"\n'
    assert dict(read_catalog(entries)) == {"d": "e"}


def test_extraction_finds_each_kind_of_text() -> None:
    found = {text.template for text in texts()}
    assert found >= {
        "Unknown language: {name}. Use one of: {locales}.",  # an error
        "No API key found for {provider}.",  # a part of an error
        "The language is {language}.",  # a finding
        "{model} does not take {name}",  # a notice
        "ask a model or an agent",  # help
        "show this help message and exit",  # help of argparse
        "invalid choice: %(value)r (choose from %(choices)s)",  # an error of argparse
        "looked for in",  # a header
        "how a live thought is shown",  # a setting
        "Not found: it does not exist, was deleted, or belongs to another user. Check the id.",  # a default
    }


def test_every_message_is_given_the_fields_of_its_template() -> None:
    wrong = [
        (text.place, text.template)
        for text in texts()
        if _in_source(text) and set(FIELD.findall(text.template)) != set(text.fields)
    ]
    assert wrong == []


def _in_source(text: Text) -> bool:
    return ".py:" in text.place


def test_no_message_is_put_together_where_it_is_made() -> None:
    """A template that is not a literal has no translation. A wording that exists is passed as `wording=`."""
    # These take no template, or pass on the one that they are given.
    others = {"WireLimitExceeded", "MethodNotAllowed"}
    passed_on = {
        "cli/commands/doctor.py",
        "cli/output/console.py",
        "core/canon/errors.py",
        "core/canon/template.py",
    }
    made = [
        f"{path}:{call.lineno}"
        for path, call in ((_relative(path), call) for path, call in message_calls())
        if call.args and not _is_text(call.args[0]) and _called(call) in {*error_names(), "Wording"} - others
        if path not in passed_on
    ]
    assert made == []


def test_events_have_no_text_that_cannot_be_translated() -> None:
    made = [
        f"{_relative(path)}:{node.lineno}"
        for path, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _called(node) in MAKERS_OF_EVENTS
        if any(_is_sentence(argument) for argument in node.args[1:])
    ]
    assert made == []


def _relative(path: Path) -> str:
    return str(path.relative_to(CATALOGS.parents[2]))


def _called(call: ast.Call) -> str:
    return getattr(call.func, "id", "") or getattr(call.func, "attr", "")


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_sentence(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr | ast.BinOp) or (_is_text(node) and bool(ast.literal_eval(node)))


def test_translation_fills_in_fields_and_wordings_of_fields() -> None:
    reason = Wording("No such file or directory")
    wording = Wording("Cannot read {path}: {reason}.", path="{reason}", reason=reason)
    assert str(wording) == "Cannot read {reason}: No such file or directory."
    assert translate(wording, "pt") == "Não foi possível ler {reason}: Arquivo ou pasta inexistente."
    assert translate(wording, "en") == str(wording)


def test_text_without_a_translation_stays_and_its_parts_are_translated() -> None:
    assert translate("Nobody wrote this.", "pt-BR") == "Nobody wrote this."
    known = Wording("Nothing was sent.")
    assert translate(Wording("{part} Really {part}", part=known), "pt-BR") == (
        "Nada foi enviado. Really Nada foi enviado."
    )


def test_error_keeps_its_wording_and_its_english_text() -> None:
    error = Refused("There is no user {name}. Check the name, or add the user first.", name="'ana'")
    assert str(error) == "There is no user 'ana'. Check the name, or add the user first."
    assert error.wording.fields == {"name": "'ana'"}
    assert str(Refused(wording=error.wording)) == str(error)


def test_stored_failure_is_shown_in_any_language_and_an_old_one_in_english() -> None:
    reason = Wording("connection refused. Check base_url and that the server is running.")
    template = "Cannot reach {provider} at {origin}: {reason}"
    failed = TurnFailed.of(
        "unreachable", Wording(template, provider="vllm", origin="http://x", reason=reason)
    )
    stored = msgspec.json.encode(Entry(1, failed))
    old = msgspec.json.encode(Entry(1, TurnFailed("unreachable", failed.message)))
    portuguese = (
        "A resposta falhou: Não foi possível alcançar vllm em http://x: a conexão foi recusada. Verifique "
        "base_url e se o servidor está em execução."
    )
    for line, text in ((stored, portuguese), (old, f"A resposta falhou: {failed.message}")):
        turn = Turn()
        for entry in (Entry(0, TurnStarted()), msgspec.json.decode(line, type=Entry)):
            apply(turn, entry)
        assert notice(turn, "pt-BR") == text
        assert notice(turn, "en-US") == f"The answer failed: {failed.message}"


def test_change_of_the_texts_reaches_all_fields() -> None:
    """A key that an error quotes is masked in its fields too."""
    inner = Wording("No such user: {name}", name="sk-1")
    wording = Wording("{a} sk-1 {inner}", a="x sk-1", inner=inner).map(
        lambda text: text.replace("sk-1", "***")
    )
    assert "sk-1" not in msgspec.json.encode(wording).decode()
    assert str(wording) == "x *** *** No such user: ***"


def test_wording_that_is_nested_too_deeply_is_refused() -> None:
    nested = "{}"
    for _ in range(MAX_DEPTH + 1):
        nested = '{"template":"{a}","fields":{"a":%s}}' % (nested if nested != "{}" else '"x"')
    with pytest.raises(msgspec.ValidationError, match="nested too deeply"):
        msgspec.json.decode(nested, type=Wording)


def test_time_of_a_translation_grows_with_its_length() -> None:
    """It took 4 s for 4,000 characters, and 16 times as long for four times as many."""

    def seconds(characters: int) -> float:
        wording = Wording("Cannot read {path}: {reason}.", path="a {b} c. " * (characters // 9), reason="x")
        started = time.process_time()
        for _ in range(200):
            translate(wording, "pt-BR")
        return time.process_time() - started

    translate("x", "pt-BR")  # reads the catalog
    assert min(seconds(64_000) for _ in range(5)) < 8 * 16 * max(min(seconds(4_000) for _ in range(5)), 1e-4)
