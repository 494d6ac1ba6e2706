"""A keyword index that counts too many deleted entries is written anew, from the files.

* Afterwards it scores as one made afresh, nothing was embedded again, and it isn't done again at once.
* Meanwhile every search finds everything, and a kill at any step leaves the library whole.
* What can't be read just then keeps its entries; what has changed is taken in like any change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from librarian.errors import SourceError
from librarian.indexing import refresh, writer
from librarian.models import ReadResult, SourceFile
from tests.contracts.lexical_contract import EVERYTHING, asked
from tests.storage.library import Killed, Library

FILES = [f"ray/core/{number}.md" for number in range(6)]
PATIENCE_S = 240.0  #: matters only where something is wrong


def text(number: int, more: str = "") -> str:
    return f"# Number {number}\n\nA passage about wombats. {more}\n"


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    """Five of its six pages were edited, each in a batch of its own."""
    monkeypatch.setattr(writer, "FEW_DEAD", 2)
    made = Library(tmp_path)
    for number, path in enumerate(FILES):
        made.write(path, text(number))
    made.complete()
    for number, path in enumerate(FILES[:5]):
        made.write(path, text(number, "Edited."))
        made.indexer.refresh([str(made.root / path)])
    made.complete()
    assert made.lexical.dead() == 5
    monkeypatch.setattr(refresh, "_FIRST_BATCH", 2)
    monkeypatch.setattr(refresh, "_BATCH", 2)
    yield made
    made.close()


class Subscriptions:
    """A reader that something is done at, and that fails where told."""

    def __init__(self, library: Library, at: Callable[[SourceFile], object]) -> None:
        self.inner, self.at = library.reader, at
        self.fingerprint = library.reader.fingerprint

    def read(self, source: SourceFile) -> ReadResult:
        self.at(source)
        return self.inner.read(source)


def renew(library: Library) -> None:
    """What the periodic look does."""
    library.indexer._renew()
    library.indexer.refresh()


def reads(library: Library, at: Callable[[SourceFile], object] = lambda _: None) -> list[str]:
    """Reopened with a reader that notes what it reads, and calls `at`."""
    seen: list[str] = []
    library.reader = Subscriptions(library, lambda source: (seen.append(source.file_path), at(source)))
    library.reopen()
    library.indexer.refresh()
    return seen


def test_a_worn_index_scores_as_a_fresh_one_after_the_next_look(library: Library) -> None:
    embedded = library.embedder.calls
    with library.indexer as indexer:
        indexer.start()
        assert indexer.wait_until_ready(PATIENCE_S)
        assert library.lexical.dead() == 5, "a start isn't held up"
        indexer.scan_soon()
        assert indexer.wait_until_ready(PATIENCE_S)
        assert library.lexical.dead() == 0
    library.assert_whole()
    assert library.embedder.calls == embedded
    fresh = library.lexical.search(asked("wombat", "edit"), EVERYTHING, 9).raw
    library.indexer.rebuild()
    assert library.lexical.search(asked("wombat", "edit"), EVERYTHING, 9).raw == pytest.approx(fresh)


def test_searches_find_everything_meanwhile(library: Library) -> None:
    found: list[set[str]] = []
    seen = reads(library, lambda _: found.append(library.find("wombats")))
    renew(library)
    assert (sorted(seen), library.lexical.dead()) == (FILES, 0)
    assert found == [set(FILES)] * len(FILES)


def test_it_is_not_done_for_few_entries_nor_twice_in_a_day(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = reads(library)
    monkeypatch.setattr(writer, "FEW_DEAD", 1_000)
    renew(library)
    assert seen == []
    monkeypatch.setattr(writer, "FEW_DEAD", -1)
    monkeypatch.setattr(writer, "DEAD_SHARE", -1)
    for days, files in ((0, 6), (0.9, 6), (2, 12)):
        library.now = 1_000_000.0 + days * 86_400
        renew(library)
        assert len(seen) == files


@pytest.mark.parametrize("place", [1, 2, 3])
@pytest.mark.parametrize("step", ["catalog put", "lexical commit", "bump"])
def test_a_kill_at_any_step_loses_nothing(library: Library, step: str, place: int) -> None:
    left = iter(range(place - 1))

    def fault(reached: str) -> None:
        if reached == step and next(left, None) is None:
            raise Killed(step)

    library._fault = fault  # type: ignore[method-assign]
    library.reopen()
    if step == "catalog put" or place == 1:  # three batches, but what they wrote is shown once
        with pytest.raises(Killed):
            renew(library)
    else:
        renew(library)
    assert library.find("wombats") == set(FILES)
    library._fault = lambda _: None  # type: ignore[method-assign]
    library.reopen()
    assert library.find("wombats") == set(FILES)
    library.complete()
    library.assert_whole()


def test_what_cannot_be_read_just_then_keeps_its_entries(library: Library) -> None:
    broken: set[str] = set()

    def fail(source: SourceFile) -> None:
        if source.file_path in broken:
            raise SourceError("not now", reason="unreadable")

    reads(library, fail)
    broken.add(FILES[2])
    renew(library)
    assert library.find("wombats") == set(FILES)
    assert library.indexer.refresh().failed == ()
    library.assert_whole()


def test_a_change_that_comes_with_it_is_taken_in(library: Library) -> None:
    reads(library)
    library.write(FILES[1], "# Number 1\n\nNow about ocelots, which is longer.\n")
    (library.root / FILES[4]).unlink()
    library.indexer._renew()
    report = library.indexer.refresh()
    assert (report.changed, report.removed) == (1, 1)
    assert library.lexical.dead() <= 2
    library.indexer.embed()
    library.assert_whole()
    assert library.find("ocelots") == {FILES[1]}
