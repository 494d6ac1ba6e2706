"""What the library learns from itself once everything is embedded.

* it is told as a phase of its own, and the library isn't ready until it has ended
* whoever waits for the library waits for that too, and no longer than they said
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from librarian.api.model_text import status_rows
from librarian.library import Librarian


class Lesson:
    """Learning that ends when the test says so."""

    def __init__(self) -> None:
        self.left, self.waited = True, list[float | None]()

    def pending(self) -> bool:
        return self.left

    def wait(self, timeout_s: float | None = None) -> bool:
        self.waited.append(timeout_s)
        self.left = self.left and timeout_s is not None
        return not self.left


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Librarian]:
    (tmp_path / "docs" / "shop" / "api").mkdir(parents=True)
    (tmp_path / "docs" / "shop" / "api" / "a.md").write_text("# Tokens\n\nRotate a token.\n")
    settings = {"embeddings.enabled": False, "index.workers": 1, "docs.watch_for_changes": False}
    with Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", **settings) as opened:
        yield opened


def test_learning_is_a_phase_of_its_own(library: Librarian) -> None:
    lesson, parts = Lesson(), library._parts
    learning = Librarian(replace(parts, learning=lesson))
    status = learning.status()
    assert (status.status, status.progress.phase, learning.health().status) == ("indexing", "learning", "indexing")
    assert status_rows(status)["State"].startswith("Indexing: Learning")
    lesson.left = False
    status = learning.status()
    assert (status.status, status.progress.phase, learning.health().status) == ("ready", "idle", "ok")


def test_who_waits_for_the_library_waits_until_it_has_learned(library: Librarian) -> None:
    lesson = Lesson()
    learning = Librarian(replace(library._parts, learning=lesson))
    assert not learning.wait_until_ready(30.0)
    (waited,) = lesson.waited
    assert waited is not None
    assert 0 < waited <= 30
    assert learning.wait_until_ready()
    assert lesson.waited[-1] is None
    lesson.left = True
    learning.refresh(wait=False)
    assert lesson.left
