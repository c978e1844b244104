"""`thinkaloud import`: brings sessions of Thinkaloud and conversations of other programs into the gateway.

A file is read to its end before anything is sent, so a damaged one adds nothing. What was read waits in a
file without a name. Long conversations are sent in parts, each with the key of the turn that it follows.
"""

import argparse
import glob
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec
from msgspec import UNSET

from thinkaloud.cli.commands.sessions import one_line, run_with_gateway
from thinkaloud.cli.gateway_client import GatewayClient, add_server_options
from thinkaloud.cli.gateway_client.client import ConversationInfo
from thinkaloud.cli.output.console import (
    EXIT_OK,
    STDIN,
    ProgressLine,
    add_json_option,
    print_error,
    print_json,
    read_bytes,
)
from thinkaloud.cli.output.words import command_words
from thinkaloud.core.canon import Refused, Wording, reason_of
from thinkaloud.core.export.record import Exchange, SessionRecord, write_json
from thinkaloud.importers import FORMAT_NAMES, ImportedSession, UnknownFormat, UnreadItem, open_history

PART_BYTES = 4 * 1024 * 1024
"""Sent at once. A gateway takes at most 10 MiB, unless it was started with another limit."""
PART_TURNS = 500
"""Sent at once. Each request of this size starts a process in the gateway, so small parts share one."""
_SUFFIXES = frozenset((".json", ".jsonl", ".zip", ".db", ".md"))
"""Files of a folder that are looked at."""
_OWN_STARTS = (b'{"thinkaloud"', b"<!-- thinkaloud")
_HEAD_BYTES = 64
_SHOWN_UNREAD = 12


class FileReport(msgspec.Struct, kw_only=True):
    """What came, or would come, out of a file."""

    file: str
    format: str
    dry_run: bool
    conversations: int = 0
    new: int = 0
    grown: int = 0
    turns: int = 0
    turns_added: int = 0
    thoughts: int = 0
    calls: int = 0
    sessions: list[str] = []
    unread: list[UnreadItem] = []


def add_import(parser: argparse.ArgumentParser) -> None:
    """Add the options of `import`."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a file, a folder with files, or a pattern such as 'logs/*.jsonl'; - reads standard input",
    )
    parser.add_argument(
        "--format", choices=FORMAT_NAMES, default="", help="the format (default: told by the content)"
    )
    parser.add_argument("--dry-run", action="store_true", help="only tell what would be imported")
    add_json_option(parser, "a list with one report for each file")
    add_server_options(parser)
    parser.set_defaults(run=run_with_gateway(_import))


async def _import(client: GatewayClient, options: argparse.Namespace) -> int:
    exit_code, passed_over = EXIT_OK, 0
    reports: list[FileReport] = []
    for name, named in _files(options.files):
        try:
            report = await _FileImport(client, options, name).run()
        except Refused as error:
            if isinstance(error, UnknownFormat) and not named:
                passed_over += 1
                continue
            exit_code = print_error(Wording("{file}: {reason}", file=one_line(name), reason=error.wording))
        else:
            reports.append(report)
            if not options.json:
                _print_report(report)
    if options.json:
        print_json(reports)
    if passed_over:
        print(command_words().text("import_passed_over", n=passed_over), file=sys.stderr)
    return exit_code


def _files(names: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield the files to read, and whether each was named. Others may be of no known format."""
    for name in names:
        path = Path(name)
        matches: list[Path] = []
        if name != STDIN and path.is_dir():
            matches = [path]
        elif name != STDIN and not path.exists():
            matches = _matches(name)
        if not matches:
            yield name, True  # if it does not exist, reading it tells so
        for match in matches:
            for found in _files_in(match) if match.is_dir() else (match,):
                yield str(found), False


def _matches(pattern: str) -> list[Path]:
    """Return each file and folder of a pattern once. It goes through links, and may reach one by many."""
    matches = sorted(glob.glob(pattern, recursive=True))
    return list({Path(match).resolve(): Path(match) for match in reversed(matches)}.values())


