"""What the indexer promises while it runs in the background, with real children where it matters.

* It indexes at start, then embeds, then follows the watcher; `wait_until_ready` waits for just that.
* News go before embedding; a failed model is tried again and doesn't stop the text.
* A hanging or crashing file is listed and the others are found.
* What couldn't be written is made up for as soon as it can be.
* Files that come back are missing no longer, as soon as the watcher tells of them.
* `stop` leaves no thread and no child, whenever it comes.
"""

from __future__ import annotations

import functools
import math
import multiprocessing
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import librarian.indexing.indexer as indexer_module
from librarian.errors import Unavailable
from librarian.indexing.watcher import FileWatcher
from tests.embeddings.fakes import FakeEmbedder
from tests.storage.library import PATIENCE_S, Library, Options, Refusing, Trap, running, wait_for, watching


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    made = Library(tmp_path)
    for number, animals in enumerate(("wombats", "lemurs", "badgers", "otters")):
        made.write(f"ray/core/{number}.md", f"# Number {number}\n\nA passage about {animals}.\n")
    threads = set(threading.enumerate())
    yield made
    made.close()
    assert set(threading.enumerate()) <= threads
    assert multiprocessing.active_children() == []


def test_it_indexes_embeds_and_follows_the_watcher(library: Library) -> None:
    watcher = FileWatcher(library.root, library.indexer.changed, debounce_ms=20)
    with watching(watcher), running(library.indexer) as indexer:
        indexer.start()
        indexer.start()
        assert indexer.wait_until_ready(PATIENCE_S)
        assert indexer.errors() == {}
        assert indexer.wait_until_ready(0)
        assert len(library.documents()) == 4
        assert indexer.last_indexed_at == library.now
        library.assert_whole()
        library.write("ray/core/0.md", "# Number 0\n\nNow about ocelots.\n")
        wait_for(lambda: library.find("ocelots") == {"ray/core/0.md"})
        assert library.find("wombats") == set()
        (library.root / "ray").rename(library.root / "sun")
        wait_for(lambda: all(path.startswith("sun/") for path in library.documents()))
        shutil.rmtree(library.root / "sun")
        wait_for(lambda: library.documents() == set())
        assert indexer.wait_until_ready(PATIENCE_S)
        library.assert_whole()
    assert indexer.progress().phase == "idle"


def test_it_is_at_work_from_its_start_until_it_has_looked(library: Library) -> None:
    library.complete()
    with running(library.reopen()) as indexer:
        assert indexer.progress().phase == "idle"
        with indexer._refreshing:  # the first look has to wait
            indexer.start()
            assert indexer.progress().phase == "scanning"
        assert indexer.wait_until_ready(PATIENCE_S)
        wait_for(lambda: indexer.progress().phase == "idle")


def test_files_that_moved_are_not_missing_for_long(library: Library) -> None:
    for number in range(4, 30):
        library.write(f"ray/core/{number}.md", f"# Number {number}\n\nA passage about animal{number}.\n")
    with running(library.indexer) as indexer:
        indexer.start()
        assert indexer.wait_until_ready(PATIENCE_S)
        (library.root / "ray").rename(library.root / "sun")
        indexer.changed(frozenset(str(library.root / path) for path in library.documents()))  # as a search notices it
        wait_for(lambda: {path[:4] for path in library.documents()} == {"sun/"})
        wait_for(lambda: not indexer.errors())
        assert indexer.wait_until_ready(PATIENCE_S)
    library.assert_whole()


def test_files_that_are_back_are_not_missing_until_the_next_look(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer_module, "_ROOT_RETRY_S", 1e6)
    for number in range(4, 30):
        library.write(f"ray/core/{number}.md", f"# Number {number}\n\nA passage about animal{number}.\n")
    with running(library.indexer) as indexer:
        indexer.start()
        assert indexer.wait_until_ready(PATIENCE_S)
        away = library.root.with_name("away")
        (library.root / "ray").rename(away)
        indexer.changed(frozenset({str(library.root / "ray")}))
        wait_for(lambda: "kept" in str(indexer.errors()) and indexer.wait_until_ready(0))
        away.rename(library.root / "ray")
        indexer.changed(frozenset({str(library.root / "ray")}))
        wait_for(lambda: not indexer.errors())
    assert len(library.documents()) == 30
    library.assert_whole()


