"""The parts of the chat that need no screen: commands, attachments, words, replay, approvals."""

import inspect
import re
import socket
import string
import threading
import tomllib
from pathlib import Path

import pytest
from tests.surfaces.memory_backend import thought_and_answer
from textual.events import Key
from textual.message import Message

from thinkaloud.cli.output.words import TEXTS as COMMAND_TEXTS
from thinkaloud.core.canon import Entry, Refused
from thinkaloud.core.transcript import fold_entries
from thinkaloud.core.transcript.timing import MAX_GAP_MS
from thinkaloud.core.view import LOCALES
from thinkaloud.surfaces.chat.attachments import MAX_BYTES, image_path, read_attachment
from thinkaloud.surfaces.chat.backend import Responder
from thinkaloud.surfaces.chat.display import argument_lines, responder_note
from thinkaloud.surfaces.chat.screen_words import CHAT_TEXTS, LANGUAGES, ScreenWords, Texts
from thinkaloud.surfaces.flutter.words import TEXTS as FLUTTER_TEXTS
from thinkaloud.surfaces.tui.screens.commands import COMMANDS, Command, completions, read_command
from thinkaloud.surfaces.tui.screens.help import help_text
from thinkaloud.surfaces.tui.screens.keys import CHAT_KEYS, shown_keys
from thinkaloud.surfaces.tui.screens.replay import ReplayPlayer
from thinkaloud.surfaces.tui.screens.terminal_input import TerminalDriver
from thinkaloud.surfaces.tui.screens.words import TEXTS

SOURCE = Path(__file__).parents[2] / "src" / "thinkaloud" / "surfaces" / "tui"


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/thinking", Command("thinking")),
        (":thinking", Command("thinking")),
        (":toggle thinking", Command("thinking")),
        ("/Toggle Thinking", Command("thinking")),
        ("  /thinking hide ", Command("thinking", "hide")),
        ("/?", Command("help")),
        (":q", Command("quit")),
        ("/attach ~/a b.png", Command("attach", "~/a b.png")),
        ("/thinkin", Command("/thinkin", known=False)),
        (":wq", Command(":wq", known=False)),
        ("/frobnicate the bar", Command("/frobnicate", known=False)),
        ("What is /thinking?", None),
        ("/usr/bin/env is what?", None),
        (":) hello", None),
        ("", None),
    ],
)
def test_commands_are_told_from_questions(text: str, command: Command | None) -> None:
    assert read_command(text) == command


def test_commands_are_completed_from_their_first_letters() -> None:
    assert completions("/th") == ["/thinking", "/theme"]
    assert completions("/") == [f"/{name}" for name in COMMANDS]
    assert completions("/th ") == completions("th") == []


@pytest.mark.parametrize("table", [TEXTS, FLUTTER_TEXTS, COMMAND_TEXTS], ids=["tui", "flutter", "commands"])
def test_every_word_is_in_both_languages_with_the_same_gaps(table: Texts) -> None:
    def gaps(text: str) -> set[str]:
        return {name for part in text.split("|") for _, name, _, _ in string.Formatter().parse(part) if name}

    for key, texts in table.items():
        assert len(texts) == len(LANGUAGES), key
        assert all(text.strip() for text in texts), key
        assert len({frozenset(gaps(text)) for text in texts}) == 1, key
        assert len({text.count("|") for text in texts}) == 1, key


def test_every_word_of_the_chat_is_used_and_every_used_word_is_there() -> None:
    paths = [
        SOURCE.parent / "chat" / "display.py",
        *SOURCE.rglob("*.py"),
    ]
    sources = (path.read_text("utf-8") for path in paths if path.name != "words.py")
    source = "\n".join([inspect.getsource(ScreenWords), *sources])
    named = set(re.findall(r'text\(f?"([a-z_]+(?:\.[a-z_]+)*)"', source))
    assert {key for key in named if not key.startswith("ai.")} <= set(TEXTS)
    families = (
        "argument.",
        "command.",
        "export.",
        "kind.",
        "language.",
        "mark.",
        "preset.",
        "settings.",
        "theme.",
        "search.",
    )
    unused = [
        key for key in TEXTS if not re.search(f"['\"]{key}['\"]", source) and not key.startswith(families)
    ]
    assert unused == []
    assert {key.removeprefix("command.") for key in TEXTS if key.startswith("command.")} == set(COMMANDS)


def test_included_agents_are_described_in_the_language_of_the_person() -> None:
    words = ScreenWords("pt-BR", TEXTS)
    agents = tomllib.loads((SOURCE.parents[1] / "agents" / "agents.toml").read_text("utf-8"))["agents"]
    assert agents
    for name, agent in agents.items():
        responder = Responder(id=name, name=name, description=agent["description"])
        assert responder_note(responder, words) != agent["description"], "add it to error_words.toml"


def test_settings_can_name_every_language() -> None:
    assert [name for name in LOCALES if f"language.{name}" not in CHAT_TEXTS] == []


def test_plurals_follow_the_language() -> None:
    english, portuguese = ScreenWords("en", TEXTS), ScreenWords("pt_BR.UTF-8", TEXTS)
    assert [english.text("search.found", n=n) for n in (0, 1, 2)] == ["0 places", "1 place", "2 places"]
    assert [portuguese.text("search.found", n=n) for n in (0, 1, 2)] == ["0 lugar", "1 lugar", "2 lugares"]


@pytest.mark.parametrize("locale", LANGUAGES)
def test_help_lists_every_key_and_command(locale: str) -> None:
    text = help_text(ScreenWords(locale, TEXTS)).plain
    assert all(shown_keys(key.keys) in text for key in CHAT_KEYS)
    assert all(f"/{name}" in text for name in COMMANDS)


