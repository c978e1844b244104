"""How long a search takes among many blocks: rare words and common ones, of one who owns them all or few.

Beside it the same words are looked for with LIKE in the texts themselves, which is what a chat without an
index does: it is quick where the words are everywhere, and slow where a search is worth it.
"""

import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection, create_engine, insert, text

from benchmarks.report import Goal, Section, WrongAnswer, table
from benchmarks.words import words
from thinkaloud.store import search
from thinkaloud.store.rows import Owner, SearchKind
from thinkaloud.store.schema import messages, metadata, parts, sessions, turns, users, workspaces

TITLE = "Searching"
WORDS_IN_A_BLOCK = 200
BLOCKS_IN_A_TURN = 10
MOST_P99_MS = 50
KINDS = frozenset({SearchKind.ANSWER, SearchKind.THOUGHT})
ALL, FEW = Owner(1, 1), Owner(2, 1)
SHARE_OF_FEW = 100

NOWHERE = "abracadabra"
QUERIES = {
    "a word that is there once": ("zyzzyva", ALL),
    "a word in one block of a hundred": ("ornitorrinco", ALL),
    "a word in every block": ("therefore", ALL),
    "three words in every block": ("therefore however step", ALL),
    "a phrase": ('"let me think again"', ALL),
    "the beginning of a common word": ("ther*", ALL),
    "ação, written acao": ("acao", ALL),
    "a word in every block, by one who owns 1 %": ("therefore", FEW),
    "a word that is nowhere": (NOWHERE, ALL),
}


def fill(conn: Connection, blocks: int) -> None:
    """So many blocks of thought and answer, in turns of ten."""
    metadata.create_all(conn)
    search.create(conn)
    dice = random.Random(11)
    conn.execute(insert(users), [{"id": f"u{n}", "name": f"u{n}", "created_ms": 0} for n in (1, 2)])
    conn.execute(insert(workspaces), [{"id": "w", "name": "w", "created_ms": 0}])
    rows = [{"id": f"s{n}", "user": n, "workspace": 1, "created_ms": 0, "updated_ms": 0} for n in (1, 2)]
    conn.execute(insert(sessions), rows)
    for turn in range(1, blocks // BLOCKS_IN_A_TURN + 1):
        owner = 2 if turn % SHARE_OF_FEW == 0 else 1
        row = {"id": f"t{turn}", "session": owner, "position": turn, "created_ms": turn, "state": "done"}
        conn.execute(insert(turns), [row])
        conn.execute(insert(messages), [{"turn": turn, "position": 0, "role": "assistant"}])
        conn.execute(insert(parts), [_part(turn, n, dice) for n in range(BLOCKS_IN_A_TURN)])
    search.rebuild(conn)


def _part(turn: int, number: int, dice: random.Random) -> dict[str, object]:
    said = words(WORDS_IN_A_BLOCK, seed=dice.randrange(10**9))
    said += [" therefore however step let me think again"]
    if dice.random() < 1 / 100:
        said.insert(dice.randrange(len(said)), " ornitorrinco em ação")
    if (turn, number) == (1, 0):
        said.insert(0, "zyzzyva")
    kind = "reasoning" if number % 2 else "text"
    return {"message": turn, "position": number, "number": number, "kind": kind, "text": "".join(said)}


def spent_ms(look: Callable[[], int], rounds: int) -> list[float]:
    """Milliseconds on the wall, sorted: a person waits for them."""
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        look()
        taken.append((time.perf_counter() - began) * 1000)
    return sorted(taken)


def measure(blocks: int, rounds: int) -> Section:
    """The answer, for the report."""
    with tempfile.TemporaryDirectory() as folder:
        engine = create_engine(f"sqlite:///{Path(folder) / 'search.db'}")
        with engine.begin() as conn:
            fill(conn, blocks)
        with engine.connect() as conn:
            rows, worst = _rows(conn, rounds)
        engine.dispose()
    head = (f"{blocks:,} blocks of {WORDS_IN_A_BLOCK} words", "hits shown", "p50, ms", "p99, ms", "LIKE, ms")
    goal = Goal(
        f"search among {blocks:,} blocks: p99 ≤ {MOST_P99_MS} ms", f"{worst:.1f} ms", worst <= MOST_P99_MS
    )
    return Section(TITLE, table(head, rows), (goal,))


def _rows(conn: Connection, rounds: int) -> tuple[list[tuple[str, ...]], float]:
    rows: list[tuple[str, ...]] = []
    worst = 0.0
    for name, (asked, owner) in QUERIES.items():

        def ours(asked: str = asked, owner: Owner = owner) -> int:
            return len(search.find(conn, owner, asked, kinds=KINDS, limit=20).items)

        def like(asked: str = asked) -> int:
            pattern = f"%{asked.strip('*').replace(chr(34), '')}%"
            query = text("SELECT message FROM parts WHERE text LIKE :p ORDER BY message DESC LIMIT 20")
            return len(conn.execute(query, {"p": pattern}).all())

        shown = ours()
        if (shown == 0) != (asked == NOWHERE):
            raise WrongAnswer(f"{shown} hits for {name}")
        taken = spent_ms(ours, rounds)
        p99 = taken[int(len(taken) * 0.99)]
        worst = max(worst, p99)
        beside = spent_ms(like, 3)[0]
        rows.append((name, str(shown), f"{taken[len(taken) // 2]:.2f}", f"{p99:.2f}", f"{beside:.1f}"))
    return rows, worst
