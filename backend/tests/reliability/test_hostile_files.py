"""Files that mean no good cost themselves and nothing else:

* every classic bomb is read or listed with its reason, each in a child with limits, while its neighbours are found;
* whatever bytes a format is given, its parser reads them or says why not, and passages are the text that they name;
* pipes, devices, links and odd names in the folder are listed or read, never opened, followed or tripped over.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from librarian.errors import SourceError
from librarian.indexing import refresh
from librarian.indexing.scanner import FolderScanner
from librarian.models import SourceFile
from librarian.parsing.chunking import StructureChunker
from librarian.parsing.reader import PARSERS, FileReader
from librarian.text.analyzer import StandardAnalyzer
from tests.reliability.hostile import FAMILIES, Slow, by_chance, by_hand, hostile_files
from tests.storage.library import Library, Options, wait_for

LIMITED = Options(processes=2, file_timeout_s=8.0, file_memory_mb=1024, embedding_processes=0, nice=0)
EXAMPLES = 25
HOSTILE_BYTES = 10_000
SCALE = 0.1  #: of the classics' full size, which `benchmarks/fuzz.py` uses


@pytest.fixture(scope="module")
def reader() -> FileReader:
    return FileReader(StandardAnalyzer(), StructureChunker())


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    made = Library(tmp_path, options=LIMITED)
    made.make = None
    made.reopen()
    yield made
    made.close()


def test_every_bomb_is_read_or_listed_and_its_neighbours_are_found(library: Library) -> None:
    folder = library.root / "p" / "c"
    folder.mkdir(parents=True)
    names = set()
    for name, content in by_hand(SCALE):
        (folder / name).write_bytes(content)
        names.add(f"p/c/{name}")
    for number in range(10):
        library.write(f"good/c/{number}.md", f"# Good {number}\n\nA wombat sleeps.\n")
    began = time.monotonic()
    report = library.indexer.refresh()
    assert time.monotonic() - began < 60
    failed = {failure.file_path: failure for failure in (*report.failed, *report.skipped)}
    assert library.documents() | failed.keys() == names | {f"good/c/{number}.md" for number in range(10)}
    assert len(library.find("wombat")) == 10
    assert {failure.reason for failure in failed.values()} & {"error", "crash", "parser"} == set(), failed
    with library.catalog.read() as catalog:
        for path in library.documents():
            document = catalog.document_by_path(path)
            assert document is not None
            assert "root:" not in document.document.text
    assert library.indexer.check() == []


@pytest.mark.parametrize("family", FAMILIES)
def test_a_harmless_file_among_a_hundred_hostile_ones_is_soon_found(library: Library, family: str) -> None:
    folder = library.root / "p" / "c"
    folder.mkdir(parents=True)
    names = {f"p/c/{name}" for name, _ in hostile_files(family, 100, 1)}
    for name, content in hostile_files(family, 100, HOSTILE_BYTES):
        (folder / name).write_bytes(content)
    library.write("p/c/zebra.md", "# Good\n\nA wombat sleeps.\n")
    found_after = 0.0

    def watch() -> None:
        nonlocal found_after
        while not found_after and not ended.wait(0.05):
            if library.find("wombat"):
                found_after = time.monotonic() - began

    ended, began = threading.Event(), time.monotonic()
    watching = threading.Thread(target=watch)
    watching.start()
    try:
        report = library.indexer.refresh()
    finally:
        ended.set()
        watching.join()
    assert library.find("wombat") == {"p/c/zebra.md"}
    failed = {failure.file_path: failure.reason for failure in (*report.failed, *report.skipped)}
    listed = {path.removesuffix(path.partition(".mbox")[2]) for path in library.documents() | failed.keys()}
    assert listed >= names
    assert {"timeout", "memory", "crash", "error", "parser"}.isdisjoint(failed.values()), failed
    assert (found_after or time.monotonic() - began) < 5 * slowness()


def slowness() -> float:
    """How much longer everything takes now than where nothing else runs."""
    begun, worked = time.monotonic(), time.process_time()
    sum(range(3_000_000))
    return max(1.0, (time.monotonic() - begun) / max(1e-3, time.process_time() - worked))


def test_a_file_that_needs_long_waits_for_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refresh, "_SLICE_S", 0.3)
    library = Library(tmp_path, options=replace(LIMITED, processes=1, file_timeout_s=30.0))
    library.make, library.reader = None, Slow(StandardAnalyzer(), StructureChunker())
    library.reopen()
    try:
        library.write("a/c/slow.md", "# Slow\n")
        library.write("z/c/good.md", "# Good\n\nA wombat sleeps.\n")
        refreshing = threading.Thread(target=library.indexer.refresh)
        refreshing.start()
        wait_for(lambda: bool(library.find("wombat")))
        assert library.documents() == {"z/c/good.md"}
        refreshing.join()
        assert len(library.documents()) == 2
    finally:
        library.close()


@pytest.mark.parametrize("extension", sorted(PARSERS))
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_whatever_a_file_holds_it_is_read_or_refused(reader: FileReader, extension: str, data: st.DataObject) -> None:
    content = data.draw(by_chance(extension))
    read(reader, extension, content)


def read(reader: FileReader, extension: str, content: bytes) -> bool:
    """Whether it was read; fails where neither that nor a `SourceError` comes of it."""
    path = Path("/dev/shm" if os.path.isdir("/dev/shm") else "/tmp") / f"hostile-{os.getpid()}{extension}"
    path.write_bytes(content)
    try:
        result = reader.read(SourceFile(str(path), f"p/c/x{extension}", "p", "c", len(content), 0))
    except SourceError as error:
        if not error.reason or "Traceback" in str(error) or error.reason == "parser":
            raise
        return False
    finally:
        path.unlink()
    for chunk in result.chunks:
        assert result.document.text[chunk.start : chunk.end] == chunk.text
    assert len(result.chunks) == len(result.entries)
    return True


ODD_NAMES = [
    "line\nbreak.md",
    'quote".md',
    "apo'strophe.md",
    "back\\slash.md",
    "semi;colon.md",
    "per%cent %2e%2e.md",
    "..md",
    "...dots.md",
    " space .md",
    "-rf.md",
    "\u202egnp.md",
    "emoji👩‍👩‍👧.md",
    "tab\t.md",
    "hash#frag?ment.md",
    "é.md",
    "x" * 240 + ".md",
    "<script>.md",
]


def test_odd_names_are_found_read_and_forgotten_like_others(library: Library) -> None:
    folder = library.root / "p" / "c"
    folder.mkdir(parents=True)
    for number, name in enumerate(ODD_NAMES):
        (folder / name).write_text(f"# Numbat {number}\n\nA wombat.\n")
    os.close(os.open(os.fsencode(folder) + b"/bad\xff.md", os.O_CREAT | os.O_WRONLY, 0o644))
    report = library.indexer.refresh()
    found = library.documents()
    listed = {failure.file_path for failure in (*report.failed, *report.skipped)}
    assert len(found) + len(listed) == len(ODD_NAMES) + 1, (found, listed)
    assert len(found) >= len(ODD_NAMES) - 3
    for path in found:
        assert ".." not in path.split("/")
    for path in folder.iterdir():
        path.unlink()
    (library.root / "p" / "c" / "last.md").write_text("# Last\n")
    library.indexer.refresh()
    assert library.documents() == {"p/c/last.md"}


def test_links_pipes_and_devices_are_never_opened_or_followed_outside(library: Library, tmp_path: Path) -> None:
    folder = library.root / "p" / "c"
    folder.mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("# Secret\n\nswordfish\n")
    (folder / "good.md").write_text("# Good\n\nA wombat.\n")
    (folder / "loop").symlink_to(library.root)
    (folder / "loop.md").symlink_to(folder / "loop.md")
    (folder / "up").symlink_to(outside)
    (folder / "secret.md").symlink_to(outside / "secret.md")
    (folder / "null.md").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe.md")
    (folder / "folder.md").mkdir()
    (folder / "folder.md" / "inside.md").write_text("# Inside\n\nA quokka.\n")
    if os.getuid() == 0:
        os.mknod(folder / "device.md", 0o600 | 0o020000, os.makedev(1, 5))
    began = time.monotonic()
    library.indexer.refresh()
    library.indexer.refresh([str(path) for path in folder.iterdir()])
    assert time.monotonic() - began < 20
    assert library.find("wombat") == {"p/c/good.md"}
    assert library.find("swordfish") == set()
    assert library.documents() == {"p/c/good.md", "p/c/folder.md/inside.md"}


def test_a_scan_of_links_in_a_circle_ends(tmp_path: Path) -> None:
    here = tmp_path
    for number in range(30):
        (here / "a").mkdir()
        here = here / "a"
        (here / f"{number}").symlink_to(tmp_path)
    (here / "x.md").write_text("# X\n")
    found = list(FolderScanner(tmp_path, known_extensions=frozenset(PARSERS)).scan())
    assert [item.file_path for item in found if isinstance(item, SourceFile)] == ["a/" * 30 + "x.md"]
