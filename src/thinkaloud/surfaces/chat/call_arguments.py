"""A call for a person who is asked to approve it: its arguments in lines, and how soon an answer counts."""

import json

from thinkaloud.surfaces.terminal import clean

TYPE_AHEAD_S = 0.5
"""A key or a tap so soon after a call appeared was meant for what was there before."""


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
