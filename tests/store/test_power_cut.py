"""Power cuts, simulated: what was written and not synced is lost, wholly or in part."""

import asyncio
import random
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from tests.store.append_and_report import COMMITS, TURNS, entry_line
from tests.store.power_cut import Disk, Printed, Step, Sync, trace

from thinkaloud.gateway.store.engine.sqlite import open_database

IMAGES = 60


def strace_works() -> bool:
    """Whether processes may be traced here."""
    if shutil.which("strace") is None:
        return False
    return (
        subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode
        == 0
    )


pytestmark = pytest.mark.skipif(not strace_works(), reason="needs strace, and the right to trace processes")


def traced_run(folder: Path, sync: str) -> tuple[Disk, list[Step]]:
    """Append to a new database under strace; return the disk before that, and all steps."""
    home = folder / "home"
    home.mkdir()
    path = home / "thinkaloud.db"

    async def create() -> None:
        async with open_database(path):
            pass

    asyncio.run(create())
    disk = Disk(home)
    return disk, trace(["-m", "tests.store.append_and_report", str(path), sync], folder / "trace")


def stored_commits(path: Path) -> list[int]:
    """Check that a database is sound, and return how many commits each turn has, all of them unchanged."""
    with closing(sqlite3.connect(path)) as conn:
        assert conn.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = conn.execute("SELECT turn, first_seq, entries FROM log ORDER BY turn, first_seq").fetchall()
    counts = [0] * TURNS
    for turn, first, entries in rows:
        assert first == counts[turn - 1], "the log has a hole"
        assert entries == entry_line(first, turn)
        counts[turn - 1] += 1
    return counts


@pytest.mark.parametrize("sync", ["full", "normal"])
def test_power_cut_leaves_a_sound_file_with_every_promised_entry(tmp_path: Path, sync: str) -> None:
    """With `--sync full` every commit that was acknowledged is there; else the last ones may be missing."""
    disk, steps = traced_run(tmp_path, sync)
    dice = random.Random(1)
    cuts = set(dice.sample(range(len(steps)), IMAGES))
    promised, worst = 0, 0
    for number, step in enumerate(steps):
        disk.take(step)
        if isinstance(step, Printed) and step.line.startswith("committed"):
            promised = int(step.line.split()[1]) + 1
        if number in cuts:
            disk.cut_power(tmp_path / "image", dice, kept=dice.choice((0.0, 0.0, 0.5, 0.9)))
            counts = stored_commits(tmp_path / "image" / "thinkaloud.db")
            assert len(set(counts)) == 1, "a commit is whole or not there"
            worst = max(worst, promised - counts[0])
            assert counts[0] <= COMMITS
    assert promised == COMMITS
    syncs = sum(isinstance(step, Sync) for step in steps)
    if sync == "full":
        assert worst == 0, f"{worst} acknowledged commits are lost"
        assert syncs > COMMITS
    else:
        assert worst > 0, "the simulation loses what is not synced"
        assert syncs < COMMITS
