"""Two hundred kills, and what they cost: nothing but the batch under way.

    PYTHONPATH=backend python benchmarks/faults.py                # 160 of the indexer alone, 40 of the whole program
    PYTHONPATH=backend python benchmarks/faults.py --kills 20 --programs 5

Each is `kill -9` at a moment drawn by chance: during a first index, its repair, updates, or the change to another
model. Then the next start has to make the index whole by itself: catalog, keyword index and vectors equal the folder,
every page is found once by its number and once by its vector, and no passage was embedded twice beyond the batches that
were under way. The whole program runs with its real model, its children, the exact store and Chroma.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "backend"))

from tests.reliability.killable import Victims, assert_nothing_lost, change, opened, page
from tests.reliability.running import Running

FILES = 120
ROUND = 5


def main() -> int:
    """Prints what was survived; fails with the first thing that was lost."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=160, help="of the indexer alone")
    parser.add_argument("--programs", type=int, default=40, help="of the whole program")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    began = time.monotonic()
    if given.kills:
        print(indexer_alone(given.kills, given.seed), flush=True)
    if given.programs:
        print(whole_program(given.programs, given.seed), flush=True)
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
            model = "other" if step == ROUND - 1 and rounds % 3 == 0 else "fake"
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
    """Kills of `librarian.serve --socket-only` as a relay starts it."""
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
        pause.wait(dice.uniform(0.3, 4.0))
        log = (folder / "index" / "librarian.log").exists()
        moments["after its start" if log else "while starting"] += 1
        running.process.kill()
        running.process.wait()
        if number % 10 == 7:
            slowest = max(slowest, whole(folder))
    slowest = max(slowest, whole(folder))
    shutil.rmtree(folder)
    return f"program: {wanted} kills ({dict(moments)}) survived; the slowest repair took {slowest:.1f} s"


def whole(folder: Path) -> float:
    """Open, wait, and ask for every page."""
    from librarian.assembly import Librarian  # not at the top: each child that is killed imports this module

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
            explained = library.analyze(path.read_text()[:600], path=file_path).why_not
            assert explained is not None
            ranks = {place.leg: place.rank for place in explained.legs}
            assert ranks["semantic"] is not None, explained
    return took


if __name__ == "__main__":
    sys.exit(main())
