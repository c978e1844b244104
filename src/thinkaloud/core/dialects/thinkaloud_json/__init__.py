"""Thinkaloud's own JSON of a turn. It can only be read here: `view` writes it."""

from thinkaloud.core.dialects.thinkaloud_json.read import NAME, Reader

__all__ = ["NAME", "Reader"]
