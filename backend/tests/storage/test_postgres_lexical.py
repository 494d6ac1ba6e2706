"""The keyword index in PostgreSQL on a real server: the contract, and what its own language of questions could break.

* Words, phrases and exclusions written in PostgreSQL's own operators are only words.
* In the configuration `english` forms of a word find each other, and another configuration makes the index anew.
* Made for another catalog, the index is emptied when opened.
* In a transaction of a catalog it becomes visible with that, and is undone with it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from librarian.models import Filters
from librarian.storage.base import KeywordIndex
from librarian.storage.catalog import Catalog
from librarian.storage.postgres.keyword_index import PostgresKeywordIndex
from tests import postgres
from tests.contracts.catalog_contract import result
from tests.contracts.lexical_contract import EVERYTHING, SOME, LexicalContract, asked, entry


@pytest.fixture(scope="session", autouse=True)
def _server() -> Iterator[None]:
    postgres.url()
    yield
    postgres.let_go()


class TestPostgresLexicalIndex(LexicalContract):
    def open(self, folder: Path) -> KeywordIndex:
        return PostgresKeywordIndex(postgres.database(folder, text_search="simple"))

    def open_transient(self, folders: pytest.TempPathFactory) -> KeywordIndex:
        index = PostgresKeywordIndex(postgres.kept(folders.getbasetemp() / "words", text_search="simple"))
        index.clear()
        return index


@pytest.mark.parametrize(
    "word", ["a & b", "'", "''", "\\", "it's", "!x", "a:*", "<->", "(", "%s", "\0", "| !pod", ":A"]
)
def test_operators_are_only_words(tmp_path: Path, word: str) -> None:
    index = PostgresKeywordIndex(postgres.database(tmp_path))
    index.put([(1, 1, SOME, entry(f"pod {word}", identifiers=word)), (2, 2, SOME, entry("other"))])
    index.commit(1)
    query = asked("pod", word, identifiers=[word])
    assert index.search(query, EVERYTHING, 5).ids == (1,)
    index.search(asked(word, phrases=[[word, "pod"]], excluded=[word]), EVERYTHING, 5)
    index.terms(word, 5)
    assert index.count() == 2
    index.close()


def test_another_configuration_begins_an_empty_library(tmp_path: Path) -> None:
    index = PostgresKeywordIndex(postgres.database(tmp_path, text_search="english"))
    index.put([(1, 1, SOME, entry("running pods"))])
    index.commit(3)
    assert index.search(asked("pod", "run"), EVERYTHING, 5).ids == (1,)
    index.close()
    index = PostgresKeywordIndex(postgres.database(tmp_path, text_search="simple"))
    assert (index.count(), index.generation) == (0, 0)
    index.put([(1, 1, SOME, entry("running pods"))])
    index.commit(1)
    assert index.search(asked("pod", "run"), EVERYTHING, 5).ids == ()
    assert index.search(asked("pods"), EVERYTHING, 5).ids == (1,)
    index.close()


def test_with_a_catalog_of_the_same_database_one_commit_shows_both(tmp_path: Path) -> None:
    database = postgres.database(tmp_path)
    catalog, index = Catalog(database), PostgresKeywordIndex(database)
    with catalog.transaction():
        catalog.put([result(SOME)])
        index.put([(1, 1, SOME, entry("apple"))])
        index.commit(catalog.bump())
        assert (index.count(), catalog.columns().select(Filters()).count) == (0, 0)
    with catalog.read() as reader:
        assert (index.count(), index.generation, reader.generation) == (1, 1, 1)
    with contextlib.suppress(KeyError), catalog.transaction():
        index.delete([1])
        index.commit(catalog.bump())
        raise KeyError
    index.rollback()
    assert (index.count(), index.generation) == (1, 1)
    index.close()
    catalog.close()
