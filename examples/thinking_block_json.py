"""Print the JSON from which a chat page draws the thinking block of a response."""

from pathlib import Path

import msgspec

import thinkaloud
from thinkaloud.view import thinking_block

turn = thinkaloud.read(Path("examples/responses/claude.sse").read_bytes())
print(msgspec.json.format(msgspec.json.encode(thinking_block(turn)), indent=2).decode())
