"""Time of a search among many blocks: rare and common words, for an owner of all blocks or of a few.

For comparison, the same words are searched with LIKE, as a chat without an index does. LIKE is fast for words
that are everywhere and slow for rare ones.
"""

import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection, create_engine, insert, text

from benchmarks.report import Goal, Section, WrongAnswer, table
from benchmarks.sample_text import words
from thinkaloud.gateway.store.rows import Owner, SearchKind
from thinkaloud.gateway.store.schema import messages, metadata, parts, sessions, turns, users, workspaces
from thinkaloud.gateway.store.search import index as search_index
from thinkaloud.gateway.store.search.find import find_hits

TITLE = "Searching"
WORDS_IN_A_BLOCK = 200
BLOCKS_IN_A_TURN = 10
MAX_P99_MS = 50
KINDS = frozenset({SearchKind.ANSWER, SearchKind.THOUGHT})
OWNER_OF_MOST, OWNER_OF_FEW = Owner(1, 1), Owner(2, 1)
SHARE_OF_FEW = 100

ABSENT_WORD = "abracadabra"
QUERIES = {
    "a word that is there once": ("zyzzyva", OWNER_OF_MOST),
    "a word in one block of a hundred": ("ornitorrinco", OWNER_OF_MOST),
    "a word in every block": ("therefore", OWNER_OF_MOST),
    "three words in every block": ("therefore however step", OWNER_OF_MOST),
    "a phrase": ('"let me think again"', OWNER_OF_MOST),
    "the beginning of a common word": ("ther*", OWNER_OF_MOST),
    "ação, written acao": ("acao", OWNER_OF_MOST),
    "a word in every block, by one who owns 1 %": ("therefore", OWNER_OF_FEW),
    "a word that is nowhere": (ABSENT_WORD, OWNER_OF_MOST),
}


def fill_database(conn: Connection, blocks: int) -> None:
    """Create blocks of reasoning and answer, ten per turn."""
    metadata.create_all(conn)
    search_index.create(conn)
    generator = random.Random(11)
    conn.execute(insert(users), [{"id": f"u{n}", "name": f"u{n}", "created_ms": 0} for n in (1, 2)])
    conn.execute(insert(workspaces), [{"id": "w", "name": "w", "created_ms": 0}])
    rows = [{"id": f"s{n}", "user": n, "workspace": 1, "created_ms": 0, "updated_ms": 0} for n in (1, 2)]
    conn.execute(insert(sessions), rows)
    for turn in range(1, blocks // BLOCKS_IN_A_TURN + 1):
        owner = 2 if turn % SHARE_OF_FEW == 0 else 1
        row = {"id": f"t{turn}", "session": owner, "position": turn, "created_ms": turn, "state": "done"}
        conn.execute(insert(turns), [row])
        conn.execute(insert(messages), [{"turn": turn, "position": 0, "role": "assistant"}])
        conn.execute(insert(parts), [_part_row(turn, n, generator) for n in range(BLOCKS_IN_A_TURN)])
    search_index.rebuild_index(conn)


def _part_row(turn: int, number: int, generator: random.Random) -> dict[str, object]:
    text_words = words(WORDS_IN_A_BLOCK, seed=generator.randrange(10**9))
    text_words += [" therefore however step let me think again"]
    if generator.random() < 1 / 100:
        text_words.insert(generator.randrange(len(text_words)), " ornitorrinco em ação")
    if (turn, number) == (1, 0):
        text_words.insert(0, "zyzzyva")
    kind = "reasoning" if number % 2 else "text"
    return {"message": turn, "position": number, "number": number, "kind": kind, "text": "".join(text_words)}


def time_queries_ms(query: Callable[[], int], rounds: int) -> list[float]:
    """Wall time in milliseconds, sorted."""
    durations_ms = []
    for _ in range(rounds):
        started = time.perf_counter()
        query()
        durations_ms.append((time.perf_counter() - started) * 1000)
    return sorted(durations_ms)


def measure(blocks: int, rounds: int) -> Section:
    """Measure and return the section for the report."""
    with tempfile.TemporaryDirectory() as folder:
        engine = create_engine(f"sqlite:///{Path(folder) / 'search.db'}")
        with engine.begin() as conn:
            fill_database(conn, blocks)
        with engine.connect() as conn:
            rows, worst = _rows(conn, rounds)
        engine.dispose()
    head = (f"{blocks:,} blocks of {WORDS_IN_A_BLOCK} words", "hits shown", "p50, ms", "p99, ms", "LIKE, ms")
    goal = Goal(
        f"search among {blocks:,} blocks: p99 ≤ {MAX_P99_MS} ms", f"{worst:.1f} ms", worst <= MAX_P99_MS
    )
    return Section(TITLE, table(head, rows), (goal,))


def _rows(conn: Connection, rounds: int) -> tuple[list[tuple[str, ...]], float]:
    rows: list[tuple[str, ...]] = []
    worst = 0.0
    for name, (query_text, owner) in QUERIES.items():

        def search_index(query_text: str = query_text, owner: Owner = owner) -> int:
            return len(find_hits(conn, owner, query_text, kinds=KINDS, limit=20).items)

        def search_like(query_text: str = query_text) -> int:
            pattern = f"%{query_text.strip('*').replace(chr(34), '')}%"
            query = text("SELECT message FROM parts WHERE text LIKE :p ORDER BY message DESC LIMIT 20")
            return len(conn.execute(query, {"p": pattern}).all())

        hit_count = search_index()
        if (hit_count == 0) != (query_text == ABSENT_WORD):
            raise WrongAnswer(f"{hit_count} hits for {name}")
        durations_ms = time_queries_ms(search_index, rounds)
        p99 = durations_ms[int(len(durations_ms) * 0.99)]
        worst = max(worst, p99)
        like_ms = time_queries_ms(search_like, 3)[0]
        rows.append(
            (
                name,
                str(hit_count),
                f"{durations_ms[len(durations_ms) // 2]:.2f}",
                f"{p99:.2f}",
                f"{like_ms:.1f}",
            )
        )
    return rows, worst
