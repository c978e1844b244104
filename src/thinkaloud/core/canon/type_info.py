"""Builds what msgspec knows of a type when its module is imported, where no second thread can use it yet."""

import msgspec


def build_types(*types: type) -> None:
    """Let msgspec look at types now. It would at their first use, and crash if two threads are first."""
    for decoded in types:
        msgspec.json.Decoder(decoded)
