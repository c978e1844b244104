"""Raw model text. It can only be read: there is no request format."""

from thinkaloud.dialects.text.read import NAME, Reader

__all__ = ["NAME", "Reader"]
