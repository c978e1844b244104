"""The contract for ports names every state, field and word of one, and an example port follows it."""

import json
import re
import subprocess
from pathlib import Path

from tests.patience import PATIENCE_S

from thinkaloud.core.canon import Finish
from thinkaloud.core.transcript import Ending
from thinkaloud.core.view import LOCALES, OpenState, ThinkingState
from thinkaloud.core.view.policy import PRESETS
from thinkaloud.core.view.text import tail

ROOT = Path(__file__).parents[1]
WORDS_OF_SURFACES = {
    *("ai.thinking.waiting", "ai.thinking.still_waiting", "ai.thinking.expand", "ai.thinking.collapse"),
    *("ai.thinking.blocks_shown", "ai.thinking.blocks_hidden"),
    *("ai.thinking.enable", "ai.thinking.budget", "ai.thinking.no_key"),
    *("ai.notice.silent", "ai.notice.repeating", "ai.notice.budget_nearly_used"),
    *("ai.notice.answer_now", "ai.notice.thinking_hidden"),
}
"""What surfaces say around a thinking block, and while a turn runs: no part of its view."""


def test_r113_contract_names_every_state_and_where_the_stories_are() -> None:
    contract = (ROOT / "docs" / "port.md").read_text("utf-8")
    for state in (*OpenState, *ThinkingState):
        assert f"| `{state}` |" in contract
    for name in ("stories/", "schema.json", "koder_kit/lib/src/ai/thinking_block.dart", "Compose", "SwiftUI"):
        assert name in contract
    for path in ("src/thinkaloud/core/view/locales", "stories", "tests/flutter/story_screen.py", "web/src"):
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
    names = [f"ai.{key}" if key.startswith("notice.") else f"ai.thinking.{key}" for key, *_ in rows]
    known = {name for name in LOCALES["en-US"].words if name.startswith(("ai.thinking.", "ai.notice."))}
    assert set(names) == known - WORDS_OF_SURFACES
    for name, (key, *texts) in zip(names, rows, strict=True):
        for (language, locale), text in zip(LOCALES.items(), texts, strict=True):
            said = locale.words[name]
            expected = said if isinstance(said, str) else f"{said.one}|{said.other}"
            assert text.replace("\\|", "|") == own_words[language][key] == expected
    assert len(rows) == len(own_words["en-US"])


def test_newest_line_of_the_port_is_that_of_the_view_while_a_text_grows() -> None:
    """Fragments, tables, half links and marks that are not closed yet."""
    text = "Hm.\nOK\nSee [the docs](https://example.org/ferries) for `more`, a[0] and *all* of it.\n"
    text += "| day | ferry |\n|:--|---|\n| Mon | **yes** |\n"
    text += "- ![a map](map.png) of the bay\n½ of it\n---\n1. 2. 3.\n"
    texts = [text[start:end] for start in (0, 7) for end in range(start, len(text) + 1)]
    module = (ROOT / "examples" / "port" / "text.mjs").as_uri()
    script = (
        f'import {{ newestLine }} from "{module}";'
        "const texts = JSON.parse(process.argv[1]);"
        "console.log(JSON.stringify(texts.map(newestLine)));"
    )
    command = ["node", "--input-type=module", "--eval", script, json.dumps(texts)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    assert json.loads(run.stdout) == list(map(tail, texts))


def test_presets_of_the_contract_are_those_of_the_view() -> None:
    contract = (ROOT / "docs" / "port.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| `(\w+)` \| `(\w+)` \|$", contract, re.MULTILINE)
    expected = {
        (name, policy.while_streaming, policy.after_complete, policy.header)
        for name, policy in PRESETS.items()
    }
    assert set(rows) == expected
    assert all(policy.auto_close and policy.show_thinking for policy in PRESETS.values())
