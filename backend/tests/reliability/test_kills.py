"""kill -9 of a real process, at moments that nobody chose:

* the next start makes the index whole by itself: every file is found once, by its words and by its vector;
* what was embedded is not embedded again, but for the batch that was under way;
* that holds for a first index, for updates, and while another model's vectors are being made.

`benchmarks/faults.py` does the same two hundred times, and with the whole program.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.reliability.killable import Victims, assert_nothing_lost, change, opened, page

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
