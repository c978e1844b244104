"""Whether a turn comes from the model that is about to be asked, so that its thoughts may go back to it.

Three things must agree: the wire format, the provider where it is known, and the family of the model. A
family is a row of the catalog; for names that no row knows, one name must be the other with a date or a
version label.
"""

import re
from fnmatch import fnmatchcase

from thinkaloud.catalog.rows import Model, Route
from thinkaloud.context.conversation import Said

_VERSION_LABEL = re.compile(r"(?:[-@:](?:latest|preview.*|exp.*|v?\d{4,}.*))?")


def native(said: Said, route: Route) -> bool:
    """Whether this turn was issued by what the route leads to."""
    turn = said.turn
    if turn.dialect != route.provider.dialect:
        return False
    if said.provider and said.provider != route.provider.name:
        return False
    return same_family(turn.model, route)


def same_family(name: str, route: Route) -> bool:
    """Whether a model's name belongs to the route's family; a name that nobody gave belongs to none."""
    if not name:
        return False
    return name == route.model_id or in_row(name, route.model) or _same_but_for_version(name, route.model_id)


def in_row(name: str, model: Model) -> bool:
    """Whether the row speaks of this name. A row for any name at all says nothing about families."""
    spellings = {name.lower(), _tail(name)}
    exact = {word.lower() for word in (model.id, *model.at.values(), *model.thinking_id.values())}
    if spellings & exact or _tail(name) in {_tail(word) for word in exact}:
        return True
    patterns = [pattern.lower() for pattern in model.names if pattern.strip("*")]
    return any(fnmatchcase(spelling, pattern) for spelling in spellings for pattern in patterns)


def _same_but_for_version(one: str, other: str) -> bool:
    shorter, longer = sorted((_bare(one), _bare(other)), key=len)
    return longer.startswith(shorter) and _VERSION_LABEL.fullmatch(longer[len(shorter) :]) is not None


def _bare(name: str) -> str:
    return _tail(name).replace(".", "-")


def _tail(name: str) -> str:
    """A name without the vendor before it, in small letters."""
    return name.rpartition("/")[2].lower()