def _files_in(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder, then those of its folders, that may hold conversations; no links."""
    try:
        paths = sorted(path for path in folder.iterdir() if not path.is_symlink())
    except OSError as error:
        raise Refused(
            "Cannot read the folder {folder}: {reason}.", folder=folder, reason=reason_of(error)
        ) from None
    yield from (path for path in paths if path.suffix.lower() in _SUFFIXES and path.is_file())
    for path in paths:
        if path.is_dir():
            yield from _files_in(path)


class _Part(NamedTuple):
    """A part of a conversation in the file without a name. Sorted, the oldest conversation comes first.

    Those of sub-agents come last, because they are nested in conversations that must be there before.
    """

    nested: bool
    order_ms: int
    conversation: int
    start: int
    size: int
    turns: int


class _Outcome(msgspec.Struct):
    """What the gateway did with a conversation."""

    new: bool
    turns_added: int = 0
    session: str = ""


class _FileImport:
    """Imports one file."""

    def __init__(self, client: GatewayClient, options: argparse.Namespace, name: str) -> None:
        self._client = client
        self._dry_run: bool = options.dry_run
        self._format: str = options.format
        self._name = name
        self._report = FileReport(file=name, format=options.format, dry_run=options.dry_run)
        self._outcomes: dict[int, _Outcome] = {}

    async def run(self) -> FileReport:
        """Read the file to its end, then send what was read."""
        if self._name == STDIN:
            await self._send_whole(read_bytes(STDIN, Wording("a file to import")))
        elif self._is_own_file():
            await self._send_whole(read_bytes(self._name, Wording("an exported session")))
        else:
            with tempfile.TemporaryFile() as spool:
                await self._send_parts(spool, self._read_history(spool))
        report, outcomes = self._report, self._outcomes.values()
        report.new = sum(outcome.new for outcome in outcomes)
        report.grown = sum(not outcome.new and outcome.turns_added > 0 for outcome in outcomes)
        report.turns_added = sum(outcome.turns_added for outcome in outcomes)
        report.sessions = [outcome.session for outcome in outcomes if outcome.session]
        return report

    def _is_own_file(self) -> bool:
        if self._format:
            return False
        try:
            with open(self._name, "rb") as file:
                head = file.read(_HEAD_BYTES)
        except OSError as error:
            raise Refused(
                "Cannot read it: {reason}. Give a file to import.", reason=reason_of(error)
            ) from None
        return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(_OWN_STARTS)

    async def _send_whole(self, content: bytes) -> None:
        """Send a file as it is; the gateway reads it."""
        imported = await self._client.import_file(content, format_name=self._format, dry_run=self._dry_run)
        for number, conversation in enumerate(imported.conversations):
            self._count(conversation.turns, conversation.thoughts, conversation.calls)
            self._add(number, conversation)
        self._report.format = imported.format
        self._report.unread = msgspec.convert(imported.unread, list[UnreadItem])

    def _read_history(self, spool: BinaryIO) -> list[_Part]:
        """Write the conversations of the file to `spool`. Return their parts, the oldest one first."""
        parts: list[_Part] = []
        progress = _ImportProgress(one_line(self._name))
        file, history = open_history(Path(self._name), self._format)
        with file:
            for number, session in enumerate(history.sessions()):
                self._count(session.turns, session.thoughts, session.calls)
                order_ms = session.record.exchanges[-1].created_ms or session.record.created_ms or 0
                nested = session.record.source is not None and bool(session.record.source.parent)
                for part, turns in parts_of(session):
                    parts.append(_Part(nested, order_ms, number, spool.tell(), len(part), turns))
                    spool.write(part)
                progress.show("import_reading", self._report.conversations)
        progress.clear()
        self._report.format = history.format
        self._report.unread = list(history.unread)
        return sorted(parts)

    async def _send_parts(self, spool: BinaryIO, parts: list[_Part]) -> None:
        progress = _ImportProgress(one_line(self._name))
        sent = 0
        for group in _groups(parts):
            content = b"\n".join(_read_part(spool, part) for part in group)
            imported = await self._client.import_file(content, dry_run=self._dry_run)
            for part, conversation in zip(group, imported.conversations, strict=True):
                self._add(part.conversation, conversation)
            sent += len(group)
            progress.show("import_sending", sent, total=len(parts))
        progress.clear()

    def _count(self, turns: int, thoughts: int, calls: int) -> None:
        self._report.conversations += 1
        self._report.turns += turns
        self._report.thoughts += thoughts
        self._report.calls += calls

    def _add(self, number: int, conversation: ConversationInfo) -> None:
        outcome = self._outcomes.setdefault(number, _Outcome(conversation.new))
        outcome.turns_added += conversation.turns_added
        outcome.session = conversation.session


def _groups(parts: Iterable[_Part]) -> Iterator[list[_Part]]:
    """Yield the parts that one request sends, in their order."""
    group: list[_Part] = []
    size = turns = 0
    for part in parts:
        size += part.size
        turns += part.turns
        if group and (size > PART_BYTES or turns > PART_TURNS):
            yield group
            group, size, turns = [], part.size, part.turns
        group.append(part)
    if group:
        yield group


def _read_part(spool: BinaryIO, part: _Part) -> bytes:
    spool.seek(part.start)
    return spool.read(part.size)


def parts_of(session: ImportedSession) -> Iterator[tuple[bytes, int]]:
    """Yield a session as files of Thinkaloud, none much larger than `PART_BYTES`, with their turn counts."""
    exchanges: list[Exchange] = []
    start = size = 0
    for index, exchange in enumerate(session.record.exchanges):
        exchange_size = len(msgspec.json.encode(exchange))
        if exchanges and (size + exchange_size > PART_BYTES or len(exchanges) == PART_TURNS):
            yield _part(session.record, exchanges), len(exchanges)
            exchanges, start, size = [], index, 0
        exchanges.append(_relative(session.record, index, start))
        size += exchange_size
    yield _part(session.record, exchanges), len(exchanges)


def _part(record: SessionRecord, exchanges: list[Exchange]) -> bytes:
    return write_json(msgspec.structs.replace(record, exchanges=tuple(exchanges)))


def _relative(record: SessionRecord, index: int, start: int) -> Exchange:
    """Return an exchange for a part that begins with the exchange `start`."""
    exchange = record.exchanges[index]
    followed = index - 1 if exchange.follows is UNSET else exchange.follows
    if 0 <= followed < start:
        key = record.exchanges[followed].key
        return msgspec.structs.replace(exchange, follows=UNSET, follows_key=key)
    if followed < 0:
        first = index == start == 0  # that it follows none is its default
        return msgspec.structs.replace(exchange, follows=UNSET if first else -1)
    if followed == index - 1:
        return msgspec.structs.replace(exchange, follows=UNSET)
    return msgspec.structs.replace(exchange, follows=followed - start)


class _ImportProgress(ProgressLine):
    """Shows how far the import of a file is."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def show(self, key: str, number: int, total: int = 0) -> None:
        """Show how far the import is."""
        self.write(command_words().text(key, name=self._name, n=number, total=str(total)))


def _print_report(report: FileReport) -> None:
    """Print the ids of the sessions to stdout, and the counts to stderr."""
    words = command_words()
    for session in report.sessions:
        print(session)
    counts = {
        "import_conversations": report.conversations,
        "import_new": report.new,
        "import_grown": report.grown,
        "import_turns": report.turns_added,
        "import_thoughts": report.thoughts,
        "import_calls": report.calls,
    }
    if not report.grown:  # seldom, so it is told only then
        del counts["import_grown"]
    parts = [words.text(key, n=count) for key, count in counts.items()]
    key = "import_planned" if report.dry_run else "imported"
    print(words.text(key, name=one_line(report.file), counts=", ".join(parts)), file=sys.stderr)
    for item in report.unread[:_SHOWN_UNREAD]:
        text = words.text("import_unread", n=item.count, name=one_line(item.what), line=str(item.line))
        print(f"  {text}", file=sys.stderr)
    if (left := len(report.unread) - _SHOWN_UNREAD) > 0:
        print(f"  {words.text('import_unread_more', n=left)}", file=sys.stderr)
