"""What the indexer promises when it is called directly, with all real parts.

* After a refresh the index equals the folder: added, changed, moved, touched, deleted files and folders.
* What is unchanged isn't read; what was embedded once isn't embedded again, wherever it lies.
* A file that can't be read is listed with its reason, costs the others nothing, and is tried again once it changes.
  What is mended without a trace in it (permissions, limits) is tried again too.
* A library whose folder is gone is kept until that is back; one whose files are gone for a day.
* A changed model or reading rule touches what it must, and says so; another root is refused.
"""

from __future__ import annotations

import errno
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from librarian.errors import SetupError, SourceError, Unavailable
from librarian.indexing.indexer import Indexer
from librarian.indexing.scanner import IGNORE_FILES, FolderScanner
from librarian.models import Failure, ReadResult, SourceFile
from librarian.storage.embedding_cache import SqliteEmbeddingCache
from librarian.vector_stores import exact, sync
from tests.contracts.catalog_contract import document, result
from tests.embeddings.fakes import FakeEmbedder
from tests.storage.library import Library, Refusing, renamed, wait_for


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    made = Library(tmp_path)
    made.write("ray/core/actors.md", "# Actors\n\nAn actor is a stateful worker that keeps porcupines.\n")
    made.write("ray/core/tasks.md", "# Tasks\n\nA task is a stateless function run by wombats.\n")
    made.write("ray/serve/guide.md", "# Serving\n\nDeployments answer requests with the help of ocelots.\n")
    yield made
    made.close()


def test_a_first_refresh_finds_every_file_and_embedding_makes_it_whole(library: Library) -> None:
    report = library.indexer.refresh()
    assert (report.added, report.changed, report.removed, report.unchanged) == (3, 0, 0, 0)
    assert library.find("porcupines") == {"ray/core/actors.md"}  # before anything is embedded
    assert library.indexer.embed() == report.chunks
    library.assert_whole()
    assert library.nearest("stateless function run by wombats") == "ray/core/tasks.md"
    assert library.generations == sorted(set(library.generations))


def test_what_is_mended_without_a_trace_in_the_file_is_tried_again(library: Library) -> None:
    reader = Refusing(library.reader)
    reader.refused = {"ray/core/actors.md": "access", "ray/core/tasks.md": "timeout", "ray/serve/guide.md": "corrupt"}
    library.reader = reader
    library.reopen()
    failed = library.indexer.refresh().failed
    assert {failure.file_path: failure.reason for failure in failed} == reader.refused
    reader.refused, reader.asked = {}, []
    assert len(library.indexer.refresh().failed) == 2
    assert reader.asked == ["ray/core/actors.md"]
    library.reopen()
    assert len(library.indexer.refresh().failed) == 2
    assert reader.asked == ["ray/core/actors.md"]
    library.options = replace(library.options, file_timeout_s=120)
    library.reopen()
    library.indexer.refresh([str(library.root / "ray" / "serve")])  # a look at a part tries only what lies there
    reader.on_read = library.indexer._stop.set  # nor is a look that was broken off one at everything
    library.write("ray/aaa.md", "# First\n")
    library.indexer.refresh()
    reader.on_read = lambda: None
    library.indexer._stop.clear()
    reader.asked = ["ray/core/actors.md"]
    assert [failure.reason for failure in library.indexer.refresh().failed] == ["corrupt"]
    assert reader.asked == ["ray/core/actors.md", "ray/core/tasks.md"]
    assert library.documents() == {"ray/aaa.md", "ray/core/actors.md", "ray/core/tasks.md"}