def test_help_names_keys_and_arguments_in_the_language_of_the_person() -> None:
    english, portuguese = (help_text(ScreenWords(locale, TEXTS)).plain for locale in ("en-US", "pt-BR"))
    for text in ("/model [NAME]", "e, c, r", "y Enter, n Enter", "Ctrl+PageUp"):
        assert text in english
    for text in ("/model [NOME]", "/rename TÍTULO", "s Enter, n Enter"):
        assert text in portuguese
    assert "NAME" not in portuguese


def test_keys_are_bound_once() -> None:
    keys = [name for key in CHAT_KEYS for name in key.keys.split(",")]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("start", "media_type"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBP", "image/webp"),
    ],
)
def test_attachment_type_comes_from_the_bytes_not_the_name(
    tmp_path: Path, start: bytes, media_type: str
) -> None:
    path = tmp_path / "it's a picture.dat"
    path.write_bytes(start + b"rest")
    for text in (str(path), f'"{path}"', path.as_uri(), str(path).replace(" ", r"\ ").replace("'", r"\'")):
        attachment = read_attachment(text)
        assert (attachment.name, attachment.image.media_type) == (path.name, media_type)


def test_attachment_that_is_missing_too_large_or_no_image_is_refused(tmp_path: Path) -> None:
    large = tmp_path / "large.png"
    large.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(MAX_BYTES))
    with pytest.raises(Refused, match="larger than 5 MB"):
        read_attachment(str(large))
    with pytest.raises(Refused, match="No such file"):
        read_attachment(str(tmp_path / "none.png"))
    with pytest.raises(Refused, match="Give the path of an image"):
        read_attachment(str(tmp_path))


def test_only_the_path_of_an_existing_image_counts_as_pasted_image(tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(b"x")
    assert image_path(f"'{picture}'\n") == f"'{picture}'"
    for text in (
        "",
        "look at a.png",
        f"{picture}\nand more",
        str(tmp_path / "b.png"),
        "\0.png",
        "x" * 9999 + ".png",
    ):
        assert image_path(text) == ""


def test_arguments_are_shown_one_in_each_line_and_cleaned() -> None:
    assert argument_lines('{"path": "a\\u001b[2Jb", "n": [1, 2]}') == ["path: ab", "n: [1, 2]"]
    assert argument_lines('{"code": "one\\ntwo"}') == ["code: one", "  two"]
    assert argument_lines("not json\x1b]0;x\x07") == ["not json"]
    assert argument_lines("[1]") == ["[1]"]


def _player(step_ms: int = 1000) -> ReplayPlayer:
    events = thought_and_answer("t", "a")
    return ReplayPlayer([Entry(seq, event, 5_000 + seq * step_ms) for seq, event in enumerate(events)])


def test_replay_gives_each_entry_once_and_in_time() -> None:
    player = _player()
    played = list(player.advance(0))
    assert [entry.seq for entry in played] == [0]
    while not player.ended:
        played += player.advance(333)
    assert [entry.seq for entry in played] == list(range(8))
    assert player.position_ms == player.duration_ms == 7_000


def test_replay_cuts_long_pauses_and_keeps_its_clock_on_the_turn() -> None:
    player = _player(step_ms=60_000)
    assert player.duration_ms == 7 * MAX_GAP_MS
    player.advance(MAX_GAP_MS + 1_000)
    assert player.now_ms() == 5_000 + 60_000 + 1_000


def test_replay_seeks_to_any_place_and_back() -> None:
    player = _player()
    player.seek(3_500)
    assert [entry.seq for entry in player.played] == [0, 1, 2, 3]
    player.seek(-1_000_000)
    assert [entry.seq for entry in player.played] == [0]
    player.seek(1_000_000)
    assert fold_entries(player.played).answer == "a"
    player.seek(-2_000)
    assert [entry.seq for entry in player.played] == [0, 1, 2, 3, 4, 5]
    assert [entry.seq for entry in player.advance(2_000)] == [6, 7]


def test_replay_without_times_shows_everything_at_once() -> None:
    player = ReplayPlayer([Entry(seq, event) for seq, event in enumerate(thought_and_answer("t", "a"))])
    assert (player.duration_ms, player.now_ms()) == (0, None)
    assert len(player.advance(0)) == 8


def test_replay_speed_stays_within_its_steps() -> None:
    player = _player()
    for _ in range(20):
        player.change_speed(1)
    assert player.speed == 16.0
    assert len(player.advance(437.5)) == 8


class _SocketDriver(TerminalDriver):
    """Reads packets of bytes instead of a terminal until a key was pressed, and notes the keys."""

    def __init__(self, packets: socket.socket, last_key: str) -> None:
        self.fileno, self._debug, self.exit_event = packets.fileno(), False, threading.Event()
        self.typed = ""
        self._last_key = last_key

    def process_message(self, message: Message) -> None:
        if isinstance(message, Key) and message.character:
            self.typed += message.character
        if self._last_key in self.typed:
            self.exit_event.set()


@pytest.mark.parametrize("character", ["é", "漢", "🙂"])
def test_character_whose_bytes_come_one_by_one_is_one_key(character: str) -> None:
    terminal, keyboard = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with terminal, keyboard:
        for byte in f"a{character}.".encode():
            keyboard.send(bytes([byte]))
        driver = _SocketDriver(terminal, ".")
        driver.run_input_thread()
    assert driver.typed == f"a{character}."
