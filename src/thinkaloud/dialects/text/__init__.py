"""Raw model text, which can only be read."""

from thinkaloud.dialects.text.read import NAME, Reader

__all__ = ["NAME", "Reader"]
