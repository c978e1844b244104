"""Saving a finished turn: everything is kept byte for byte, and each text in its own column."""

import asyncio
from functools import partial
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import select
from tests.dialects.recordings import RECORDINGS, Recording
from tests.store.log_fixtures import (
    NOW_MS,
    append_all,
    entries,
    new_turn,
    read_all,
    temporary_database,
    turn_events,
)

from thinkaloud.core.canon import (
    BlockEnded,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Usage,
    UsageReported,
)
from thinkaloud.core.transcript import Turn, apply
from thinkaloud.core.view import gateway_answer, thinking_block
from thinkaloud.gateway.store.engine.database import Database
from thinkaloud.gateway.store.log import nodes
from thinkaloud.gateway.store.log.event_log import EventLog
from thinkaloud.gateway.store.log.finish import drop_timing, finished_from_entries, save_finished
from thinkaloud.gateway.store.queries import sessions as session_queries
from thinkaloud.gateway.store.queries import turns as turn_queries
from thinkaloud.gateway.store.queries.messages import messages_of, turn_of
from thinkaloud.gateway.store.rows import Owner, Role, StoredMessage, TurnRow, TurnState, TurnTimestamps
from thinkaloud.gateway.store.schema import log as log_rows
from thinkaloud.gateway.store.schema import messages as message_rows
from thinkaloud.gateway.store.schema import turns

pytestmark = pytest.mark.usefixtures("each_engine")


def turn_of_entries(log_entries: list[Entry]) -> Turn:
    turn = Turn()
    for entry in log_entries:
        apply(turn, entry)
    return turn


async def finished_turn_row(database: Database, log_entries: list[Entry]) -> TurnRow:
    """Start a turn, write its events and save it."""
    row = await new_turn(database)
    async with EventLog(database) as log:
        writer = log.writer(row.key, row.epoch)
        append_all(writer, log_entries)
        await writer.close()
    return row


async def answer_of(database: Database, row: TurnRow) -> StoredMessage:
    messages_by_turn = await database.read(lambda conn: messages_of(conn, [row.key]))
    assert [message.role for message in messages_by_turn[row.key]] == [Role.USER, Role.ASSISTANT]
    return messages_by_turn[row.key][-1]


def without_seq(turn: Turn) -> Turn:
    for block in turn.blocks:
        block.pieces[:] = [block.text] if block.text else []
    return msgspec.structs.replace(turn, seq=-1)


def test_every_recording_is_saved_completely(tmp_path: Path) -> None:
    """R050–R053, K17: ordered parts, seals and raw payload; every projection rebuilds from them."""

    async def scenario(recording: Recording, database: Database) -> None:
        events = entries(recording.events())
        row = await finished_turn_row(database, events)
        turn, message = turn_of_entries(events), await answer_of(database, row)
        rebuilt = turn_of(message)
        assert without_seq(rebuilt) == without_seq(turn), recording.name
        assert message.thinking == gateway_answer(turn).reasoning_content
        assert message.content == turn.answer
        assert message.raw == turn.message
        assert msgspec.json.encode(gateway_answer(rebuilt)) == msgspec.json.encode(gateway_answer(turn))
        assert thinking_block(rebuilt) == thinking_block(turn)
        async with EventLog(database) as log:
            assert await read_all(log, row.key) == [msgspec.json.encode(entry) for entry in events]

    async def all_of_them() -> None:
        async with temporary_database(tmp_path) as database:
            for recording in RECORDINGS.values():
                await scenario(recording, database)

    asyncio.run(all_of_them())


@pytest.mark.parametrize(
    ("end", "state"),
    [
        (TurnEnded(Finish.STOP), TurnState.DONE),
        (TurnEnded(Finish.LENGTH), TurnState.DONE),
        (TurnEnded(Finish.CANCELLED), TurnState.CANCELLED),
        (TurnFailed("cut_off"), TurnState.FAILED),
        (TurnFailed("interrupted"), TurnState.INTERRUPTED),
    ],
)
def test_turn_state_follows_from_the_last_event(
    tmp_path: Path, end: TurnEnded | TurnFailed, state: TurnState
) -> None:
    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            row = await finished_turn_row(database, entries([TurnStarted(), end]))
            stored_row = await database.read(lambda conn: turn_queries.get(conn, Owner(1, 1), row.id))
            assert stored_row is not None
            assert (stored_row.state, stored_row.ended_ms) == (state, NOW_MS + 1)

    asyncio.run(scenario())


