"""Some 230 kills, and what they cost: nothing but the batch under way.

    PYTHONPATH=backend python benchmarks/faults.py    # 160 of the indexer alone, 40 of the whole program, and the rest
    PYTHONPATH=backend python benchmarks/faults.py --kills 20 --programs 5 --handovers 0

Each is `kill -9` at a moment drawn by chance: during a first index, its repair, updates, or the change to another
model. Then the next start has to make the index whole by itself: catalog, keyword index and vectors equal the folder,
every page is found once by its number and once by its vector, and no passage was embedded twice beyond the batches that
were under way. The whole program runs with its real model, its children, the exact store and Chroma.

Servers that replace a daemon are killed in the middle, too.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "backend"))

from librarian.daemon import address
from tests.reliability.killable import Victims, assert_nothing_lost, change, opened, page
from tests.reliability.running import Running, until

if TYPE_CHECKING:
    from librarian.library import Librarian

FILES = 120
ROUND = 5
AT_WORK = ("while it embedded", "when all seemed done")


def main() -> int:
    """Prints what was survived; fails with the first thing that was lost."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=160, help="of the indexer alone")
    parser.add_argument("--programs", type=int, default=40, help="of the whole program")
    parser.add_argument("--handovers", type=int, default=30, help="of daemons and servers that replace them")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    began = time.monotonic()
    if given.kills:
        print(indexer_alone(given.kills, given.seed), flush=True)
    if given.programs:
        print(whole_program(given.programs, given.seed), flush=True)
    if given.handovers:
        print(handovers(given.handovers, given.seed), flush=True)
    print(f"took {time.monotonic() - began:.0f} s; seed {given.seed}")
    return 0


def filled(folder: Path, dice: random.Random, files: int) -> None:
    for number in range(files):
        path = folder / f"p{number % 3}" / "c" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(dice))


def indexer_alone(wanted: int, seed: int) -> str:
    """Rounds of five kills over one library each."""
    victims, dice = Victims(), random.Random(seed)
    at_work = rounds = again = embedded = 0
    while at_work < wanted:
        rounds += 1
        folder = Path(tempfile.mkdtemp())
        filled(folder / "library", dice, FILES)
        kills = 0
        for step in range(ROUND):
            if step == 2:
                library = opened(folder, "fake")
                library.complete()
                library.close()
            if step >= 2:
                change(folder / "library", dice.randrange(10**6))
            model = "other" if step == ROUND - 1 and rounds % 2 == 0 else "fake"
            kills += victims.kill_after(dice.uniform(0, 0.4), str(folder), model)
        figures = assert_nothing_lost(folder, model, kills)
        at_work += kills
        again += int(figures["again"])
        embedded += int(figures["embedded"])
        shutil.rmtree(folder)
    return (
        f"indexer: {at_work} kills at work in {rounds} libraries of {FILES} files survived; "
        f"{embedded:,} passages embedded, {again} of them again ({again / at_work:.1f} for each kill)"
    )


def whole_program(wanted: int, seed: int) -> str:
    """Kills of `librarian.daemon.serve --socket-only`, every other one once it has begun its work."""
    dice, pause = random.Random(seed), threading.Event()
    folder = Path(tempfile.mkdtemp())
    filled(folder / "docs", dice, FILES)
    moments: Counter[str] = Counter()
    slowest = 0.0
    settings = {"vector_db": {"store": "auto"}, "serve": {"idle_timeout_s": 0}}
    for number in range(wanted):
        if number % 10 == 9:
            shutil.rmtree(folder / "index", ignore_errors=True)  # a first index again
        change(folder / "docs", dice.randrange(10**6))
        running = Running(folder, settings, http=False)

        if number % 2:
            until(partial(is_at_work, folder / "index", running.process.pid), "its work")
        pause.wait(dice.uniform(0.3, 4.0))
        moments[moment(folder / "index", running.process.pid)] += 1
        running.process.kill()
        running.process.wait()
        if number % 10 == 7:
            slowest = max(slowest, whole(folder))
    slowest = max(slowest, whole(folder))
    shutil.rmtree(folder)
    return f"program: {wanted} kills ({dict(moments)}) survived; the slowest repair took {slowest:.1f} s"


def is_at_work(index: Path, pid: int) -> bool:
    return moment(index, pid) in AT_WORK


def moment(index: Path, pid: int) -> str:
    """What the program is at: by the address that it tells, and a copy of its catalog."""
    where = address.read(index)
    if where is None or where.pid != pid:
        return "while it started"
    with tempfile.TemporaryDirectory() as copied:
        for file in index.glob("catalog.sqlite*"):
            shutil.copy(file, copied)
        connection = sqlite3.connect(Path(copied) / "catalog.sqlite")
        try:
            ((chunks,),) = connection.execute("SELECT count(*) FROM chunks")
            ((embedded,),) = connection.execute("SELECT count(DISTINCT chunk_id) FROM windows")
        except sqlite3.OperationalError:  # no tables yet
            return "while it started"
        except sqlite3.DatabaseError:  # copied while it was written
            return "while it wrote"
        finally:
            connection.close()
    if not chunks:
        return "before it had read anything"
    return "while it embedded" if embedded < chunks else "when all seemed done"


def whole(folder: Path) -> float:
    """Open, wait, and ask for every page."""
    from librarian.library import Librarian  # not at the top: each child that is killed imports this module

    began = time.monotonic()
    with Librarian.open(folder / "config.json") as library:
        took = time.monotonic() - began
        found = library.check()
        assert found.ok, found.problems
        status = library.status()
        pages = {path.relative_to(folder / "docs").as_posix(): path for path in (folder / "docs").rglob("*.md")}
        assert status.documents == len(pages), (status.documents, len(pages))
        assert status.embedded_chunks == status.chunks
        for file_path, path in pages.items():
            title = path.read_text().splitlines()[0].removeprefix("# ")
            answer = library.search(f'"{title}"', mode="keyword")
            assert [result.file_path for result in answer.results] == [file_path]
            explained = library.analyze(first_window(library, file_path), path=file_path).why_not
            assert explained is not None
            ranks = {place.retriever: place.rank for place in explained.retrievers}
            assert ranks["semantic"] == 1, explained
    return took


def first_window(library: Librarian, file_path: str) -> str:
    """The very text of a file's first vector: nothing is nearer to it than itself."""
    from librarian.models import embedding_prefix

    parts = library._parts
    assert parts.embedder is not None
    with parts.catalog.read() as reader:
        stored = reader.document_by_path(file_path)
        assert stored is not None
        chunk = reader.chunks_of(stored.doc_id)[0].chunk
    return parts.embedder.get().windows(embedding_prefix(stored.document, chunk.heading_path), chunk.text)[0].text


def handovers(wanted: int, seed: int) -> str:
    """Kills of a daemon, of the server that takes over from it, or of both."""
    from tests.reliability.handover import hand_over

    dice, outcomes = random.Random(seed), Counter[str]()
    for _ in range(wanted):
        folder = Path(tempfile.mkdtemp())
        filled(folder / "docs", dice, 30)
        killed = dice.choice(("daemon", "server", "both"))
        hand_over(folder, killed, dice.uniform(0, 3))
        outcomes[killed] += 1
        shutil.rmtree(folder)
    return f"hand-overs: {wanted} ({dict(outcomes)} killed) survived; whoever asked was answered"


if __name__ == "__main__":
    sys.exit(main())
