"""Read a saved response, whatever provider it came from."""

from pathlib import Path

import thinkaloud

turn = thinkaloud.read(Path("examples/responses/claude.sse").read_bytes())

print(f"{turn.model} speaks {turn.dialect}")
for block in turn.blocks:
    sealed = ", ".join(seal.form for seal in block.seals)
    print(f"- {block.kind:<10} {block.name or block.text!r} {'[' + sealed + ']' if sealed else ''}")
print(f"outcome: {turn.outcome.ending if turn.outcome else 'still going'}")
print(f"tokens: {turn.usage.output} out, {turn.usage.reasoning} of them thinking")