def test_timestamps_and_usage_are_saved(tmp_path: Path) -> None:
    """K22: request sent, first and last reasoning, first text; a missing count stays unknown."""

    async def scenario() -> None:
        events = turn_events("51")
        events.insert(-1, UsageReported(Usage(output=12, reasoning=0)))
        async with temporary_database(tmp_path) as database:
            message = await answer_of(database, await finished_turn_row(database, entries(events)))
            assert message.stamps == TurnTimestamps(NOW_MS, NOW_MS + 1, NOW_MS + 3, NOW_MS + 4)
            assert message.usage == Usage(output=12, reasoning=0)
            assert message.thinking == "51"

    asyncio.run(scenario())


def test_turn_without_thoughts_has_null_thinking(tmp_path: Path) -> None:
    async def scenario() -> None:
        events: list[Event] = [
            TurnStarted(),
            BlockStarted(0, Kind.TEXT),
            BlockEnded(0),
            TurnEnded(Finish.STOP),
        ]
        async with temporary_database(tmp_path) as database:
            message = await answer_of(database, await finished_turn_row(database, entries(events)))
            assert message.thinking is None
            assert message.stamps == TurnTimestamps(NOW_MS, first_text_ms=NOW_MS + 1)

    asyncio.run(scenario())


def test_title_is_made_from_the_question(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            await finished_turn_row(
                database, entries(turn_events("The answer is 51.", thought="canary thoughts"))
            )
            page = await database.read(lambda conn: session_queries.list_page(conn, Owner(1, 1), limit=1))
            assert page.items[0].title == "How much is 17 * 3?"

    asyncio.run(scenario())


def test_finished_log_is_compressed_and_its_timing_can_be_dropped(tmp_path: Path) -> None:
    told_events = entries(turn_events(*("word " for _ in range(20_000))))

    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            row = await finished_turn_row(database, told_events)
            sizes = await database.read(
                lambda conn: conn.execute(select(log_rows.c.packed, log_rows.c.entries)).all()
            )
            assert all(packed for packed, _ in sizes)
            assert sum(len(data) for _, data in sizes) < 20_000 * 10
            assert await database.write(lambda conn: drop_timing(conn, NOW_MS)) == 0
            assert await database.write(lambda conn: drop_timing(conn, NOW_MS + 10**9)) == 1
            assert await database.write(lambda conn: drop_timing(conn, NOW_MS + 10**9)) == 0
            async with EventLog(database) as log:
                lines = await read_all(log, row.key)
            assert len(lines) < 20
            again = turn_of_entries([msgspec.json.decode(line, type=Entry) for line in lines])
            assert without_seq(again) == without_seq(turn_of_entries(told_events))
            forgot = await database.read(
                lambda conn: conn.scalar(select(turns.c.timing_kept).where(turns.c.key == row.key))
            )
            assert forgot is False

    asyncio.run(scenario())


def test_turn_that_its_writer_saves_twice_counts_as_saved_and_another_writer_as_lost(tmp_path: Path) -> None:
    """The acknowledgement of the first commit may have been lost."""

    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            log_entries = entries(turn_events("It is 42."))
            row = await finished_turn_row(database, log_entries)
            finished = finished_from_entries(log_entries)
            for epoch, saved in ((row.epoch, True), (row.epoch + 1, False)):
                save = partial(save_finished, key=row.key, finished=finished, epoch=epoch)
                assert await database.write(save) is saved
            running = {row.key: row.epoch}
            lost = await database.read(lambda conn: nodes.lost_turns(conn, "w", running))
            assert lost == [], "a turn that has just been saved is not lost"
            messages = select(turns.c.key, message_rows.c.key).join(message_rows)
            answers = messages.where(message_rows.c.role == Role.ASSISTANT)
            assert len(await database.read(lambda conn: conn.execute(answers).all())) == 1

    asyncio.run(scenario())
