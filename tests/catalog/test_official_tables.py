"""The catalog against the tables that the official SDKs ship."""

import re
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, get_args

import pytest
from anthropic.resources.messages.messages import DEPRECATED_MODELS
from anthropic.types import ModelParam
from openai.types.shared import AllModels

from thinkaloud.core.catalog import Model, builtin_catalog, find_model

CATALOG = builtin_catalog()
# Retired before the catalog began, served to a few organisations only, or made for audio and screens.
WITHOUT_ROW = (
    *("o1-preview*", "o1-mini*", "gpt-5.1-mini", "computer-use-preview*", "gpt-audio-*"),
    *("gpt-daybreak-*", "gpt-*-cyber", "gpt-rosalind-*", "gpt-*-rosalind"),
    *("claude-1.3*", "claude-instant-*", "claude-2.*", "claude-3-sonnet-*"),
)


def literals(annotation: Any) -> list[str]:
    """Return the strings of the literals in a type."""
    parts = [part for argument in get_args(annotation) for part in literals(argument)]
    return parts or [argument for argument in get_args(annotation) if isinstance(argument, str)]


def row_of(name: str) -> Model | None:
    """Return the row of a model; None for those that have none on purpose."""
    if any(fnmatchcase(name, pattern) for pattern in WITHOUT_ROW):
        return None
    model = find_model(CATALOG, name)
    assert model is not None, f"{name} has no row"
    return model


@pytest.mark.parametrize("name", literals(ModelParam))
def test_models_of_the_anthropic_sdk_have_a_row(name: str) -> None:
    model = row_of(name)
    assert model is not None
    assert "anthropic" in model.at


@pytest.mark.parametrize("name", literals(AllModels))
def test_models_of_the_openai_sdk_have_a_row(name: str) -> None:
    model = row_of(name)
    assert model is None or "openai" in model.at


@pytest.mark.parametrize(("name", "written"), DEPRECATED_MODELS.items())
def test_retirement_dates_are_those_of_the_anthropic_sdk(name: str, written: str) -> None:
    model = row_of(name)
    if model is not None:
        date = datetime.strptime(re.sub(r"(?<=\d)(st|nd|rd|th)", "", written), "%B %d, %Y").date()
        assert model.retires["anthropic"] == date.isoformat()
        assert model.successor


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("openai", "OPENAI_API_KEY"),
        ("gemini", "GEMINI_API_KEY"),
        ("gemini", "GOOGLE_API_KEY"),
        ("cohere", "CO_API_KEY"),
        ("mistral", "MISTRAL_API_KEY"),
        ("openrouter", "OPENROUTER_API_KEY"),
        ("xai", "XAI_API_KEY"),
    ],
)
def test_keys_are_read_where_the_official_sdks_read_them(provider: str, variable: str) -> None:
    assert f"env:{variable}" in CATALOG.providers[provider].key.split(" | ")


def test_every_table_was_read() -> None:
    assert {"claude-opus-4-5", "claude-sonnet-5"} <= set(literals(ModelParam))
    assert {"gpt-5", "o3-pro"} <= set(literals(AllModels))
