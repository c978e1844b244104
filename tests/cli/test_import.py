"""`thinkaloud import` with files of other programs: folders, patterns, dry runs, damage and large files."""

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from tests.importers.outline import FILES, zipped
from tests.patience import PATIENCE_S

from thinkaloud.cli import main
from thinkaloud.cli.commands import imports

Output = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("home")


def run(capsys: Output, *arguments: str, code: int = 0) -> tuple[str, str]:
    capsys.readouterr()
    assert main(list(arguments)) == code
    out, err = capsys.readouterr()
    return out, err


def listed(capsys: Output) -> list[str]:
    return [row["title"] for row in json.loads(run(capsys, "sessions", "--json")[0])]


def test_folder_is_imported_once_and_tells_what_is_left_out(tmp_path: Path, capsys: Output) -> None:
    folder = tmp_path / "history"
    folder.mkdir()
    (folder / "export.zip").write_bytes(zipped(conversations__json=(FILES / "chatgpt.json").read_bytes()))
    (folder / "deep").mkdir()
    (folder / "deep" / "log.jsonl").write_bytes((FILES / "claude_code.jsonl").read_bytes())
    (folder / "deep" / "settings.json").write_text('{"theme": "dark"}', "utf-8")
    (folder / "deep" / "empty.jsonl").touch()
    (folder / "deep" / "notes.md").write_text("# Notes\n", "utf-8")
    (folder / "loop").symlink_to(folder)
    _, err = run(capsys, "import", "--dry-run", str(folder))
    assert "export.zip: would import 1 conversation, 1 new, 3 turns added, 2 thoughts, 1 tool call" in err
    assert "log.jsonl: would import 2 conversations, 2 new, 4 turns added, 3 thoughts, 2 tool calls" in err
    assert "not imported: 1 × line of type 'hologram' (first in line 21)" in err
    assert "3 files of no known format were passed over." in err
    assert listed(capsys) == []
    out, err = run(capsys, "import", str(folder))
    assert len(out.split()) == 3
    assert sorted(listed(capsys)) == ["Agent: Search the east folder.", "Gulls", "Gulls in north and south"]
    _, err = run(capsys, "import", str(folder / "**" / "*.jsonl"))
    assert "imported 2 conversations, 0 new, 0 turns added" in err
    assert len(listed(capsys)) == 3
    out, _ = run(capsys, "search", "--thoughts", "--json", "read both at once")
    assert [hit["kind"] for hit in json.loads(out)] == ["thought"]


def test_damaged_file_adds_nothing_and_the_others_are_imported(tmp_path: Path, capsys: Output) -> None:
    whole = (FILES / "chatgpt.json").read_bytes().strip()
    (tmp_path / "cut.json").write_bytes(b"[" + whole[1:-1] + b",\n" + whole[1:-100])
    (tmp_path / "no-history.txt").write_text("Dear diary", "utf-8")
    files = [str(tmp_path / "cut.json"), str(tmp_path / "no-history.txt"), str(FILES / "claude.json")]
    _, err = run(capsys, "import", *files, str(tmp_path / "missing"), code=2)
    assert "cut.json: Line " in err
    assert "no-history.txt: The file begins with " in err
    assert "missing: Cannot read it: No such file or directory" in err
    assert listed(capsys) == ["Terns"]


def test_long_conversation_is_sent_in_parts(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts of one turn each give the same session, with the same branches, as the whole."""
    path = FILES / "claude_code.jsonl"
    out, _ = run(capsys, "import", str(path))
    whole = [json.loads(run(capsys, "export", "--format", "json", name)[0]) for name in out.split()]
    monkeypatch.setattr(imports, "PART_BYTES", 10)
    copied = tmp_path / "copy.jsonl"
    copied.write_bytes(path.read_bytes().replace(b"5f1c2f60", b"6a1c2f60"))
    out, _ = run(capsys, "import", "--json", str(copied))
    (report,) = json.loads(out)
    assert (report["new"], report["grown"], report["turns_added"]) == (2, 0, 4)
    parts = [json.loads(run(capsys, "export", "--format", "json", name)[0]) for name in report["sessions"]]
    assert parts == whole


def test_own_files_and_standard_input_are_imported_too(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, _ = run(capsys, "import", str(FILES / "claude.json"))
    for form in ("json", "markdown"):
        file = tmp_path / f"session.{form}"
        file.write_text(run(capsys, "export", "--format", form, out.strip())[0], "utf-8")
        run(capsys, "import", str(file))
    assert listed(capsys) == ["Terns"] * 3
    result = subprocess.run(
        [sys.executable, "-m", "thinkaloud", "import", "-"],
        input=(FILES / "librechat.json").read_bytes(),
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert b"-: imported 1 conversation, 1 new, 3 turns added" in result.stderr
    assert "Owls" in listed(capsys)


def account_export(conversations: int, messages: int, chars: int) -> bytes:
    """Return a synthetic ChatGPT export."""
    text = "gull " * (chars // 5)

    def mapping(number: int) -> dict[str, object]:
        nodes: dict[str, object] = {}
        for index in range(messages):
            thoughts = index % 3 == 1
            content: dict[str, object] = {"content_type": "text", "parts": [f"{number}.{index} {text}"]}
            if thoughts:
                content = {"content_type": "thoughts", "thoughts": [{"summary": "", "content": text}]}
            role = "user" if index % 3 == 0 else "assistant"
            message = {"author": {"role": role}, "content": content, "create_time": 1.7e9 + index}
            nodes[f"n{index}"] = {"id": f"n{index}", "parent": f"n{index - 1}", "message": message}
        return nodes

    rows = [{"conversation_id": f"c{number}", "mapping": mapping(number)} for number in range(conversations)]
    return msgspec.json.encode(rows)


def test_memory_does_not_grow_with_the_file() -> None:
    """A file of ten times the size takes little more memory: one conversation at a time."""
    script = (
        "import io, resource, sys\n"
        "from tests.cli.test_import import account_export\n"
        "from thinkaloud.importers import HistoryFile\n"
        "data = account_export(1, 6, 20_000)[1:-1]\n"
        "class File(io.RawIOBase):\n"
        "    left = int(sys.argv[1]); first = True\n"
        "    def readable(self): return True\n"
        "    def seekable(self): return True\n"
        "    def seek(self, *_): self.left, self.first = int(sys.argv[1]), True; return 0\n"
        "    def read(self, size=-1):\n"
        "        if size == 16: return b'[' + data[:15]\n"
        "        if self.left < 0: return b''\n"
        "        self.left -= 1\n"
        "        if self.left < 0: return b']'\n"
        "        start, self.first = (b'[' if self.first else b','), False\n"
        "        return start + data\n"
        "count = sum(session.thoughts for session in HistoryFile(File()).sessions())\n"
        "print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )

    def measure(conversations: int) -> tuple[int, int]:
        result = subprocess.run(
            [sys.executable, "-c", script, str(conversations)],
            capture_output=True,
            timeout=PATIENCE_S,
            check=True,
        )
        thoughts, kib = map(int, result.stdout.split())
        return thoughts, kib

    small, large = measure(20), measure(200)
    assert (small[0], large[0]) == (40, 400)
    assert large[1] - small[1] < 20 * 1024, "24 MB of conversations stay in memory"