def test_children_read_and_embed(library: Library) -> None:
    library.options = Options(processes=2, embedding_processes=1, file_timeout_s=2)
    library.make = FakeEmbedder
    library.reader = Trap(library.reader)
    for number in range(100):
        library.write(f"ray/core/{number}.md", f"# Number {number}\n\nA passage about animal{number}.\n")
    library.write("ray/core/hangs.md", "# Hangs\n")
    library.write("ray/core/crashes.md", "# Crashes\n")
    library.reopen()
    library.indexer.start()
    assert library.indexer.wait_until_ready(PATIENCE_S)
    with library.catalog.read() as reader:
        failed = {(failure.file_path, failure.reason) for failure in reader.failures()}
    assert failed == {("ray/core/hangs.md", "timeout"), ("ray/core/crashes.md", "crash")}
    (library.root / "ray/core/hangs.md").unlink()
    (library.root / "ray/core/crashes.md").unlink()
    library.indexer.scan_soon()
    assert library.indexer.wait_until_ready(PATIENCE_S)
    library.assert_whole()


def test_children_without_work_end_and_come_back(library: Library) -> None:
    library.options = Options(processes=1, embedding_processes=1, idle_s=0.05)
    library.make = FakeEmbedder
    indexer = library.reopen()
    indexer.start()
    assert indexer.wait_until_ready(PATIENCE_S)
    wait_for(lambda: not multiprocessing.active_children())
    indexer.changed(frozenset({str(library.write("ray/core/0.md", "# Number 0\n\nNow about ocelots.\n"))}))
    assert indexer.wait_until_ready(PATIENCE_S)
    library.assert_whole()


def test_everything_is_looked_at_from_time_to_time(library: Library) -> None:
    library.options = Options(processes=0, embedding_processes=0, reconcile_s=0.05, idle_s=0.05)
    indexer = library.reopen()
    indexer.start()
    assert indexer.wait_until_ready(PATIENCE_S)
    library.write("ray/core/unseen.md", "# Unseen\n\nabout axolotls\n")
    wait_for(lambda: library.find("axolotls") == {"ray/core/unseen.md"})


def test_a_look_that_is_asked_for_during_another_one_comes_after_it(library: Library) -> None:
    library.options = replace(library.options, reconcile_s=math.inf)
    library.reader = reader = Refusing(library.reader)
    indexer = library.reopen()

    def meanwhile() -> None:
        reader.on_read = lambda: None
        library.write("aaa/core/late.md", "# Late\n\nabout axolotls\n")  # where the look has been already
        indexer.scan_soon()

    reader.on_read = meanwhile
    with running(indexer):
        indexer.start()
        wait_for(lambda: library.find("axolotls") == {"aaa/core/late.md"})


def test_a_model_that_fails_is_said_and_tried_again(library: Library) -> None:
    library.embedder.fail = Unavailable("The model isn't there.", hint="Fetch it.")
    indexer = library.indexer
    indexer.start()
    assert indexer.wait_until_ready(PATIENCE_S)
    assert indexer.errors()
    assert "Fetch it" in str(indexer.errors())
    assert library.find("badgers")
    library.embedder.fail = None
    indexer.retry()
    assert indexer.wait_until_ready(PATIENCE_S)
    assert indexer.errors() == {}
    assert indexer.wait_until_ready(0)
    library.assert_whole()


def fill_the_disk(library: Library) -> None:
    """The fault point is from now on an error instead of the process's end."""
    broken = library.indexer._writer.fault

    def fail(step: str) -> None:
        if step == library.fault_at:
            raise OSError("disk full")
        broken(step)

    library.indexer._writer.fault = fail


def test_an_unexpected_error_is_said_and_the_next_look_repairs(library: Library) -> None:
    library.fault_at = "lexical commit"
    fill_the_disk(library)
    library.indexer.start()
    assert library.indexer.wait_until_ready(PATIENCE_S)
    assert "disk full" in str(library.indexer.errors())
    assert library.indexer.errors()
    library.fault_at = ""
    library.indexer.scan_soon()
    wait_for(lambda: not library.indexer.errors())
    assert library.indexer.wait_until_ready(PATIENCE_S)
    library.assert_whole()


