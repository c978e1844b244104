"""`thinkaloud` with a wall clock that is set forward or back while it runs.

The shift is in a file in THINKALOUD_HOME. The clock of durations is not touched, as on a real machine.
"""

import mmap
import os
import struct
import sys
import time
from pathlib import Path

SHIFT_FILE = "clock_shift"
_SHIFT = struct.Struct("q")
NS = 1_000_000_000


def write_shift(home: Path, shift_s: int) -> None:
    """Set the wall clock of the process of this home. The file is changed in place, because it is mapped."""
    path = home / SHIFT_FILE
    path.touch()
    with path.open("r+b") as file:
        file.write(_SHIFT.pack(shift_s * NS))


def shift_clock(home: Path) -> None:
    """Shift the wall clock of this process by what the file says, whenever it is read."""
    if not (home / SHIFT_FILE).exists():
        write_shift(home, 0)
    with (home / SHIFT_FILE).open("rb") as file:
        shift = mmap.mmap(file.fileno(), _SHIFT.size, access=mmap.ACCESS_READ)
    true_time_ns = time.time_ns

    def time_ns() -> int:
        return int(true_time_ns() + _SHIFT.unpack_from(shift)[0])

    time.time_ns = time_ns
    time.time = lambda: time_ns() / NS


if __name__ == "__main__":
    shift_clock(Path(os.environ["THINKALOUD_HOME"]))
    from thinkaloud.cli import main

    sys.exit(main())
