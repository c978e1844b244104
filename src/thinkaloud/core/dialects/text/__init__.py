"""Raw model text. It can only be read: there is no request format."""

from thinkaloud.core.dialects.text.read import NAME, Reader

__all__ = ["NAME", "Reader"]