def test_until_a_batch_is_written_searches_find_what_was_there(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.complete()
    seen: list[tuple[str, set[str], set[str]]] = []
    library.write("ray/core/actors.md", "# Actors\n\nAn actor is a stateful worker that keeps lemurs.\n")
    monkeypatch.setattr(
        library.indexer._writer,
        "fault",
        lambda step: seen.append((step, library.find("porcupines"), library.find("lemurs"))),
    )
    library.indexer.refresh()
    actors = {"ray/core/actors.md"}
    assert [step for step in seen if step[0] != "lexical commit"] == [
        ("catalog put", actors, set()),
        ("bump", set(), actors),
    ]


def test_restart_reads_nothing_and_embeds_nothing(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    library.complete()
    calls = library.embedder.calls
    library.make = None  # a restart must not even ask for the model
    library.reopen()
    report = library.indexer.refresh()
    assert (report.added, report.changed, report.unchanged) == (0, 0, 3)
    library.make = lambda: pytest.fail("the model was loaded")
    library.reopen()
    library.complete()
    assert library.embedder.calls == calls
    library.assert_whole()


def test_an_edited_file_is_found_by_its_new_words_and_not_by_its_old_ones(library: Library) -> None:
    library.complete()
    path = library.write("ray/core/tasks.md", "# Tasks\n\nA task is a function run by capybaras.\n")
    report = library.indexer.refresh([str(path)])
    library.indexer.embed()
    assert (report.added, report.changed) == (0, 1)
    assert library.find("capybaras") == {"ray/core/tasks.md"}
    assert library.find("wombats") == set()
    library.assert_whole()


def test_a_change_within_one_tick_of_the_clock_is_seen_where_an_event_tells_of_it(library: Library) -> None:
    path = library.write("ray/core/tick.md", "# Tick\n\nbefore\n")
    library.complete()
    status = path.stat()
    path.write_text("# Tick\n\nafterr\n"[: status.st_size])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert library.indexer.refresh().unchanged == 4
    assert library.indexer.refresh([str(path)]).changed == 1


def test_a_moved_file_embeds_nothing(library: Library) -> None:
    library.complete()
    calls = library.embedder.calls
    (library.root / "ray" / "core" / "actors.md").rename(library.root / "ray" / "serve" / "actors.md")
    report = library.complete()
    assert (report.moved, report.added, report.removed) == (1, 0, 0)
    assert library.embedder.calls == calls
    assert library.find("porcupines") == {"ray/serve/actors.md"}
    library.assert_whole()


def test_a_moved_file_whose_title_is_its_name_gets_the_new_title(library: Library) -> None:
    library.write("ray/core/plain.md", "No heading here, only aardvarks.\n")
    library.complete()
    calls = library.embedder.calls
    (library.root / "ray" / "core" / "plain.md").rename(library.root / "ray" / "core" / "splendid.md")
    assert library.complete().moved == 1
    assert library.embedder.calls == calls
    with library.catalog.read() as reader:
        stored = reader.document_by_path("ray/core/splendid.md")
    assert stored is not None
    assert "plain" not in stored.document.title.lower()
    assert library.find("splendid") == {"ray/core/splendid.md"}
    library.assert_whole()


def test_a_move_that_changes_what_is_derived_from_the_path_is_a_new_document(library: Library) -> None:
    library.write("ray/core/notes.md", "# Notes\n\nAbout quokkas.\n")
    library.complete()
    calls = library.embedder.calls
    (library.root / "ray/api").mkdir()
    (library.root / "ray/core/notes.md").rename(library.root / "ray/api/notes.md")
    assert library.complete().moved == 1
    with library.catalog.read() as reader:
        stored = reader.document_by_path("ray/api/notes.md")
    assert stored is not None
    fresh = library.reader.read(library.scanned("ray/api/notes.md"))
    assert stored.document.doc_type == fresh.document.doc_type
    assert library.embedder.calls == calls
    library.assert_whole()


def test_a_renamed_folder_moves_all_its_files_and_embeds_nothing(library: Library) -> None:
    library.complete()
    calls = library.embedder.calls
    (library.root / "ray").rename(library.root / "sun")
    report = library.indexer.refresh([str(library.root / "ray"), str(library.root / "sun")])
    library.indexer.embed()
    assert (report.moved, report.removed) == (3, 0)
    assert library.embedder.calls == calls
    library.assert_whole()


def test_a_copy_of_a_passage_is_not_embedded_again(library: Library) -> None:
    library.complete()
    calls = library.embedder.calls
    shutil.copy(library.root / "ray" / "core" / "tasks.md", library.root / "ray" / "serve" / "tasks.md")
    assert library.complete().added == 1
    assert library.embedder.calls == calls
    library.assert_whole()


def test_vectors_of_texts_that_are_no_more_do_not_pile_up(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("librarian.indexing.embedding_worker._TIDY_AFTER", 20)
    model = library.embedder.fingerprint
    for edit in range(12):
        for number in range(10):
            library.write(f"ray/core/{number}.md", f"# Page {number}\n\nIts edit is {edit}.\n")
        library.complete()
    alive = len(set(dict(library.catalog.windows(model)).values()))
    assert library.embedder.calls >= 120
    assert alive <= library.archive.count(model) <= 2 * alive + 20
    library.assert_whole()


def test_a_touched_file_is_not_read_again_and_its_time_is_remembered(library: Library) -> None:
    library.complete()
    path = library.root / "ray" / "core" / "tasks.md"
    os.utime(path, ns=(1, 1))
    report = library.indexer.refresh()
    assert (report.changed, report.unchanged) == (0, 3)
    assert library.catalog.known()["ray/core/tasks.md"][1] == 1


@pytest.mark.parametrize("far_s", [253_402_300_799, -62_135_596_800])
def test_a_time_beyond_all_years_stops_nothing(library: Library, far_s: int) -> None:
    library.complete()
    path = library.write("ray/core/far.md", "# Far\n\nAbout narwhals.\n")
    os.utime(path, (far_s, far_s))
    library.complete()
    assert library.find("narwhals") == {"ray/core/far.md"}
    assert library.indexer.refresh([str(path)]).unchanged == 1
    os.utime(library.root / "ray" / "core" / "tasks.md", (far_s, far_s))
    assert library.indexer.refresh().changed == 0
    library.assert_whole()


def test_a_deleted_file_and_a_deleted_folder_are_gone(library: Library) -> None:
    library.complete()
    (library.root / "ray" / "core" / "tasks.md").unlink()
    shutil.rmtree(library.root / "ray" / "serve")
    report = library.indexer.refresh([str(library.root / "ray/core/tasks.md"), str(library.root / "ray/serve")])
    assert report.removed == 2
    assert library.find("wombats") == library.find("ocelots") == set()
    library.assert_whole()


@pytest.mark.parametrize("name", IGNORE_FILES)
def test_a_file_that_becomes_ignored_is_dropped_and_listed(library: Library, name: str) -> None:
    library.complete()
    (library.root / name).write_text("serve/\n")
    report = library.indexer.refresh([str(library.root / name)])
    assert report.removed == 1
    assert library.documents() == {"ray/core/actors.md", "ray/core/tasks.md"}
    assert report.skipped


class TestFailures:
    def test_an_unreadable_file_is_listed_and_tried_again_only_when_it_changes(self, library: Library) -> None:
        bad = library.root / "ray" / "core" / "bad.docx"
        bad.write_bytes(b"not a zip file")
        report = library.complete()
        (failure,) = report.failed
        assert failure.file_path == "ray/core/bad.docx"
        assert report.added == 3
        again = library.indexer.refresh()
        assert again.failed == (failure,)
        assert again.unchanged == 3
        with library.catalog.read() as reader:
            assert reader.failures() == [failure]
        bad.write_bytes(b"still not a zip file")
        assert library.indexer.refresh([str(bad)]).failed[0].size == 20
        bad.unlink()
        assert library.indexer.refresh([str(bad)]).failed == ()
        with library.catalog.read() as reader:
            assert reader.failures() == []

    def test_a_file_that_can_be_read_no_more_is_not_found_by_what_it_said(self, library: Library) -> None:
        library.complete()
        library.write("ray/core/tasks.md", "# Tasks\n\nwombats \0\0\0\0 binary").write_bytes(bytes(range(256)) * 20)
        report = library.indexer.refresh()
        library.indexer.embed()
        assert [failure.file_path for failure in report.failed] == ["ray/core/tasks.md"]
        assert library.find("wombats") == set()
        assert library.indexer.check() == []

    def test_any_error_of_a_reader_is_a_failure_of_its_file(self, library: Library) -> None:
        class Moody:
            fingerprint = "moody"

            def read(self, source: SourceFile) -> ReadResult:
                if "tasks" in source.file_path:
                    raise ZeroDivisionError("by a wombat")
                if "guide" in source.file_path:
                    raise MemoryError
                return given.read(source)

        given, library.reader = library.reader, Moody()
        library.reopen()
        report = library.indexer.refresh()
        assert {(f.file_path, f.reason) for f in report.failed} == {
            ("ray/core/tasks.md", "error"),
            ("ray/serve/guide.md", "memory"),
        }
        assert library.documents() == {"ray/core/actors.md"}

    def test_a_file_that_changes_while_it_is_read_is_read_again(self, library: Library) -> None:
        class Racing:
            fingerprint = "racing"
            left = 2

            def read(self, source: SourceFile) -> ReadResult:
                result = given.read(source)
                if "tasks" in source.file_path and self.left:
                    self.left -= 1
                    library.write("ray/core/tasks.md", f"# Tasks\n\nversion {'x' * (9 - self.left)}\n")
                if "guide" in source.file_path:
                    os.unlink(source.path)
                return result

        given, library.reader = library.reader, Racing()
        library.reopen()
        report = library.indexer.refresh()
        assert report.added == 2
        assert report.failed == ()
        with library.catalog.read() as reader:
            stored = reader.document_by_path("ray/core/tasks.md")
        assert stored is not None
        assert "x" * 9 in stored.document.text

    def test_a_model_that_cannot_be_loaded_leaves_the_text_searchable(self, library: Library) -> None:
        def refuse() -> FakeEmbedder:
            raise Unavailable("No model.", hint="Run librarian models fetch.")

        library.make = refuse
        library.reopen()
        library.indexer.refresh()
        with pytest.raises(Unavailable, match="models fetch"):
            library.indexer.embed()
        assert library.find("wombats")

    def test_a_passage_that_breaks_the_model_costs_the_others_nothing(self, library: Library) -> None:
        class Picky(type(library.embedder)):  # type: ignore[misc]
            def embed_chunks(self, texts: list[str]) -> object:
                if any("wombats" in text for text in texts):
                    raise ValueError("not wombats")
                return super().embed_chunks(texts)

        library.embedder = Picky()
        library.complete()
        assert "1 passages can't be embedded" in str(library.indexer.errors())
        assert library.nearest("requests with the help of ocelots") == "ray/serve/guide.md"
        assert library.indexer.embed() == 0

    def test_a_model_that_breaks_on_everything_is_unavailable(self, library: Library) -> None:
        library.embedder.fail = ValueError("broken")
        library.indexer.refresh()
        with pytest.raises(Unavailable, match="broken"):
            library.indexer.embed()
        library.embedder.fail = None
        library.indexer.embed()
        library.assert_whole()


SCANDIR = os.scandir


class TestVanished:
    @pytest.fixture
    def many(self, library: Library) -> Library:
        for number in range(30):
            library.write(f"many/part/{number}.md", f"# Number {number}\n\nText of number {number}.\n")
        library.complete()
        return library

    def test_a_root_that_is_gone_keeps_everything_until_it_is_back(self, many: Library) -> None:
        away = many.root.with_name("away")
        many.root.rename(away)
        report = many.indexer.refresh()
        assert report.notes
        assert many.indexer.errors()
        assert "root" in many.indexer.errors()
        assert len(many.documents()) == 33
        away.rename(many.root)
        assert many.indexer.refresh().unchanged == 33
        assert many.indexer.errors() == {}
        assert many.indexer.wait_until_ready(0)
        many.assert_whole()

    def test_a_root_that_is_gone_keeps_also_what_is_looked_at_by_its_path(self, many: Library) -> None:
        away = many.root.with_name("away")
        many.root.rename(away)
        many.root.write_text("where a volume is mounted otherwise")
        report = many.indexer.refresh([str(many.root / "many" / "part" / "3.md"), str(many.root / "ray")])
        assert report.notes
        assert "root" in many.indexer.errors()
        assert len(many.documents()) == 33
        many.root.unlink()
        away.rename(many.root)
        assert many.indexer.refresh().unchanged == 33
        assert many.indexer.errors() == {}
        assert many.indexer.wait_until_ready(0)

    def test_more_than_half_of_the_files_gone_at_once_are_kept_for_a_day(self, many: Library) -> None:
        shutil.rmtree(many.root / "many")
        for _ in range(2):
            assert many.indexer.refresh().removed == 0
        assert "30 of 33 files are missing" in str(many.indexer.errors())
        many.now += 24 * 3600 + 1
        assert many.indexer.refresh().removed == 30
        assert not many.indexer.errors()
        many.assert_whole()

    def test_prune_drops_what_is_missing_at_once(self, many: Library) -> None:
        shutil.rmtree(many.root / "many")
        assert many.indexer.refresh([str(many.root / "many")]).removed == 0
        assert many.indexer.update(prune=True).removed == 30
        assert many.indexer.errors() == {}
        assert many.indexer.wait_until_ready(0)
        many.assert_whole()

    def test_a_root_that_is_gone_is_kept_however_long_and_nothing_drops_it(self, many: Library) -> None:
        away = many.root.with_name("away")
        many.root.rename(away)
        for given in ({}, {"prune": True}, {"rebuild": True}):
            many.now += 24 * 3600 + 1
            report = many.indexer.update(**given)
            assert report.removed == 0
            assert report.notes == (many.indexer.errors()["root"],)
            assert "Its documents are kept until it is back." in str(many.indexer.errors())
        assert len(many.documents()) == 33
        away.rename(many.root)
        assert many.complete().changed == 33  # by the rebuild, which could read nothing then
        many.assert_whole()

    def test_what_was_to_be_read_again_while_its_root_was_away_is_read_once_it_is_back(self, many: Library) -> None:
        class Stricter:
            fingerprint = "stricter"

            def read(self, source: SourceFile) -> ReadResult:
                return given.read(source)

        given, many.reader = many.reader, Stricter()
        away = many.root.with_name("away")
        many.root.rename(away)
        many.root.mkdir()
        many.reopen()
        assert many.indexer.refresh().removed == 0
        many.root.rmdir()
        away.rename(many.root)
        report = many.complete()
        assert (report.changed, report.unchanged) == (33, 0)
        many.assert_whole()

    def test_a_root_that_goes_while_files_are_read_takes_no_document_with_it(self, many: Library) -> None:
        class Unplugged:
            fingerprint = "unplugged"
            left = 20

            def read(self, source: SourceFile) -> ReadResult:
                self.left -= 1
                if not self.left:
                    many.root.rename(away)
                return given.read(source)

        given, many.reader = many.reader, Unplugged()
        away = many.root.with_name("away")
        many.reopen()
        report = many.indexer.refresh()
        assert (report.removed, report.failed) == (0, ())
        assert len(many.documents()) == 33
        assert "can't be read" in str(many.indexer.errors())
        away.rename(many.root)
        many.complete()
        assert not many.indexer.errors()
        many.assert_whole()

    def test_a_clock_that_was_ahead_shortens_no_grace(self, many: Library) -> None:
        shutil.rmtree(many.root / "many")
        many.now += 30 * 24 * 3600
        assert many.indexer.refresh().removed == 0
        many.now -= 30 * 24 * 3600
        assert many.indexer.refresh().removed == 0
        many.now += 24 * 3600 + 1
        assert many.indexer.refresh().removed == 30

    @pytest.mark.parametrize("error", [errno.EIO, errno.EACCES, errno.ESTALE])
    def test_what_lies_in_a_folder_that_cannot_be_looked_into_is_neither_gone_nor_forgotten(
        self, many: Library, monkeypatch: pytest.MonkeyPatch, error: int
    ) -> None:
        closed = str(many.root / "ray" / "core")
        itself = os.stat(closed)

        def where_open(asked: Callable[..., Any]) -> Callable[..., Any]:
            def ask(path: Any, *more: Any, **named: Any) -> Any:
                below = isinstance(path, str) and path.startswith(closed + os.sep)
                if below or (asked is SCANDIR and isinstance(path, int) and os.path.samestat(os.fstat(path), itself)):
                    raise OSError(error, os.strerror(error), path)
                return asked(path, *more, **named)

            return ask

        (many.root / "ray" / "serve" / "guide.md").unlink()
        with monkeypatch.context() as patched:  # to root, and where nothing falters, nothing is closed
            for name, asked in (("scandir", SCANDIR), ("lstat", os.lstat), ("stat", os.stat)):
                patched.setattr(os, name, where_open(asked))
            assert many.indexer.refresh([f"{closed}/tasks.md"]).removed == 0
            report = many.indexer.refresh()
            assert (report.removed, [failure.file_path for failure in report.failed]) == (1, ["ray/core"])
            assert {"ray/core/tasks.md", "ray/core/actors.md"} <= many.documents()
            assert not [said for said in many.indexer.check() if "no file" in said]
        assert many.indexer.refresh().unchanged == 32
        many.assert_whole()

    def test_files_left_out_by_a_setting_are_not_missing(self, many: Library) -> None:
        (many.root / ".gitignore").write_text("many/\n")
        assert many.indexer.refresh().removed == 30
        assert not many.indexer.errors()


class TestFingerprints:
    def test_another_root_on_the_same_index_is_refused_with_the_remedy(self, library: Library, tmp_path: Path) -> None:
        library.complete()
        library.close()
        library.root = tmp_path / "other"
        library.root.mkdir()
        library.open()
        with pytest.raises(SetupError, match="--index"):
            library.indexer.refresh()
        with pytest.raises(SetupError, match="--index"):
            library.indexer.start()

    def test_a_library_that_was_moved_or_has_another_name_is_the_same(self, library: Library, tmp_path: Path) -> None:
        library.complete()
        calls, documents = library.embedder.calls, library.documents()
        for rename in (library.root.rename, lambda path: path.symlink_to(library.root)):
            library.close()
            rename(path := tmp_path / f"moved {calls} {library.root.name}")
            library.root = path
            library.open()
            report = library.indexer.refresh()
            assert (report.added, report.changed, report.removed) == (0, 0, 0)
        assert library.documents() == documents
        assert library.embedder.calls == calls

    def test_changed_rules_of_reading_read_every_file_again_and_say_so(self, library: Library) -> None:
        library.complete()
        calls = library.embedder.calls

        class Stricter:
            fingerprint = "stricter"

            def read(self, source: SourceFile) -> ReadResult:
                return given.read(source)

        given, library.reader = library.reader, Stricter()
        library.reopen()
        report = library.indexer.refresh()
        library.indexer.embed()
        assert "3 files are read again" in " ".join(report.notes)
        assert report.changed == 3
        assert library.embedder.calls == calls
        library.assert_whole()
        library.reopen()
        assert library.indexer.refresh().unchanged == 3

    def test_the_old_vectors_answer_until_a_changed_model_is_complete(self, library: Library) -> None:
        library.complete()
        old = library.embedder.fingerprint
        library.embedder = renamed(library.embedder, "other")
        library.embedder.fail = Unavailable("not yet")
        library.model_key = "other"
        library.reopen()
        report = library.indexer.refresh()
        assert "model has changed" in " ".join(report.notes)
        with pytest.raises(Unavailable):
            library.indexer.embed()
        assert library.indexer.model() == old
        assert library.store(old).count() > 0
        path = library.write("ray/core/tasks.md", "# Tasks\n\nchanged meanwhile\n")
        library.indexer.refresh([str(path)])
        assert library.store(old).count() == 2  # what is gone is gone in both
        library.embedder.fail = None
        library.indexer.embed()
        assert library.indexer.model() == library.embedder.fingerprint
        assert library.store(old).count() == 0
        library.assert_whole()

    def test_going_back_to_the_model_before_embeds_nothing(self, library: Library) -> None:
        library.complete()
        first, calls = library.embedder, library.embedder.calls
        second = renamed(library.embedder, "second")
        second.fail = Unavailable("never")
        library.embedder, library.model_key = second, "second"
        library.reopen()
        with pytest.raises(Unavailable):
            library.indexer.embed()
        library.embedder, library.model_key = first, "fake"
        library.reopen()
        library.complete()
        assert first.calls == calls
        library.assert_whole()

    def test_rebuild_reads_everything_and_embeds_nothing(self, library: Library) -> None:
        library.complete()
        calls = library.embedder.calls
        report = library.indexer.update(rebuild=True)
        assert report.changed == 3
        library.indexer.embed()
        assert library.embedder.calls == calls
        library.assert_whole()


def test_without_an_embedder_text_is_indexed_and_nothing_is_missing(library: Library) -> None:
    library.make = None
    library.reopen()
    library.indexer.refresh()
    assert library.indexer.embed() == 0
    assert library.indexer.check() == []
    assert isinstance(library.indexer, Indexer)


def test_a_source_error_that_is_not_about_the_root_is_raised(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise SourceError("odd")

    monkeypatch.setattr("librarian.indexing.refresh.compare", fail)
    with pytest.raises(SourceError, match="odd"):
        library.indexer.refresh()


def test_vectors_that_are_read_into_memory_are_told_of_until_all_are_there(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.complete()
    monkeypatch.setattr(sync, "_BULK", 1)
    monkeypatch.setattr(sync, "_BATCH", 1)
    monkeypatch.setattr(exact, "BLOCK_ROWS", 1)
    library.store_kept.clear()
    indexer = library.reopen()
    said: list[str] = []
    get = SqliteEmbeddingCache.get

    def watched(*given: Any) -> Any:
        said.append(indexer.errors()["vectors"])
        return get(*given)

    monkeypatch.setattr(SqliteEmbeddingCache, "get", watched)
    indexer.refresh()
    assert all(sentence.partition(" are")[0].endswith(" of 3") for sentence in said)
    there = [int(sentence.split()[0]) for sentence in said]
    assert len(there) == 3
    assert there == sorted(there)
    assert all(count <= place for place, count in enumerate(there))
    assert indexer.errors() == {}


def test_many_changes_at_once_in_a_large_library_cost_no_pass_through_all_its_names_each(library: Library) -> None:
    library.indexer.refresh()
    listed = [Failure(f"ray/data/{n}.zip", "failed", "corrupt", "damaged") for n in range(10_000)]
    library.catalog.set_failures(listed, replace=True)

    def cost(names: int) -> float:
        paths = [str(library.root / "ray" / f"absent-{n}.md") for n in range(names)]
        started = time.thread_time()
        assert len(library.indexer.refresh(paths).failed) == len(listed)
        return time.thread_time() - started

    cost(1)
    assert cost(2_000) < 10 * cost(1)


def test_a_saved_file_costs_no_more_in_a_large_library(library: Library) -> None:
    library.indexer.refresh()
    saved = library.root / "ray" / "core" / "actors.md"

    def cost() -> float:
        """Processor time until the catalog, the keyword index and the columns hold the file: the least of ten."""
        took = []
        for number in range(10):
            saved.write_text(f"# Actors\n\nEdition {number} of the actors.\n")
            started = time.thread_time()
            library.indexer.refresh([str(saved)])
            assert library.catalog.columns().documents >= 3
            took.append(time.thread_time() - started)
        return min(took)

    small = cost()
    for start in range(0, 5_000, 500):
        library.catalog.put([result(document(f"p/c/{n}.md", f"Page {n}.")) for n in range(start, start + 500)])
    assert cost() < 2 * small


def test_what_was_shown_is_embedded_first(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    library.indexer.refresh()
    with library.catalog.read() as reader:
        shown = [reader.document_by_path(f"ray/{name}.md") for name in ("serve/guide", "core/tasks")]
    embedded: list[str] = []
    mark = library.catalog.mark_embedded

    def marked(model: str, windows: Mapping[int, Sequence[str]]) -> None:
        with library.catalog.read() as reader:
            documents = reader.documents([chunk.doc_id for chunk in reader.chunks(list(windows)).values()])
        embedded.extend(stored.document.file_path for stored in documents.values())
        mark(model, windows)

    monkeypatch.setattr(library.catalog, "mark_embedded", marked)
    library.indexer.embed_first([stored.doc_id for stored in shown if stored])
    library.indexer.embed()
    assert sorted(embedded[:2]) == ["ray/core/tasks.md", "ray/serve/guide.md"]
    assert embedded[2:] == ["ray/core/actors.md"]
    library.assert_whole()


def test_embedding_waits_for_a_question_but_not_for_questions_without_end(library: Library) -> None:
    library.indexer.refresh()
    with library.indexer.answering():
        embedding = threading.Thread(target=library.indexer.embed)
        embedding.start()
        embedding.join(0.3)
        assert library.embedder.calls == 0
        wait_for(lambda: library.embedder.calls > 0)
    embedding.join()
    library.assert_whole()


def test_a_folder_that_comes_is_looked_at_alone(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    library.indexer.refresh()
    library.write("ray/tune/new/search.md", "# Search\n\nA numbat searches.\n")
    library.write("ray/tune/trials.md", "# Trials\n\nA quokka tries.\n")
    monkeypatch.setattr(FolderScanner, "scan", None)
    report = library.indexer.refresh([str(library.root / "ray" / "tune"), str(library.root / "ray" / "tune" / "new")])
    assert (report.added, report.changed, report.removed) == (2, 0, 0)
    monkeypatch.undo()
    assert library.indexer.refresh().unchanged == 5


def test_while_the_store_that_answers_is_filled_anew_it_is_said_how_far_it_is(library: Library) -> None:
    library.complete()
    said: list[str | None] = []

    class Emptied(exact.ExactStore):
        name = "chroma"

        def upsert(self, *given: Any) -> None:
            said.append(library.indexer.errors().get("vectors"))
            super().upsert(*given)

    library.store_kept = {library.embedder.fingerprint: Emptied(int(library.embedder.fingerprint.split(";")[2]))}
    library.reopen().refresh()
    held = library.archive.count()
    assert said == [f"0 of {held} are in the vector store chroma so far; meaning finds among these."]
    assert library.indexer.errors() == {}
    library.assert_whole()
