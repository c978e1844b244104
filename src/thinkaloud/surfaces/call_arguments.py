"""The arguments of a call in lines, for a person who is asked to approve it."""

import json

from thinkaloud.surfaces.terminal import clean


def argument_lines(text: str) -> list[str]:
    """Return the arguments of a call, one in each line; a text that is not a JSON object as it is."""
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        return clean(text).splitlines()
    lines: list[str] = []
    for name, value in values.items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        first, *rest = clean(shown).splitlines() or [""]
        lines += [f"{clean(name)}: {first}", *(f"  {line}" for line in rest)]
    return lines
