"""Documents are remembered for one state of the catalog, and no longer than there is room."""

from __future__ import annotations

from librarian.models import Document, StoredDocument
from librarian.storage.lru_cache import AT_ONCE, DocumentMemory


def stored(doc_id: int, text: str = "") -> StoredDocument:
    return StoredDocument(doc_id, Document(f"{doc_id}.md", "p", "c", "document", ".md", "T", text), 1, "")


def test_what_was_read_is_known_until_the_catalog_changes() -> None:
    memory = DocumentMemory()
    memory.remember(1, {7: stored(7)}, text=False)
    assert memory.known(1, [7, 8], text=False) == {7: stored(7)}
    assert memory.known(1, [7], text=True) == {}
    assert memory.known(2, [7], text=False) == {}
    memory.remember(2, {8: stored(8)}, text=False)
    assert memory.known(2, [7, 8], text=False) == {8: stored(8)}


def test_an_older_reader_neither_sees_nor_overwrites_the_newer_state() -> None:
    memory = DocumentMemory()
    memory.remember(2, {7: stored(7)}, text=False)
    memory.remember(1, {8: stored(8)}, text=False)
    assert memory.known(1, [7, 8], text=False) == {}
    assert memory.known(2, [7, 8], text=False) == {7: stored(7)}


def test_the_least_recently_used_go_first() -> None:
    memory = DocumentMemory(entries=2)
    memory.remember(1, {1: stored(1), 2: stored(2)}, text=False)
    memory.known(1, [1], text=False)
    memory.remember(1, {3: stored(3)}, text=False)
    assert set(memory.known(1, [1, 2, 3], text=False)) == {1, 3}


def test_who_reads_all_documents_leaves_those_of_the_answers() -> None:
    memory = DocumentMemory()
    memory.remember(1, {7: stored(7)}, text=False)
    memory.remember(1, {number: stored(number) for number in range(100, 101 + AT_ONCE)}, text=False)
    assert memory.known(1, [7, 100], text=False) == {7: stored(7)}
    memory.remember(1, {number: stored(number) for number in range(100, 100 + AT_ONCE)}, text=False)
    assert set(memory.known(1, [7, 100], text=False)) == {7, 100}


def test_texts_are_bounded_together() -> None:
    memory = DocumentMemory(characters=10)
    memory.remember(1, {1: stored(1, "x" * 6), 2: stored(2, "y" * 6)}, text=True)
    assert set(memory.known(1, [1, 2], text=True)) == {2}
