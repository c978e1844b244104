"""Whether a turn comes from the model that is about to be asked, so that its thoughts may go back to it.

Three things must agree: the wire format, the provider where it is known, and the family of the model. A
family is a row of the catalog; for names that no row knows, one name must be the other with a date or a
version label.
"""

import re
from fnmatch import fnmatchcase

from thinkaloud.catalog.rows import Model, Route
from thinkaloud.context.conversation import AnsweredTurn

_VERSION_LABEL = re.compile(r"(?:[-@:](?:latest|preview.*|exp.*|v?\d{4,}.*))?")


def issued_by_route(answered: AnsweredTurn, route: Route) -> bool:
    """Whether this turn was issued by what the route leads to."""
    turn = answered.turn
    if turn.dialect != route.provider.dialect:
        return False
    if answered.provider and answered.provider != route.provider.name:
        return False
    return same_family(turn.model, route)


def same_family(name: str, route: Route) -> bool:
    """Whether a model's name belongs to the route's family; a name that nobody gave belongs to none."""
    if not name:
        return False
    return (
        name == route.model_id or row_covers(name, route.model) or _same_but_for_version(name, route.model_id)
    )


def row_covers(name: str, model: Model) -> bool:
    """Whether the row speaks of this name. A row for any name at all says nothing about families."""
    spellings = {name.lower(), _without_vendor(name)}
    exact = {word.lower() for word in (model.id, *model.at.values(), *model.thinking_id.values())}
    if spellings & exact or _without_vendor(name) in {_without_vendor(word) for word in exact}:
        return True
    patterns = [pattern.lower() for pattern in model.names if pattern.strip("*")]
    return any(fnmatchcase(spelling, pattern) for spelling in spellings for pattern in patterns)


def _same_but_for_version(first: str, second: str) -> bool:
    shorter, longer = sorted((_comparable(first), _comparable(second)), key=len)
    return longer.startswith(shorter) and _VERSION_LABEL.fullmatch(longer[len(shorter) :]) is not None


def _comparable(name: str) -> str:
    return _without_vendor(name).replace(".", "-")


def _without_vendor(name: str) -> str:
    """A name without the vendor before it, in small letters."""
    return name.rpartition("/")[2].lower()
