"""Print which parts of a conversation would be sent to three models, and why; nothing is sent."""

from pathlib import Path

from thinkaloud.client import Options, prepare
from thinkaloud.core.context import read_conversation
from thinkaloud.core.dialects import build_request

conversation = read_conversation(Path(__file__).with_name("conversation.json").read_bytes())
options = Options(tools=conversation.tools)

for model in ("anthropic/claude-opus-4.5", "deepseek/deepseek-v4-pro", "openai/gpt-5"):
    prepared = prepare(conversation, model=model, options=options, have_key=lambda provider: True)
    body = build_request(prepared.route, prepared.request).body
    print(f"{model}: {len(body)} bytes")
    for line in prepared.report.lines:
        print(f"  {line.status:<9} step {line.step}, {line.kind}: {line.reason}")
