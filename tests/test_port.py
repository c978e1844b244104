"""The contract for ports names every state, field and word of one, and an example port follows it."""

import json
import re
import subprocess
from pathlib import Path

from tests.patience import PATIENCE_S

from thinkaloud.canon import Finish
from thinkaloud.transcript import Ending
from thinkaloud.view import LOCALES, OpenState, ThinkingState

ROOT = Path(__file__).parents[1]


def test_r113_contract_names_every_state_and_where_the_stories_are() -> None:
    contract = (ROOT / "docs" / "port.md").read_text("utf-8")
    for state in (*OpenState, *ThinkingState):
        assert f"| `{state}` |" in contract
    for name in ("stories/", "schema.json", "koder_kit/lib/src/ai/thinking_block.dart", "Compose", "SwiftUI"):
        assert name in contract
    for path in ("src/thinkaloud/view/locales", "stories", "tests/flutter/story_screen.py", "web/src"):
        assert (ROOT / path).exists()


def run_port(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = ["node", str(ROOT / "examples" / "port" / "stories.mjs"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


def test_port_written_from_the_contract_passes_all_stories() -> None:
    """R113: all of them, none left out."""
    run = run_port()
    stories = len(list((ROOT / "stories").glob("*.json"))) - 1  # without the schema
    assert run.stdout == f"{stories} of {stories} stories passed\n"
    assert run.returncode == 0


def test_runner_of_the_port_names_each_difference(tmp_path: Path) -> None:
    story = json.loads((ROOT / "stories" / "done_collapses.json").read_bytes())
    story["steps"][0]["expect"] = {"label": "Pondering...", "blocks": []}
    (tmp_path / "changed.json").write_text(json.dumps(story), "utf-8")
    run = run_port(str(tmp_path))
    assert 'changed.json, step 0: label: expected "Pondering...", got "Thinking..."\n' in run.stdout
    assert "changed.json, step 0: blocks: expected 0, got " in run.stdout
    assert run.returncode == 1


def test_contract_has_the_ends_of_a_turn_and_the_words_of_both_languages() -> None:
    contract = (ROOT / "docs" / "port.md").read_text("utf-8")
    assert [
        name for name in (*Finish, *Ending) if f"`{name}`" not in contract and f'"{name}"' not in contract
    ] == []
    table = contract[contract.index("| key | en-US |") : contract.index("### Time")]
    rows = re.findall(r"^\| `([a-z_.]+)` \| (.+?) \| (.+?) \|$", table, re.MULTILINE)
    own_words = json.loads((ROOT / "examples" / "port" / "words.json").read_bytes())
    for key, *texts in rows:
        name = f"ai.{key}" if key.startswith("notice.") else f"ai.thinking.{key}"
        for (language, locale), text in zip(LOCALES.items(), texts, strict=True):
            said = locale.words[name]
            expected = said if isinstance(said, str) else f"{said.one}|{said.other}"
            assert text.replace("\\|", "|") == own_words[language][key] == expected
    assert len(rows) == len(own_words["en-US"])
