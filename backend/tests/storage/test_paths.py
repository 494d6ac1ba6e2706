"""Documents whose names on disk aren't their file paths: decomposed (as copies from a Mac are), or not UTF-8.

* What a scan finds, `Paths` finds on disk again by its file path, whatever the names in a folder are.
* Such files are added, changed, renamed, moved and dropped like all others, by events and by looking at everything.
* Of names that are one name, the one spelled like it is indexed, else the first; the others are listed.
* Nothing that is stored holds half a surrogate pair.
"""

from __future__ import annotations

import json
import os
import tempfile
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.files.paths import Paths, name_of
from librarian.indexing.scanner import FolderScanner
from librarian.indexing.watcher import FileWatcher
from librarian.models import Failure, SourceFile
from tests.storage.library import PATIENCE_S, Library, running, wait_for, watching

COMPOSED = "Résumé.md"
DECOMPOSED = unicodedata.normalize("NFD", COMPOSED)
LATIN = os.fsdecode(b"R\xe9sum\xe9.md")


def _keeps_names() -> bool:
    """Whether the file system keeps decomposed names and bytes that aren't UTF-8 as they are."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            for name in (COMPOSED, DECOMPOSED, LATIN):
                (Path(folder) / name).touch()
        except (OSError, UnicodeError):
            return False
        return set(os.listdir(folder)) == {COMPOSED, DECOMPOSED, LATIN}


pytestmark = pytest.mark.skipif(not _keeps_names(), reason="the file system changes or refuses these names itself")


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    made = Library(tmp_path)
    made.write("p/c/plain.md", "# Plain\n\nA passage about wombats.\n")
    yield made
    made.close()


def failures(library: Library) -> dict[str, str]:
    with library.catalog.read() as reader:
        return {failure.file_path: failure.reason for failure in reader.failures()}


_PIECES = st.sampled_from(["e", "é", "e\u0301", "\udce9", "\udcc3", "\ufffd", "\u212a", "K", "가", "\u1100\u1161"])
_NAMES = st.lists(st.lists(_PIECES, min_size=1, max_size=3).map("".join), max_size=6, unique=True)


@given(folders=_NAMES, files=_NAMES)
@settings(deadline=None, max_examples=50)
def test_what_a_scan_finds_is_found_on_disk_by_its_file_path(folders: list[str], files: list[str]) -> None:
    with tempfile.TemporaryDirectory() as root:
        for folder in folders:
            os.makedirs(os.path.join(root, "p", folder))
            for file in files:
                Path(root, "p", folder, file + ".md").write_text(f"{folder!a}/{file!a}")
        scanner, paths = FolderScanner(Path(root), known_extensions=frozenset({".md"})), Paths(root)
        items = list(scanner.scan())
        found = [item for item in items if isinstance(item, SourceFile)]
        refused = [item for item in items if isinstance(item, Failure)]
        assert {item.file_path for item in found} == {
            f"p/{name_of(folder)}/{name_of(file)}.md" for folder in folders for file in files
        }
        assert len({item.file_path for item in items}) == len(items)
        for source in found:
            assert paths.on_disk(source.file_path) == source.path
            assert paths.stat(source.file_path) == (source.path, os.stat(source.path))
            assert scanner.look(source.path) == source
        assert {failure.reason for failure in refused} <= {"same_name"}
        for item in items:
            assert json.dumps(item.file_path, ensure_ascii=False).encode("utf-8")
            assert unicodedata.is_normalized("NFC", item.file_path) == isinstance(item, SourceFile) or item in refused


def test_a_path_that_is_there_costs_one_stat_and_reads_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / COMPOSED).touch()
    paths = Paths(tmp_path)
    asked: list[str] = []
    stat = os.stat
    monkeypatch.setattr(os, "stat", lambda path: asked.append(path) or stat(path))
    monkeypatch.setattr(os, "lstat", asked.append)
    monkeypatch.setattr(os, "listdir", asked.append)
    assert paths.stat(COMPOSED)[1] == stat(tmp_path / COMPOSED)
    assert asked == [str(tmp_path / COMPOSED)]


def test_a_folder_is_listed_again_only_once_it_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / DECOMPOSED).touch()
    os.utime(tmp_path, ns=(1, 1))
    paths = Paths(tmp_path)
    assert paths.on_disk(COMPOSED) == str(tmp_path / DECOMPOSED)
    with monkeypatch.context() as patch:
        patch.setattr(os, "listdir", lambda _: pytest.fail("listed again"))
        assert paths.on_disk(COMPOSED) == str(tmp_path / DECOMPOSED)
        assert paths.on_disk("gone.md") == str(tmp_path / "gone.md")
    (tmp_path / DECOMPOSED).rename(tmp_path / LATIN)
    assert paths.on_disk(COMPOSED) == str(tmp_path / COMPOSED)
    assert paths.on_disk(name_of(LATIN)) == str(tmp_path / LATIN)


@pytest.mark.parametrize("name", [DECOMPOSED, LATIN])
@pytest.mark.parametrize("folder", ["c", unicodedata.normalize("NFD", "Übersicht"), os.fsdecode(b"\xdcbersicht")])
def test_such_files_are_added_changed_and_dropped_like_all_others(library: Library, folder: str, name: str) -> None:
    path = library.write(f"p/{folder}/{name}", "# Life\n\nA passage about quetzals.\n")
    file_path = name_of(f"p/{folder}/{name}")
    library.complete()
    assert library.find("quetzals") == {file_path}
    assert library.indexer.check() == []
    path.write_text("# Life\n\nA passage about axolotls.\n")
    assert library.indexer.refresh([str(path)]).changed == 1
    assert library.find("axolotls") == {file_path}
    path.write_text("# Life\n\nA passage about pangolins.\n")
    spelled_so = library.root.joinpath(*file_path.split("/"))
    assert library.indexer.refresh([str(spelled_so)]).changed == 1  # as it was told by somebody who knows the document
    assert library.find("pangolins") == {file_path}
    assert library.indexer.refresh().unchanged == 2
    path.unlink()
    assert library.indexer.refresh([str(path)]).removed == 1
    assert library.documents() == {"p/c/plain.md"}
    assert failures(library) == {}


def test_events_of_such_files_are_followed(library: Library) -> None:
    watcher = FileWatcher(library.root, library.indexer.changed, debounce_ms=20)
    with watching(watcher), running(library.indexer) as indexer:
        indexer.start()
        assert indexer.wait_until_ready(PATIENCE_S)
        folder = unicodedata.normalize("NFD", "Übersicht")
        path = library.write(f"p/{folder}/{DECOMPOSED}", "# Life\n\nA passage about quetzals.\n")
        wait_for(lambda: library.find("quetzals") == {f"p/Übersicht/{COMPOSED}"})
        path.write_text("# Life\n\nA passage about axolotls.\n")
        wait_for(lambda: library.find("axolotls") == {f"p/Übersicht/{COMPOSED}"})
        path = path.rename(path.with_name(LATIN))
        wait_for(lambda: library.find("axolotls") == {f"p/Übersicht/{name_of(LATIN)}"})
        path = path.rename(path.with_name(COMPOSED))
        wait_for(lambda: library.find("axolotls") == {f"p/Übersicht/{COMPOSED}"})
        path.parent.rename(path.parent.with_name("Übersicht"))
        wait_for(lambda: indexer.wait_until_ready(PATIENCE_S) and indexer.check() == [])
        assert library.find("axolotls") == {f"p/Übersicht/{COMPOSED}"}
        (library.root / "p/Übersicht" / COMPOSED).unlink()
        wait_for(lambda: library.documents() == {"p/c/plain.md"})


def test_a_file_in_place_of_another_of_the_same_name_is_that_document(library: Library) -> None:
    decomposed = library.write(f"p/c/{DECOMPOSED}", "# Life\n\nA passage about quetzals.\n")
    library.complete()
    composed = decomposed.rename(decomposed.with_name(COMPOSED))
    report = library.indexer.refresh([str(decomposed), str(composed)])
    assert (report.added, report.removed, report.changed) == (0, 0, 0)
    assert library.find("quetzals") == {f"p/c/{COMPOSED}"}


def test_of_two_files_of_one_name_one_is_indexed_and_the_other_listed(library: Library) -> None:
    composed = library.write(f"p/c/{COMPOSED}", "# Life\n\nA passage about quetzals.\n")
    library.complete()
    decomposed = library.write(f"p/c/{DECOMPOSED}", "# Life\n\nA passage about axolotls.\n")
    library.indexer.refresh([str(decomposed)])
    for _ in range(2):
        assert library.documents() == {"p/c/plain.md", f"p/c/{COMPOSED}"}
        assert library.find("quetzals") == {f"p/c/{COMPOSED}"}
        assert failures(library) == {f"p/c/{DECOMPOSED}": "same_name"}
        library.indexer.refresh()
    composed.unlink()
    library.indexer.refresh([str(composed)])
    assert library.find("axolotls") == {f"p/c/{COMPOSED}"}
    assert library.find("quetzals") == set()
    assert failures(library) == {}
    assert library.indexer.check() == []


def test_the_composed_name_takes_the_place_of_the_other_which_is_listed_at_once(library: Library) -> None:
    library.write(f"p/c/{DECOMPOSED}", "# Life\n\nA passage about axolotls.\n")
    library.complete()
    composed = library.write(f"p/c/{COMPOSED}", "# Life\n\nA passage about quetzals.\n")
    library.indexer.refresh([str(composed)])
    assert library.find("quetzals") == {f"p/c/{COMPOSED}"}
    assert library.find("axolotls") == set()
    assert failures(library) == {f"p/c/{DECOMPOSED}": "same_name"}


def test_of_two_folders_of_one_name_one_is_indexed_and_the_other_listed(library: Library) -> None:
    library.write("p/Übersicht/a.md", "# Life\n\nA passage about quetzals.\n")
    library.complete()
    twin = unicodedata.normalize("NFD", "Übersicht")
    path = library.write(f"p/{twin}/b.md", "# Life\n\nA passage about axolotls.\n")
    for paths in ([str(path)], [str(path.parent)], None):
        library.indexer.refresh(paths)
        assert library.documents() == {"p/c/plain.md", "p/Übersicht/a.md"}
        assert failures(library) == {f"p/{twin}": "same_name"}


def test_names_in_bytes_that_make_one_name_are_told_apart_where_they_are_listed(library: Library) -> None:
    for name in (b"\xe8.md", b"\xe9.md"):
        library.write("p/c/" + os.fsdecode(name), f"# Life\n\nA passage about {name[0]}quetzals.\n")
    library.complete()
    assert library.find("232quetzals") == {"p/c/\ufffd.md"}
    assert failures(library) == {"p/c/\\xe9.md": "same_name"}


def test_mails_and_archives_of_such_names_are_read_again_by_what_comes_later(library: Library) -> None:
    answer = "From: b@x.org\nTo: a@x.org\nSubject: Re: Zoo\nMessage-ID: <2@x>\nIn-Reply-To: <1@x>\n"
    quoted = "".join(f"> The quetzals of cage {number} want other food than before.\n" for number in range(9))
    library.write(f"p/c/{unicodedata.normalize('NFD', 'Brief é')}.eml", f"{answer}\nWhy?\n\n{quoted}")
    box = library.write(
        f"p/c/{os.fsdecode(b'K' + bytes([0xE9]))}.mbox", f"From b Mon Mar  2 10:00:00 2026\n{answer}\nYes.\n"
    )
    library.complete()
    before = library.documents()
    assert "p/c/Brief é.eml" in before
    library.write(
        "p/c/first.eml", "From: a@x.org\nTo: b@x.org\nSubject: Zoo\nMessage-ID: <1@x>\n\n" + quoted.replace("> ", "")
    )
    library.complete()
    assert library.documents() == before | {"p/c/first.eml"}
    box.unlink()
    library.indexer.refresh([str(box)])
    assert library.documents() == {"p/c/plain.md", "p/c/Brief é.eml", "p/c/first.eml"}


def test_patterns_hold_in_either_normal_form(tmp_path: Path) -> None:
    for name in (COMPOSED, "other.md"):
        (tmp_path / "p").mkdir(exist_ok=True)
        (tmp_path / "p" / name).touch()
    known = frozenset({".md"})
    for name in (COMPOSED, DECOMPOSED):
        kept = [
            item.file_path
            for item in FolderScanner(tmp_path, exclude=[name], known_extensions=known).scan()
            if isinstance(item, SourceFile)
        ]
        assert kept == ["p/other.md"]
    (tmp_path / ".gitignore").write_text(DECOMPOSED)
    items = FolderScanner(tmp_path, known_extensions=known).scan()
    assert [item.file_path for item in items if isinstance(item, SourceFile)] == ["p/other.md"]
