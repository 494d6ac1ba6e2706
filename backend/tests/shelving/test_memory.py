"""Memory that isn't needed any more is given back.

* Answers that are kept show the same, and hold no document's text.
* A catalog closes the connections of readers that have long gone, and the next reader gets one.
* A heap gives free pages back where it can, and it is no error where it can't.
"""

from __future__ import annotations

import gc
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from librarian.shelving import catalog as module
from librarian.shelving.answer_shelf import AnswerShelf
from librarian.shelving.catalog import SqliteCatalog
from librarian.shelving.heap import give_back
from librarian.vocabulary.types import (
    Block,
    Candidate,
    Chunk,
    Document,
    Heading,
    Hit,
    Query,
    SearchOutcome,
    Snippet,
    StoredChunk,
    StoredDocument,
)


def outcome(document: Document) -> SearchOutcome:
    chunk = StoredChunk(7, 3, Chunk(0, 0, 4, "word"))
    hit = Hit(Candidate(7, 3, ()), chunk, StoredDocument(3, document, 1, "", ()), Snippet("word", 1, 1), 0.5)
    return SearchOutcome(Query("word"), "keyword", (hit,), 1, None, {}, 1, 0.0)


def test_a_kept_answer_shows_the_same_and_holds_no_text() -> None:
    document = Document(
        "a.md", "p", "c", "document", ".md", "T", "word " * 99, (Heading(1, "T", 1, 0),), (Block("other", 0, 4),)
    )
    shelf = AnswerShelf(2)
    given = outcome(document)
    shelf.put("key", given)
    kept = shelf.get("key")
    assert kept is not None
    (hit,), (before,) = kept.hits, given.hits
    assert (hit.chunk, hit.snippet, hit.candidate) == (before.chunk, before.snippet, before.candidate)
    assert (hit.document.document.title, hit.document.document.headings) == ("T", document.headings)
    assert (hit.document.document.text, hit.document.document.blocks) == ("", ())
    assert before.document.document.text == document.text


def connections() -> int:
    gc.collect()
    return sum(isinstance(thing, sqlite3.Connection) for thing in gc.get_objects())


def test_connections_of_readers_that_have_long_gone_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(SqliteCatalog(tmp_path / "catalog.sqlite")) as catalog:
        with catalog.read():
            few = connections()
        with ExitStack() as readers:
            for _ in range(8):
                readers.enter_context(catalog.read())
        assert connections() == few + 7
        monkeypatch.setattr(module, "_IDLE_S", 0.0)
        with catalog.read() as reader:
            assert reader.generation == 0
        assert connections() == few
        with catalog.read() as reader:
            assert reader.generation == 0


def test_giving_back_is_no_error_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    give_back()
    monkeypatch.setattr("librarian.shelving.heap.sys.platform", "other")
    give_back()
