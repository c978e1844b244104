"""Rows from TOML: a user's file on top of ours, and errors that name the file, the row and the field."""

import pytest

from thinkaloud.canon import BadCatalog
from thinkaloud.catalog import Catalog, builtin_catalog, builtin_texts, parse_catalog

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


def test_the_shipped_catalog_is_read_once() -> None:
    assert builtin_catalog() is builtin_catalog()


def test_a_users_row_is_added() -> None:
    catalog = with_user_rows(PROVIDER + MODEL)
    assert catalog.providers["acme"].base_url == "https://api.acme.test/v1"
    assert catalog.models["anvil"].at == {"acme": "anvil-1"}
    assert "anvil" not in builtin_catalog().models


def test_a_users_row_overrides_single_fields() -> None:
    user_catalog = with_user_rows(
        '[models.gpt-5]\nat_with_thinking = ["openai"]\n[providers.vllm]\nbase_url = "http://127.0.0.1:9000/v1"'
    )
    builtin_row = builtin_catalog()
    assert user_catalog.models["gpt-5"].at_with_thinking == ("openai",)
    assert user_catalog.models["gpt-5"].efforts == builtin_row.models["gpt-5"].efforts
    assert user_catalog.models["gpt-5"].fact == builtin_row.models["gpt-5"].fact
    assert user_catalog.providers["vllm"].base_url == "http://127.0.0.1:9000/v1"
    assert user_catalog.providers["vllm"].places == builtin_row.providers["vllm"].places


def test_a_row_like_another_takes_over_what_it_says_but_not_where_it_is() -> None:
    user_catalog = with_user_rows('[models.gpt-7]\nlike = "gpt-6-astra"\nat = { openai = "gpt-7" }')
    seven, astra = user_catalog.models["gpt-7"], user_catalog.models["gpt-6-astra"]
    assert (seven.thinking, seven.efforts, seven.fact) == (astra.thinking, astra.efforts, astra.fact)
    assert (seven.names, seven.at, seven.thinking_id) == ((), {"openai": "gpt-7"}, {})


def test_a_row_that_is_changed_changes_those_that_are_like_it() -> None:
    user_catalog = with_user_rows('[models.gpt-5]\nefforts = ["low", "high"]')
    assert user_catalog.models["gpt-5-mini"].efforts == ("low", "high")


WRONG = {
    "not toml": (
        "[providers",
        "my.toml is not TOML: Expected ']' at the end of a table declaration (at end of document). "
        "Correct that line.",
    ),
    "unknown section": (
        "[vendors.x]\n",
        "my.toml: there is no section [vendors] in a catalog. "
        "Use [providers.NAME], [models.NAME], [replays.NAME].",
    ),
    "no rows": (
        "[models]\nx = 1\n",
        "my.toml: [models] holds rows and nothing else. Write a table with a name, [section.NAME].",
    ),
    "section is a value": (
        "models = 1\n",
        "my.toml: [models] holds rows and nothing else. Write a table with a name, [section.NAME].",
    ),
    "unknown field": (
        '[replays.x]\nform = "none"\ncolour = "red"\n',
        "my.toml: [replays.x]: Object contains unknown field `colour`. Correct the field; a row may have: "
        "name, form, field, default, required, allowed, prefix_bound, echo_empty, fact.",
    ),
    "bad word": (
        '[replays.x]\nform = "folded"\n',
        "my.toml: [replays.x]: Invalid enum value 'folded' - at `$.form`. Correct the field; a row may have: "
        "name, form, field, default, required, allowed, prefix_bound, echo_empty, fact.",
    ),
    "missing fact": (
        '[models.x]\nthinking = "always"\n',
        "my.toml: [models.x]: Object missing required field `fact`. Correct the field; a row may have: ",
    ),
    "no date": (
        '[models.x]\nfact = { as_of = "today", source = "me" }\n',
        "my.toml: [models.x]: Expected `str` matching regex "
        "'^\\\\d{4}-\\\\d{2}-\\\\d{2}$' - at `$.fact.as_of`. "
        "Correct the field; a row may have: ",
    ),
    "no source": (
        '[models.x]\nfact = { as_of = "2026-11-15", source = "" }\n',
        "my.toml: [models.x]: Expected `str` of length >= 1 - at `$.fact.source`. Correct the field; ",
    ),
    "unknown provider": (
        '[models.gpt-5]\nat = { nowhere = "x" }\nat_with_thinking = []\n',
        "my.toml: [models.gpt-5]: at says 'nowhere', which is not known here. "
        "Use one of: anthropic, openai, ",
    ),
    "thinking elsewhere": (
        '[models.gpt-5]\nat_with_thinking = ["groq"]\n',
        "my.toml: [models.gpt-5]: at_with_thinking says 'groq', which is not known here. "
        "Use one of: openai, openrouter.",
    ),
    "unknown replay": (
        '[providers.groq]\nreplay = "twice"\n',
        "my.toml: [providers.groq]: replay says 'twice', which is not known here. Use one of: none, signed, ",
    ),
    "unknown effort": (
        '[models.gpt-5]\nefforts = ["brutal"]\n',
        "my.toml: [models.gpt-5]: efforts says 'brutal', which is not known here. "
        "Use one of: none, minimal, low, medium, high, xhigh, max.",
    ),
    "unknown off": (
        '[models.gpt-5]\noff = "never"\n',
        "my.toml: [models.gpt-5]: off says 'never', which is not known here. "
        "Use one of: disabled, between_tools, none, budget_0, toggle, template.",
    ),
    "like nothing": (
        '[models.x]\nlike = "y"\n',
        "my.toml: [models.x]: it is like 'y', and there is no such row before it. "
        "Name the id of another model, or write the fields out.",
    ),
    "like itself": (
        '[models.x]\nlike = "y"\n[models.y]\nlike = "x"\n',
        "my.toml: [models.y]: it is like 'x', and there is no such row before it. "
        "Name the id of another model, or write the fields out.",
    ),
}


@pytest.mark.parametrize(("text", "told"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said(text: str, told: str) -> None:
    with pytest.raises(BadCatalog) as error_info:
        with_user_rows(text)
    assert str(error_info.value).startswith(told)


def test_texts_without_names_are_counted() -> None:
    with pytest.raises(BadCatalog, match=r"^catalog text 2: there is no section \[x\]"):
        parse_catalog(REPLAY, "[x]")


def test_a_catalog_may_be_small() -> None:
    assert list(parse_catalog(REPLAY, PROVIDER, MODEL).models) == ["anvil"]