def test_once_text_can_be_written_again_embedding_is_tried_at_once_too(library: Library) -> None:
    library.embedder.fail = Unavailable("The disk is full.", hint="Make room.")
    fill_the_disk(library)
    with running(library.indexer) as indexer:
        indexer.start()
        assert indexer.wait_until_ready(PATIENCE_S)
        library.fault_at = "lexical commit"
        indexer.changed(frozenset({str(library.write("ray/core/0.md", "# Zero\n\nabout ocelots\n"))}))
        wait_for(lambda: {"index", "embeddings"} <= indexer.errors().keys())
        library.fault_at, library.embedder.fail = "", None
        indexer.scan_soon()
        wait_for(lambda: not indexer.errors())
        assert indexer.wait_until_ready(PATIENCE_S)
    library.assert_whole()


def test_what_could_not_be_written_is_made_up_for_by_itself(library: Library) -> None:
    fill_the_disk(library)
    with running(library.indexer) as indexer:
        indexer.start()
        assert indexer.wait_until_ready(PATIENCE_S)
        library.fault_at = "lexical commit"
        indexer.changed(frozenset({str(library.write("ray/core/0.md", "# Zero\n\nabout ocelots\n"))}))
        wait_for(lambda: "index" in indexer.errors())
        library.fault_at = ""
        wait_for(lambda: library.find("ocelots") == {"ray/core/0.md"})
        wait_for(lambda: not indexer.errors())
        assert indexer.wait_until_ready(PATIENCE_S)
    library.assert_whole()


def test_what_fails_again_and_again_is_tried_ever_more_seldom(library: Library) -> None:
    fill_the_disk(library)
    library.fault_at = "lexical commit"
    library.indexer.start()
    wait_for(lambda: library.indexer._text_pause_s >= 4)
    assert "disk full" in str(library.indexer.errors())


def test_a_look_that_was_asked_for_and_failed_is_made_up_for_by_itself(library: Library) -> None:
    fill_the_disk(library)
    with running(library.indexer) as indexer:
        indexer.start()
        assert indexer.wait_until_ready(PATIENCE_S)
        library.fault_at = "lexical commit"
        library.write("ray/core/0.md", "# Zero\n\nabout ocelots\n")
        with pytest.raises(OSError, match="disk full"):
            indexer.update()
        library.fault_at = ""
        wait_for(lambda: library.find("ocelots") == {"ray/core/0.md"})
        assert indexer.wait_until_ready(PATIENCE_S)
    library.assert_whole()


def test_news_go_before_embedding(library: Library) -> None:
    under_way, go_on = threading.Event(), threading.Event()

    class Slow(FakeEmbedder):
        def embed_chunks(self, texts: list[str]) -> object:  # type: ignore[override]
            under_way.set()
            go_on.wait(PATIENCE_S)
            return super().embed_chunks(texts)

    library.embedder = Slow()
    library.indexer.start()
    assert under_way.wait(PATIENCE_S)
    assert library.indexer.progress().phase == "embedding"
    assert not library.indexer.wait_until_ready(0)
    library.indexer.changed(frozenset({str(library.write("ray/core/0.md", "# Zero\n\nabout ocelots\n"))}))
    wait_for(lambda: library.find("ocelots") == {"ray/core/0.md"})
    go_on.set()
    assert library.indexer.wait_until_ready(PATIENCE_S)
    library.assert_whole()


@pytest.mark.parametrize("processes", [0, 1])
def test_stopped_in_the_middle_it_goes_on_at_the_next_start(library: Library, processes: int) -> None:
    for number in range(300):
        library.write(f"ray/many/{number}.md", f"# Number {number}\n\nA passage about animal{number}.\n")
    library.options = Options(processes=processes, embedding_processes=processes)
    library.make = functools.partial(FakeEmbedder)
    indexer = library.reopen()
    indexer.start()
    wait_for(lambda: bool(library.generations))
    indexer.stop()
    indexer.stop()
    with library.catalog.read() as reader:
        assert 64 <= reader.count().documents <= 304
    indexer.start()
    assert indexer.wait_until_ready(PATIENCE_S)
    library.assert_whole()
