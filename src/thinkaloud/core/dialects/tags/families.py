"""Chooses the tag profile for a model's name, by the rows of `families.toml`.

A row says which profile reads the family's text from a server and which its raw text, and from which public
chat template or parser that is known. The first row with a matching name wins.

A server that separates reasoning itself may send an answer without any, so text from a server never starts
inside the reasoning. If the chat template opens it, a closing marker alone shows that this server does not
separate it.
"""

import re
from functools import cache
from importlib import resources
from typing import Annotated

import msgspec

from thinkaloud.core.dialects.tags.profiles import PROFILES, TagProfile


class ModelFamily(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The models that one chat template, or several alike, are written for."""

    names: str
    """A regular expression that is searched in the model's name, see `normal_name`."""
    served: str
    """The profile for text from a server."""
    raw: str
    """The profile for the model's raw text."""
    example: str
    """The name of one such model."""
    as_of: Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    source: Annotated[str, msgspec.Meta(min_length=1)]


@cache
def model_families() -> dict[str, ModelFamily]:
    """Return the families in the order in which they are tried."""
    text = resources.files("thinkaloud.core.dialects.tags").joinpath("families.toml").read_text("utf-8")
    return msgspec.toml.decode(text, type=dict[str, ModelFamily])


def normal_name(model: str) -> str:
    """Return a model's name in lower case, with one spelling of separators and version numbers.

    `_`, `:`, `/` and spaces become `-`, and the version `4p6`, as some hosts write it, becomes `4.6`.
    """
    name = re.sub(r"[\s_:/]+", "-", model.lower())
    return re.sub(r"(?<=\d)p(?=\d)", ".", name)


@cache
def _family_patterns() -> tuple[tuple[re.Pattern[str], ModelFamily], ...]:
    return tuple((re.compile(family.names), family) for family in model_families().values())


def find_family(model: str) -> ModelFamily | None:
    """Return the family of a model, or None if no row has its name."""
    name = normal_name(model)
    return next((family for pattern, family in _family_patterns() if pattern.search(name)), None)


def profile_for_model(model: str, *, raw: bool) -> TagProfile:
    """Return the profile for a model's text, from a server or `raw` from the model."""
    family = find_family(model)
    if family is None:
        return PROFILES["think"]
    return PROFILES[family.raw if raw else family.served]
