"""Turn a response into the JSON that a chat page draws its thinking block from."""

from pathlib import Path

import msgspec

import thinkaloud
from thinkaloud.view import thinking_block

turn = thinkaloud.read(Path("examples/responses/claude.sse").read_bytes())
print(msgspec.json.format(msgspec.json.encode(thinking_block(turn)), indent=2).decode())
