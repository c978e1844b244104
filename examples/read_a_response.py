"""Read a saved response of any provider."""

from pathlib import Path

import thinkaloud

response = Path(__file__).parent / "responses" / "claude.sse"
turn = thinkaloud.read(response.read_bytes())

print(f"{turn.model}, read as {turn.dialect}")
for block in turn.blocks:
    seal_forms = ", ".join(seal.form for seal in block.seals)
    print(f"- {block.kind:<10} {block.name or block.text!r} {'[' + seal_forms + ']' if seal_forms else ''}")
print(f"outcome: {turn.outcome.ending if turn.outcome else 'running'}")
print(f"tokens: {turn.usage.output} out, {turn.usage.reasoning} of them thinking")
