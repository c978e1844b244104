"""The contract for ports names every state, field and word that a port has to know."""

from pathlib import Path

from thinkaloud.view import OpenState, ThinkingState

ROOT = Path(__file__).parents[1]


def test_r113_contract_names_every_state_and_where_the_stories_are() -> None:
    contract = (ROOT / "docs" / "port.md").read_text("utf-8")
    for state in (*OpenState, *ThinkingState):
        assert f"| `{state}` |" in contract
    for name in ("stories/", "schema.json", "koder_kit/lib/src/ai/thinking_block.dart", "Compose", "SwiftUI"):
        assert name in contract
    for path in ("src/thinkaloud/view/locales", "stories", "tests/flutter/story_screen.py", "web/src"):
        assert (ROOT / path).exists()
