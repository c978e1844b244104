"""Catalog rows from TOML: a user's file over the built-in one, and errors with file, row and field."""

import pytest

from thinkaloud.core.canon import BadCatalog
from thinkaloud.core.catalog import Catalog, builtin_catalog, builtin_texts, parse_catalog

REPLAY = '[replays.none]\nform = "none"\n'
PROVIDER = """
[providers.acme]
dialect = "openai_chat"
base_url = "https://api.acme.test/v1"
replay = "none"
fact = { as_of = "2026-11-15", source = "https://acme.test/docs" }
"""
MODEL = """
[models.anvil]
at = { acme = "anvil-1" }
fact = { as_of = "2026-11-15", source = "https://acme.test/docs" }
"""


def with_user_rows(text: str) -> Catalog:
    return parse_catalog(
        *builtin_texts(), text, names=["replays.toml", "providers.toml", "models.toml", "my.toml"]
    )


def test_the_builtin_catalog_is_parsed_once() -> None:
    assert builtin_catalog() is builtin_catalog()


def test_a_user_row_is_added() -> None:
    catalog = with_user_rows(PROVIDER + MODEL)
    assert catalog.providers["acme"].base_url == "https://api.acme.test/v1"
    assert catalog.models["anvil"].at == {"acme": "anvil-1"}
    assert "anvil" not in builtin_catalog().models


def test_a_user_row_overrides_single_fields() -> None:
    user_catalog = with_user_rows(
        '[models.gpt-5]\nat_with_thinking = ["openai"]\n[providers.vllm]\nbase_url = "http://127.0.0.1:9000/v1"'
    )
    builtin_row = builtin_catalog()
    assert user_catalog.models["gpt-5"].at_with_thinking == ("openai",)
    assert user_catalog.models["gpt-5"].efforts == builtin_row.models["gpt-5"].efforts
    assert user_catalog.models["gpt-5"].fact == builtin_row.models["gpt-5"].fact
    assert user_catalog.providers["vllm"].base_url == "http://127.0.0.1:9000/v1"
    assert user_catalog.providers["vllm"].places == builtin_row.providers["vllm"].places


def test_like_copies_another_row_except_where_it_is_served() -> None:
    user_catalog = with_user_rows('[models.gpt-7]\nlike = "gpt-6-astra"\nat = { openai = "gpt-7" }')
    seven, astra = user_catalog.models["gpt-7"], user_catalog.models["gpt-6-astra"]
    assert (seven.thinking, seven.efforts, seven.fact) == (astra.thinking, astra.efforts, astra.fact)
    assert (seven.names, seven.at, seven.thinking_id) == ((), {"openai": "gpt-7"}, {})


def test_an_overridden_row_also_changes_rows_that_are_like_it() -> None:
    user_catalog = with_user_rows('[models.gpt-5]\nefforts = ["low", "high"]')
    assert user_catalog.models["gpt-5-mini"].efforts == ("low", "high")


WRONG = {
    "not toml": (
        "[providers",
        "my.toml is not valid TOML: Expected ']' at the end of a table declaration (at end of "
        "document). Correct that line.",
    ),
    "unknown section": (
        "[vendors.x]\n",
        "my.toml: unknown section [vendors]. A catalog has: [providers.NAME], [models.NAME], [replays.NAME], "
        "[aliases].",
    ),
    "no rows": (
        "[models]\nx = 1\n",
        "my.toml: [models] may contain only named tables. Write each row as [section.NAME].",
    ),
    "section is a value": (
        "models = 1\n",
        "my.toml: [models] may contain only named tables. Write each row as [section.NAME].",
    ),
    "unknown field": (
        '[replays.x]\nform = "none"\ncolour = "red"\n',
        "my.toml: [replays.x]: Object contains unknown field `colour`. Correct the field. "
        "Allowed fields: name, form, field, default, required, allowed, prefix_bound, "
        "echo_empty, drops_blank_text, thought_first, fact.",
    ),
    "bad word": (
        '[replays.x]\nform = "folded"\n',
        "my.toml: [replays.x]: Invalid enum value 'folded' - at `$.form`. Correct the field. "
        "Allowed fields: name, form, field, default, required, allowed, prefix_bound, "
        "echo_empty, drops_blank_text, thought_first, fact.",
    ),
    "missing fact": (
        '[models.x]\nthinking = "always"\n',
        "my.toml: [models.x]: Object missing required field `fact`. Correct the field. Allowed fields: ",
    ),
    "no date": (
        '[models.x]\nfact = { as_of = "today", source = "me" }\n',
        "my.toml: [models.x]: Expected `str` matching regex "
        "'^\\\\d{4}-\\\\d{2}-\\\\d{2}$' - at `$.fact.as_of`. "
        "Correct the field. Allowed fields: ",
    ),
    "no source": (
        '[models.x]\nfact = { as_of = "2026-11-15", source = "" }\n',
        "my.toml: [models.x]: Expected `str` of length >= 1 - at `$.fact.source`. Correct the field. ",
    ),
    "unknown provider": (
        '[models.gpt-5]\nat = { nowhere = "x" }\nat_with_thinking = []\n',
        "my.toml: [models.gpt-5]: at has the unknown value 'nowhere'. Use one of: anthropic, openai, ",
    ),
    "thinking elsewhere": (
        '[models.gpt-5]\nat_with_thinking = ["groq"]\n',
        "my.toml: [models.gpt-5]: at_with_thinking has the unknown value 'groq'. Use one of: "
        "openai, openrouter.",
    ),
    "unknown replay": (
        '[providers.groq]\nreplay = "twice"\n',
        "my.toml: [providers.groq]: replay has the unknown value 'twice'. Use one of: none, signed, ",
    ),
    "unknown effort": (
        '[models.gpt-5]\nefforts = ["brutal"]\n',
        "my.toml: [models.gpt-5]: efforts has the unknown value 'brutal'. Use one of: none, "
        "minimal, low, medium, high, xhigh, max.",
    ),
    "unknown off": (
        '[models.gpt-5]\noff = "never"\n',
        "my.toml: [models.gpt-5]: off has the unknown value 'never'. Use one of: disabled, "
        "between_tools, none, budget_0, toggle, template.",
    ),
    "like nothing": (
        '[models.x]\nlike = "y"\n',
        "my.toml: [models.x]: `like` refers to 'y', which is not another model row. Use the id "
        "of another model, or write the fields out.",
    ),
    "like itself": (
        '[models.x]\nlike = "y"\n[models.y]\nlike = "x"\n',
        "my.toml: [models.y]: `like` refers to 'x', which is not another model row. Use the id "
        "of another model, or write the fields out.",
    ),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_catalog_errors_name_file_row_and_field(text: str, message: str) -> None:
    with pytest.raises(BadCatalog) as error_info:
        with_user_rows(text)
    assert str(error_info.value).startswith(message)


def test_texts_without_names_are_numbered_in_errors() -> None:
    with pytest.raises(BadCatalog, match=r"^catalog text 2: unknown section \[x\]"):
        parse_catalog(REPLAY, "[x]")


def test_a_catalog_may_be_small() -> None:
    assert list(parse_catalog(REPLAY, PROVIDER, MODEL).models) == ["anvil"]
