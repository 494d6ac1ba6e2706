"""What a kill costs: nothing.

* Killed at any step of writing, once or twice, the next start makes catalog, keyword index and store whole again.
* What was embedded before the kill isn't embedded again.
* A lost or foreign keyword index, store or archive is noticed and made again; `check` says what is wrong, and with
  `repair` puts it right.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.storage.library import Killed, Library

TEXT_STEPS = ["catalog put", "lexical commit", "bump", "stores delete"]
VECTOR_STEPS = ["archive put", "store upsert", "mark"]


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    made = Library(tmp_path)
    for number in range(5):
        made.write(f"ray/core/{number}.md", f"# Number {number}\n\n{'A passage about wombats. ' * (number * 30 + 1)}\n")
    yield made
    made.close()


@pytest.mark.parametrize("step", [*TEXT_STEPS, *VECTOR_STEPS])
def test_a_kill_while_the_first_index_is_made_loses_nothing(library: Library, step: str) -> None:
    for _ in range(2):
        library.fault_at = step
        try:
            library.complete()
        except Killed:
            library.reopen()
    calls = library.embedder.calls
    archived = library.archive.count()
    assert calls == archived
    library.fault_at = ""
    library.complete()
    library.assert_whole()
    assert library.embedder.calls == library.archive.count()  # nothing was embedded twice


@pytest.mark.parametrize("step", [*TEXT_STEPS, *VECTOR_STEPS])
def test_a_kill_during_an_update_loses_nothing_and_leaves_no_orphan(library: Library, step: str) -> None:
    library.complete()
    library.write("ray/core/1.md", "# Number 1\n\nNow about ocelots.\n")
    (library.root / "ray/core/2.md").unlink()
    (library.root / "ray/core/3.md").rename(library.root / "ray/core/three.md")
    library.write("ray/core/new.md", "# New\n\nAbout capybaras.\n")
    library.fault_at = step
    with pytest.raises(Killed):
        library.complete()
    library.reopen()
    library.fault_at = ""
    library.complete()
    library.assert_whole()
    assert library.find("ocelots") == {"ray/core/1.md"}
    assert library.find("capybaras") == {"ray/core/new.md"}


@pytest.mark.parametrize("step", TEXT_STEPS)
def test_a_failure_in_the_running_process_is_repaired_by_the_next_refresh(library: Library, step: str) -> None:
    library.complete()
    path = library.write("ray/core/1.md", "# Number 1\n\nNow about ocelots.\n")
    library.fault_at = step
    with pytest.raises(Killed):
        library.indexer.refresh([str(path)])
    library.fault_at = ""
    library.complete()
    library.assert_whole()
    assert library.find("ocelots") == {"ray/core/1.md"}


def test_a_lost_keyword_index_is_made_again_and_embeds_nothing(library: Library) -> None:
    library.complete()
    calls = library.embedder.calls
    library.close()
    shutil.rmtree(library.index / "words")
    library.open()
    assert "lacks 5 documents" in " ".join(library.complete().notes)
    assert library.embedder.calls == calls
    library.assert_whole()


def test_files_that_changed_while_the_keyword_index_was_lost_are_put_anew(library: Library) -> None:
    library.complete()
    library.close()
    shutil.rmtree(library.index / "words")
    library.write("ray/core/1.md", "# Number 1\n\nNow about ocelots.\n")
    (library.root / "ray/core/2.md").unlink()
    library.open()
    library.complete()
    assert library.find("ocelots") == {"ray/core/1.md"}
    library.assert_whole()


def test_a_lost_store_is_filled_from_the_archive(library: Library) -> None:
    library.complete()
    calls = library.embedder.calls
    library.store_kept.clear()
    library.reopen()
    assert library.complete().notes == ()  # a store in memory begins empty: that is no repair
    library.assert_whole()
    (store,) = library.store_kept.values()
    store.delete(store.ids()[::2])
    library.reopen()
    assert "from the archive" in " ".join(library.complete().notes)
    assert library.embedder.calls == calls
    library.assert_whole()


def test_a_lost_archive_and_store_are_embedded_again(library: Library) -> None:
    library.complete()
    library.close()
    for path in library.index.glob("vectors.sqlite*"):
        path.unlink()
    library.store_kept.clear()
    library.open()
    assert "embedded again" in " ".join(library.complete().notes)
    library.assert_whole()


def test_a_lost_catalog_is_read_again_and_embeds_nothing(library: Library) -> None:
    library.complete()
    calls = library.embedder.calls
    library.close()
    for path in library.index.glob("catalog.sqlite*"):
        path.unlink()
    library.open()
    assert library.complete().added == 5
    assert library.embedder.calls == calls
    library.assert_whole()


def test_check_says_what_is_wrong_and_repairs_it(library: Library) -> None:
    library.complete()
    assert library.indexer.check() == []
    store = library.store(library.embedder.fingerprint)
    ids = store.ids()
    store.delete(ids[:2])
    store.upsert(np.array([10**9], dtype=np.int64), np.ones((1, store.dimension), dtype=np.float32))
    with library.catalog.read() as reader:
        generation, first = reader.generation, next(iter(reader.iter_documents()))
    library.lexical.delete([first.doc_id])
    library.lexical.commit(generation)
    found = " ".join(library.indexer.check())
    assert "lacks 2 vectors" in found
    assert "1 vectors of deleted passages" in found
    assert "lacks 1 documents" in found
    assert library.indexer.check()  # looking changes nothing
    assert library.indexer.check(repair=True)
    library.complete()
    library.assert_whole()


def test_a_keyword_index_with_entries_of_deleted_or_missing_passages_is_put_right(library: Library) -> None:
    library.complete()
    with library.catalog.read() as reader:
        generation, stored = reader.generation, list(reader.iter_documents())
        document = stored[0].document
    entry = library.reader.read(library.scanned(document.file_path)).entries[0]
    library.lexical.put([(999, 888, document, entry)])
    library.lexical.commit(generation)
    assert "1 documents that are no more" in " ".join(library.indexer.check())
    library.indexer.check(repair=True)
    library.assert_whole()
    library.lexical.put([(1, stored[0].doc_id, document, entry)])  # one too many of a known document
    library.lexical.commit(generation)
    assert "lacks 1 documents" in " ".join(library.indexer.check())
    library.reopen()
    library.complete()
    library.assert_whole()
