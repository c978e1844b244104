"""The table of model families in `docs/reference/dialects.md`; `--write` brings it up to date."""

import sys
from pathlib import Path

from thinkaloud.core.dialects.tags.tagged_text import model_families

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "dialects.md"
START = "<!-- families: written by `python -m tests.tags.family_table --write` -->\n"
END = "<!-- end of families -->\n"


def family_table() -> str:
    """Return the table, one row per family."""
    rows = (
        f"| `{family.example}` | `{family.served}` | `{family.raw}` | {family.source} |\n"
        for family in model_families().values()
    )
    return "| model | from a server | raw | source |\n|---|---|---|---|\n" + "".join(rows)


def page_with_table(text: str) -> str:
    """Return the page with the table between its two marks."""
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    return f"{before}{start}\n{family_table()}\n{end}{after}"


if __name__ == "__main__" and "--write" in sys.argv:
    PAGE.write_text(page_with_table(PAGE.read_text("utf-8")), "utf-8")
