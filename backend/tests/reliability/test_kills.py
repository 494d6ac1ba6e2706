"""kill -9 of a real process, at moments that nobody chose:

* the next start makes the index whole by itself: every file is found once, by its words and by its vector;
* what was embedded is not embedded again, but for the batch that was under way;
* that holds for a first index, for updates, and while another model's vectors are being made;
* an index of an older format that is killed while it is brought up to date opens the next time;
* a library that a server takes over from a daemon is answered for, whichever of the two is killed meanwhile.

`benchmarks/faults.py` does the same two hundred times, and with the whole program.
"""

from __future__ import annotations

import random
import sqlite3
import tarfile
from pathlib import Path
from typing import Literal

import pytest

from tests.reliability.formats import FORMATS, PAGES
from tests.reliability.handover import hand_over
from tests.reliability.killable import Victims, assert_nothing_lost, bring_up_to_date, change, opened, page
from tests.storage.library import Library

KILLS = 20
FILES = 60


@pytest.fixture(scope="module")
def victims() -> Victims:
    return Victims()


def filled(folder: Path, seed: int) -> Path:
    dice = random.Random(seed)
    folder.mkdir()
    for number in range(FILES):
        path = folder / "library" / f"p{number % 3}" / "c" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(dice))
    return folder


@pytest.mark.parametrize("seed", range(KILLS // 5))
def test_kills_at_random_moments_lose_nothing(tmp_path: Path, victims: Victims, seed: int) -> None:
    folder = filled(tmp_path / "place", seed)
    dice = random.Random(seed)
    kills = 0
    kills += victims.kill_after(dice.uniform(0, 0.25), str(folder), "fake")  # a first index
    kills += victims.kill_after(dice.uniform(0, 0.25), str(folder), "fake")  # its repair
    complete = opened(folder, "fake")
    complete.complete()
    complete.close()
    change(folder / "library", seed)
    kills += victims.kill_after(dice.uniform(0, 0.15), str(folder), "fake")  # an update
    change(folder / "library", seed + 100)
    kills += victims.kill_after(dice.uniform(0, 0.15), str(folder), "fake")  # an update of what was half done
    assert_nothing_lost(folder, "fake", kills)
    kills += victims.kill_after(dice.uniform(0, 0.2), str(folder), "other")  # another model
    assert_nothing_lost(folder, "other", kills)


@pytest.mark.parametrize("number", sorted(path.name.removesuffix(".tar.gz") for path in FORMATS.glob("*.tar.gz")))
def test_an_older_format_opens_although_bringing_it_up_to_date_was_killed(tmp_path: Path, number: str) -> None:
    with tarfile.open(FORMATS / f"{number}.tar.gz") as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.2 knows none
        archive.extractall(tmp_path)
    connection = sqlite3.connect(tmp_path / "index" / "catalog.sqlite")
    connection.execute("UPDATE meta SET value = ? WHERE key = 'root'", (str(tmp_path / "library"),))
    connection.commit()
    connection.close()
    upgraders, dice = Victims(bring_up_to_date), random.Random(int(number))
    for _ in range(3):
        upgraders.kill_after(dice.uniform(0, 0.06), str(tmp_path))
    library = Library(tmp_path)
    library.complete()
    assert library.documents() == set(PAGES)
    assert library.find("wombat") == {"ray/core/tasks.md"}
    assert library.catalog.verify() == []
    assert library.indexer.check() == []
    assert library.embedder.calls == 0
    library.close()


@pytest.mark.parametrize(("killed", "after_s"), [("daemon", 0.6), ("server", 1.2), ("both", 0.9)])
def test_a_kill_while_a_server_takes_over_leaves_nobody_unanswered(
    tmp_path: Path, killed: Literal["daemon", "server", "both"], after_s: float
) -> None:
    dice = random.Random(5)
    for number in range(30):
        path = tmp_path / "docs" / f"p{number % 3}" / "c" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(dice))
    hand_over(tmp_path, killed, after_s)
