"""Print the JSON from which a chat page draws the thinking block of a response."""

from pathlib import Path

import msgspec

import thinkaloud
from thinkaloud.core.view import thinking_block

response = Path(__file__).parent / "responses" / "claude.sse"
turn = thinkaloud.read(response.read_bytes())
print(msgspec.json.format(msgspec.json.encode(thinking_block(turn)), indent=2).decode())
