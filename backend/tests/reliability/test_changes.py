"""A folder that is worked in, watched: once it is quiet, the index equals it, and until then nothing false is said.

* Editors' ways of saving, bursts of a thousand files, a file replaced by a folder, a product renamed, the root away and
  back: nothing is missed, nothing lingers.
* A watcher that loses its events is caught up with by the look at everything.
* A search during any of it sees one state: a passage is the text of the document that it comes with.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from librarian.indexing.watcher import FileWatcher
from librarian.models import Filters
from librarian.text.analyzer import StandardAnalyzer
from tests.reliability.running import until
from tests.storage.library import Library, Options, running, watching

BURST = 1000
OPTIONS = Options(processes=0, embedding_processes=0, reconcile_s=3600)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    made = Library(tmp_path, options=OPTIONS)
    made.write("ray/core/a.md", "# First\n\nA wombat.\n")
    yield made
    made.close()


@pytest.fixture
def watched(library: Library) -> Iterator[Library]:
    watcher = FileWatcher(library.root, library.indexer.changed, debounce_ms=30)
    with watching(watcher), running(library.indexer) as indexer:
        indexer.start()
        assert indexer.wait_until_ready(60)
        yield library


def quiet(library: Library) -> None:
    """Until the index equals the folder, and nothing is left to do."""

    def equal() -> bool:
        files = [path for path in library.root.rglob("*.md") if path.is_file()]
        texts = {str(path.relative_to(library.root)): path.read_text() for path in files}
        with library.catalog.read() as reader:
            held = {stored.document.file_path: stored for stored in reader.iter_documents()}
            return set(held) == set(texts) and all(
                (found := reader.document_by_path(path)) is not None and found.document.text == text
                for path, text in texts.items()
            )

    until(equal, "the index")
    assert library.indexer.wait_until_ready(60)
    library.assert_whole()


def save_by_rename(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.swp")
    draft.write_text(text)
    os.replace(draft, path)


def save_with_backup(path: Path, text: str) -> None:
    path.rename(path.with_name(path.name + "~"))
    path.write_text(text)
    path.with_name(path.name + "~").unlink()


def save_in_place(path: Path, text: str) -> None:
    with path.open("r+") as file:
        file.truncate(0)
        file.flush()
        for piece in text.splitlines(keepends=True):
            file.write(piece)
            file.flush()


def save_and_restore_the_date(path: Path, text: str) -> None:
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("save", [save_by_rename, save_with_backup, save_in_place, save_and_restore_the_date])
def test_every_way_of_saving_is_noticed(watched: Library, save: object) -> None:
    for word in ("ocelot", "quokka"):
        save(watched.root / "ray/core/a.md", f"# First\n\nNow an {word}.\n\n## Part\n\nAnd more.\n")  # type: ignore[operator]
        until(lambda word=word: watched.find(word) == {"ray/core/a.md"}, word)  # type: ignore[misc]
    assert watched.find("wombat") == set()
    quiet(watched)


def test_a_burst_and_what_people_do_to_folders_end_in_the_folder(watched: Library) -> None:
    folder = watched.root / "burst" / "core"
    folder.mkdir(parents=True)
    for number in range(BURST):
        (folder / f"{number}.md").write_text(f"# Number {number}\n\nTapir {number}.\n")
    until(lambda: len(watched.documents()) == BURST + 1, "the burst")
    for number in range(0, BURST, 4):  # half at once would be taken for a library that went away
        (folder / f"{number}.md").unlink()
    (folder / "1.md").unlink()
    (folder / "1.md").mkdir()
    (folder / "1.md" / "inside.md").write_text("# Inside\n\nA numbat.\n")
    (watched.root / "burst").rename(watched.root / "calm")
    quiet(watched)
    assert watched.find("numbat") == {"calm/core/1.md/inside.md"}
    shutil.rmtree(watched.root / "calm" / "core" / "1.md")
    (watched.root / "calm" / "core" / "1.md").write_text("# File\n\nA kakapo.\n")
    quiet(watched)


def test_a_root_that_goes_and_comes_back_loses_nothing(watched: Library) -> None:
    for number in range(25):
        watched.write(f"ray/core/{number}.md", f"# Number {number}\n\nTapir.\n")
    quiet(watched)
    watched.root.rename(watched.root.with_name("away"))
    watched.indexer.scan_soon()
    until(lambda: "root" in watched.indexer.errors(), "the missing root")
    assert len(watched.find("tapir")) == 25
    watched.root.with_name("away").rename(watched.root)
    watched.indexer.scan_soon()
    until(lambda: "root" not in watched.indexer.errors(), "the root")
    quiet(watched)


def test_what_a_lost_watcher_missed_is_found_by_looking_at_everything(library: Library) -> None:
    with running(library.indexer) as indexer:
        indexer.start()
        assert indexer.wait_until_ready(60)
        library.write("ray/core/b.md", "# Second\n\nAn axolotl.\n")
        (library.root / "ray/core/a.md").unlink()
        indexer.scan_soon()
        quiet(library)


def test_a_search_sees_one_state(watched: Library) -> None:
    done, failures = threading.Event(), list[str]()

    def search() -> None:
        query = StandardAnalyzer().query("tapir")
        while not done.is_set():
            with watched.catalog.read() as reader:
                columns = watched.catalog.columns()
                ranking = watched.lexical.search(query, columns.select(Filters()), 50)
                for chunk_id, chunk in reader.chunks(ranking.ids).items():
                    document = reader.documents([chunk.doc_id], text=True)[chunk.doc_id].document
                    if document.text[chunk.chunk.start : chunk.chunk.end] != chunk.chunk.text:
                        failures.append(f"chunk {chunk_id} isn't in {document.file_path}")

    thread = threading.Thread(target=search)
    thread.start()
    for turn in range(6):
        for number in range(20):
            watched.write(f"ray/core/{number}.md", f"# Number {number}\n\n{'Turn. ' * (turn * number)}Tapir {turn}.\n")
        watched.indexer.refresh()
    done.set()
    thread.join()
    assert failures == []
    quiet(watched)
