"""Whoever may write into a library can't make it read files outside of it by swapping a folder for a link."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from librarian.errors import SourceError
from librarian.models import SourceFile
from librarian.parsing.chunking import StructureChunker
from librarian.parsing.reader import FileReader
from librarian.text.analyzer import StandardAnalyzer
from tests.storage.library import Library

FILES = 12
RACE_S = 2.0


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    made = Library(tmp_path)
    made.make = None
    made.reopen()
    for number in range(FILES):
        made.write(f"p/d/{number}.md", f"# Page {number}\n\nA wombat sleeps.\n")
    yield made
    made.close()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Files of the same names, sizes and times as the library's."""
    folder = tmp_path / "outside"
    folder.mkdir()
    for number in range(FILES):
        inside = tmp_path / "library" / "p" / "d" / f"{number}.md"
        if inside.exists():
            times = inside.stat()
            (folder / inside.name).write_text(inside.read_text().replace("wombat sleeps", "swordfish is."))
            os.utime(folder / inside.name, ns=(times.st_atime_ns, times.st_mtime_ns))
    return folder


def reader() -> FileReader:
    return FileReader(StandardAnalyzer(), StructureChunker())


def reason_of(source: SourceFile) -> str:
    with pytest.raises(SourceError) as caught:
        reader().read(source)
    assert caught.value.hint
    return caught.value.reason


def test_a_folder_that_became_a_link_since_the_scan_is_not_followed(library: Library, outside: Path) -> None:
    source = library.scanned("p/d/3.md")
    folder = library.root / "p" / "d"
    folder.rename(library.root / "p" / "kept")
    folder.symlink_to(outside)
    assert (outside / "3.md").stat().st_size == source.size
    assert reason_of(source) == "replaced"
    folder.unlink()
    (library.root / "p" / "kept").rename(folder)
    assert "wombat" in reader().read(source).document.text


def test_a_file_that_became_a_link_or_another_file_since_the_scan_is_not_read(library: Library, outside: Path) -> None:
    source = library.scanned("p/d/3.md")
    Path(source.path).unlink()
    Path(source.path).symlink_to(outside / "3.md")
    assert reason_of(source) == "replaced"
    os.replace(outside / "3.md", source.path)
    assert reason_of(source) == "replaced"


def test_the_root_itself_may_become_no_link(library: Library, outside: Path) -> None:
    source = library.scanned("p/d/3.md")
    library.root.rename(library.root.with_name("kept"))
    library.root.symlink_to(library.root.with_name("kept"))
    assert reason_of(source) == "replaced"


def test_links_inside_the_library_are_still_followed(library: Library) -> None:
    (library.root / "a").mkdir()
    (library.root / "a" / "latest").symlink_to(library.root / "p" / "d")
    (library.root / ".hidden.txt").write_text("A quokka hops.\n")
    (library.root / "a" / "link.txt").symlink_to("../.hidden.txt")
    library.indexer.refresh()
    assert library.find("quokka") == {"a/link.txt"}
    assert library.find("wombat") >= {f"a/latest/{number}.md" for number in range(FILES)}


@pytest.mark.skipif(sys.platform != "linux", reason="two names are exchanged by renameat2")
def test_swapping_folders_while_they_are_read_leaks_nothing(library: Library, outside: Path) -> None:
    (outside / "payroll.md").write_text("# Payroll of Alice\n")
    folder, link = str(library.root / "p" / "d"), str(library.root / "p" / ".link")
    os.symlink(outside, link)
    ended, swaps = threading.Event(), [0]

    def swap() -> None:
        while not ended.wait(0.0004):
            exchange(folder, link)
            swaps[0] += 1

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        until = time.monotonic() + RACE_S
        while time.monotonic() < until:
            report = library.indexer.update(rebuild=True)
            assert library.find("swordfish") == set()
            listed = {failure.file_path for failure in (*report.failed, *report.skipped)}
            assert not [path for path in listed | library.documents() if "payroll" in path]
    finally:
        ended.set()
        swapping.join()
    if os.path.islink(folder):
        exchange(folder, link)
    assert swaps[0] > 100
    library.indexer.refresh()
    assert library.find("swordfish") == set()
    assert len(library.find("wombat")) == FILES


def exchange(one: str, other: str) -> None:
    rename: Callable[..., int] = ctypes.CDLL(None, use_errno=True).renameat2
    at_working_directory, exchanged = -100, 2
    if rename(at_working_directory, os.fsencode(one), at_working_directory, os.fsencode(other), exchanged):
        raise OSError(ctypes.get_errno(), "renameat2")
