"""The PostgreSQL catalog on a real server: the contract, and what only several servers can show.

* What one server writes, the columns of another take up without being read anew.
* Texts with characters that PostgreSQL can't hold, and hostile names, come back whole.
* A newer format is refused, an unknown text search configuration named; a server that isn't there is a clear error.
* `verify` names what doesn't fit together.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from librarian import bootstrap
from librarian.errors import SetupError, Unavailable
from librarian.models import Filters
from librarian.settings import Settings
from librarian.storage.catalog import Catalog
from librarian.storage.database import VERSION
from librarian.storage.embedding_cache import EmbeddingCache
from librarian.storage.postgres.database import Database
from librarian.storage.postgres.keyword_index import PostgresKeywordIndex
from tests import postgres
from tests.contracts.catalog_contract import HISTORY, SEVERAL, CatalogContract, document, result

HOSTILE = ["'; DROP TABLE documents; --", 'a"b', "%s", "{}", "\\'; SELECT pg_sleep(9)", "$1", "🦊 ü"]


@pytest.fixture(scope="session", autouse=True)
def _server() -> Iterator[None]:
    postgres.url()
    yield
    postgres.let_go()


def opened(folder: Path, shared_products: Sequence[str] = ()) -> Catalog:
    return Catalog(postgres.database(folder), shared_products=shared_products)


class TestPostgresCatalog(CatalogContract):
    def open(self, folder: Path, shared_products: Sequence[str] = ()) -> Catalog:
        return opened(folder, shared_products)

    @settings(deadline=None, max_examples=15, suppress_health_check=SEVERAL)  # each statement is a round trip
    @given(**HISTORY)
    def test_columns_select_what_a_plain_reading_of_the_filters_does(
        self, tmp_path_factory: pytest.TempPathFactory, **history: list[Any]
    ) -> None:
        database = postgres.kept(tmp_path_factory.getbasetemp() / "columns")
        catalog = Catalog(database)
        catalog.remove(sorted(catalog.known()))
        catalog.close()
        self.assert_columns_are_true(lambda: Catalog(database, shared_products=["shared"]), **history)


def test_columns_take_up_what_another_server_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = opened(tmp_path), opened(tmp_path)
    one.put([result(document(f"alpha/api/{n}.md")) for n in range(20)])
    assert other.columns().documents == 20
    one.put([result(document("beta/api/b.md"))])
    CatalogContract.move(one, "alpha/api/1.md", "beta/api/1.md")
    one.remove(["alpha/api/2.md"])
    with monkeypatch.context() as patched:
        patched.setattr("librarian.storage.queries.columns_of", None)  # reading anew would fail
        assert other.columns().documents == 20
    assert other.columns().select(Filters(product="beta")).count == one.columns().select(Filters(product="beta")).count
    assert other.columns().select(Filters(product="beta")).count == 6
    generation = one.bump()
    assert other.columns().generation == generation
    assert other.columns() is other.columns()
    one.close()
    other.close()


def test_so_many_changes_that_the_log_was_cut_reload_the_columns(tmp_path: Path) -> None:
    one, other = opened(tmp_path), opened(tmp_path)
    other.columns()
    one.put([result(document(f"alpha/api/{n}.md")) for n in range(150)])
    assert other.columns().documents == 150
    with one._database.write() as session:
        session.connection.execute("DELETE FROM changes")
        session.connection.execute("UPDATE meta SET value = '99' WHERE key = 'changes'")
    one.remove(["alpha/api/0.md"])
    assert other.columns().documents == 149
    one.close()
    other.close()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_only_names(tmp_path: Path, name: str) -> None:
    catalog = opened(tmp_path)
    path = f"{name}/{name}/{name}.md".replace("/", "-", 0)
    made = document(path, f"text {name}", tags=(name,), title=name)
    catalog.put([result(made), result(document())])
    catalog.set_meta(name, name)
    with catalog.read() as reader:
        found = reader.document_by_path(path)
        assert found is not None
        assert found.document == made
        assert [each.document.file_path for each in reader.iter_documents(Filters(tags=(name,)))] == [path]
        assert reader.meta(name) == name
        assert reader.products()[made.product] == {made.component: 1}
    assert catalog.columns().select(Filters(product=made.product)).count == len(result(made).chunks)
    CatalogContract.move(catalog, path, f"{name}/moved.md", title=name)
    assert catalog.remove([f"{name}/moved.md"])[0]
    assert catalog.verify() == []
    catalog.close()


def test_what_postgresql_cannot_hold_is_stored_as_a_replacement_character(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    (stored,) = catalog.put([result(document(text="ab\0cd\udc80"), size=10)])
    with catalog.read() as reader:
        assert [each.chunk.text for each in reader.chunks_of(stored.doc_id)] == ["ab\ufffdcd\ufffd"]
        assert reader.document_by_path("a\0b") is None
    assert catalog.verify() == []
    catalog.close()


def test_a_closed_catalog_says_so(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.close()
    catalog.close()
    with pytest.raises(Unavailable, match="closed"), catalog.read():
        pass


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    with catalog._database.write() as session:
        session.rows("UPDATE schema_version SET version = 99")
    catalog.close()
    with pytest.raises(SetupError, match="Update Librarian"):
        opened(tmp_path)


def test_tables_of_an_older_format_are_made_anew_and_embeddings_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog, cache = opened(tmp_path), EmbeddingCache(postgres.database(tmp_path))
    catalog.put([result(document())])
    cache.put("m", {"h": np.ones(4, np.float32)})
    catalog.close()
    cache.close()
    monkeypatch.setattr("librarian.storage.postgres.database.VERSION", VERSION + 1)
    again, cache = opened(tmp_path), EmbeddingCache(postgres.database(tmp_path))
    assert again.known() == {}
    assert again.identity != catalog.identity
    assert cache.get("m", ["h"]).keys() == {"h"}
    again.close()
    cache.close()


def test_an_unknown_text_search_configuration_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="english"):
        postgres.database(tmp_path, text_search="klingon")


def test_a_server_that_is_not_there_is_a_clear_error() -> None:
    with pytest.raises(SetupError, match="DATABASE_URL"):
        Database("postgresql://nobody@127.0.0.1:9/none", wait_s=2)


def test_an_address_that_is_none_keeps_its_password_to_itself() -> None:
    with pytest.raises(SetupError, match="missing") as refused:
        Database("postgres//reader:secret@127.0.0.1/none", wait_s=2)
    assert "secret" not in str(refused.value)


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg_pool", None)
    with pytest.raises(SetupError, match=r"librarian-docs\[postgres\]"):
        Database("postgresql://nowhere")


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE chunks SET text = 'forged' WHERE ordinal = 1", "Chunk 1 of alpha/api/a.md is not the text"),
        ("DELETE FROM chunks WHERE ordinal = 0", "alpha/api/a.md should have 3 chunks and has 2"),
        ("DELETE FROM texts", "alpha/api/a.md has lost its text"),
    ],
)
def test_verify_names_what_is_inconsistent(tmp_path: Path, statement: str, told: str) -> None:
    catalog = opened(tmp_path)
    catalog.put([result(document())])
    assert catalog.verify() == []
    with catalog._database.write() as session:
        session.connection.execute(statement)  # type: ignore[call-overload]
    assert any(told in sentence for sentence in catalog.verify())
    catalog.close()


def test_columns_are_read_within_a_read_transaction_although_others_wait_for_the_last_connection(
    tmp_path: Path,
) -> None:
    catalog = Catalog(postgres.database(tmp_path, connections=1))  # one transaction reads at a time
    catalog.put([result(document())])
    began, found = threading.Event(), list[int]()

    def wait_for_a_connection() -> None:
        began.set()
        found.append(catalog.columns().documents)

    def read() -> None:
        with catalog.read():
            other.start()
            began.wait()
            other.join(0.3)  # it waits for the connection by then
            found.append(catalog.columns().documents)

    other = threading.Thread(target=wait_for_a_connection, daemon=True)
    reading = threading.Thread(target=read, daemon=True)
    reading.start()
    for thread in (reading, other):
        thread.join(20)
    assert found == [1, 1]
    catalog.close()


def test_a_start_that_fails_leaves_no_connection_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Database] = []

    def remembered(given: Settings) -> Database:
        opened.append(postgres.database(tmp_path))
        return opened[0]

    def fail(*_: object, **__: object) -> None:
        raise Unavailable("The keyword index fails.")

    monkeypatch.setattr(bootstrap, "database", remembered)
    monkeypatch.setattr(PostgresKeywordIndex, "__init__", fail)
    config = tmp_path / "config.json"
    config.write_text('{"storage": {"catalog": "postgres", "database_url": "x"}}')
    with pytest.raises(Unavailable, match="fails"):
        bootstrap.storage(Settings.load(config, environ={}))
    with pytest.raises(Unavailable, match="closed"), opened[0].read():
        pass
