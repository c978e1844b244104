"""The AG-UI protocol, version 1.0: `parse` and `write` for front ends. No provider speaks it."""

from thinkaloud.core.dialects.ag_ui.parse import parse_request
from thinkaloud.core.dialects.ag_ui.write import NAME, RESPONSE_FORMAT

__all__ = ["NAME", "RESPONSE_FORMAT", "parse_request"]
