"""Several servers over one PostgreSQL, as processes that are killed.

* Exactly one server indexes and all answer; when it is killed, another goes on, and nothing is lost or stored twice.
* Every server notices new index versions; one that doesn't index passes requests on.
* A library in PostgreSQL answers in each mode; storages that don't fit together are refused.
* A restart of the database costs a clear error; afterwards the same objects answer again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from librarian.bootstrap import storage
from librarian.embeddings.model_files import ModelStore
from librarian.errors import SetupError, Unavailable
from librarian.library import Librarian
from librarian.models import Filters
from librarian.settings import Settings
from librarian.storage.postgres.database import Database
from librarian.text.analyzer import StandardAnalyzer
from tests import postgres
from tests.library.conftest import write_library

from .postgres_process import Shared

BACKEND = Path(__file__).resolve().parents[2]
FOLDERS, FILES = 6, 20
MODEL = "fake;fake;64;32"
PATIENCE_S = 120  # a busy machine starts processes slowly


@pytest.fixture(scope="module", autouse=True)
def _server() -> None:
    postgres.url()


class Process:
    """A server, and what it said."""

    def __init__(self, schema: str, root: Path) -> None:
        self.said: list[dict[str, Any]] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.storage.postgres_process", postgres.url(), schema, str(root)],
            cwd=BACKEND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(BACKEND)},
        )
        self._news = threading.Condition()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._news:
                self.said.append(json.loads(line))
                self._news.notify_all()

    def heard(self, **wanted: object) -> list[dict[str, Any]]:
        return [said for said in list(self.said) if wanted.items() <= said.items()]

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def wait_for(self, timeout: float = PATIENCE_S, **wanted: object) -> None:
        with self._news:
            assert self._news.wait_for(lambda: bool(self.heard(**wanted)), timeout), (wanted, self.said)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._thread.join(10)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def start() -> Iterator[Callable[..., Process]]:
    started: list[Process] = []

    def begin(*given: Any) -> Process:
        started.append(Process(*given))
        return started[-1]

    yield begin
    for process in started:
        if process.process.poll() is None:
            process.kill()


def until(true: Callable[[], bool], timeout: float = PATIENCE_S) -> None:
    """Wait for what other processes do."""
    tick, end = threading.Event(), time.monotonic() + timeout
    while not true():
        assert time.monotonic() < end
        tick.wait(0.1)


def name_of(folder: int, number: int) -> str:
    """A word that only this file holds."""
    return f"word{chr(97 + folder)}{chr(97 + number)}"


def write(root: Path, name: str, words: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"# About {words}\n\n{words} is what this page tells, and nothing else.\n\n## More\n\nOf {words}.\n"
    )


def test_when_the_server_that_indexes_is_killed_another_one_goes_on(
    tmp_path: Path, start: Callable[..., Process]
) -> None:
    root, schema = tmp_path / "docs", postgres.schema_of(tmp_path)
    for folder in range(FOLDERS):
        for number in range(FILES):
            write(root, f"product{folder}/api/{number}.md", name_of(folder, number))
    first = start(schema, root)
    first.wait_for(what="leading", now=True)
    second = start(schema, root)
    second.wait_for(what="ready")
    first.wait_for(what="holding")
    for server in (first, second):
        server.tell(f"find {name_of(5, 19)}")
        server.wait_for(what="found", words=name_of(5, 19), paths=["product5/api/19.md"])
    assert not second.heard(what="leading")
    first.kill()  # while it embeds
    write(root, "product0/api/late.md", "latecomer")
    (root / "product1/api/7.md").unlink()
    write(root, "product2/api/3.md", "rewritten")
    second.wait_for(what="leading", now=True)
    for name in ("product0/api/late.md", "product1/api/7.md", "product2/api/3.md"):
        second.tell(f"changed {root / name}")
    second.tell("go")
    shared = Shared(postgres.url(), schema, root)
    try:

        def finished() -> bool:
            with shared.database.connection() as connection:
                row = connection.execute(
                    """SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM chunks),
                        (SELECT count(*) FROM windows), (SELECT count(*) FROM entries)"""
                ).fetchone()
            assert row is not None
            return bool(row[0] == FOLDERS * FILES and row[1] == row[2] == row[3])

        until(finished)
        until(lambda: shared.indexer.check() == [])
        assert shared.catalog.verify() == []
        second.kill()
        windows = [number for number, _ in shared.catalog.windows(MODEL)]
        assert len(set(windows)) == len(windows)
        assert sorted(shared.store(MODEL).ids().tolist()) == sorted(windows)
        for words, count in (
            (name_of(5, 19), 1),
            ("latecomer", 1),
            ("rewritten", 1),
            (name_of(1, 7), 0),
            (name_of(2, 3), 0),
        ):
            assert len(shared.find(words)) == count, words
    finally:
        shared.close()


def test_a_leader_that_cannot_begin_releases_the_lock_and_requests_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "docs"
    write(root, "ray/api/a.md", "alpha")
    shared = Shared(postgres.url(), postgres.schema_of(tmp_path), root)
    begin, tries = shared.indexer._begin, list[bool]()

    def sometimes() -> None:
        tries.append(shared.leader.leading)
        if len(tries) == 1:
            raise Unavailable("The database doesn't answer.", hint="Wait.")
        begin()

    monkeypatch.setattr(shared.indexer, "_begin", sometimes)
    try:
        shared.indexer.start()
        until(lambda: len(tries) > 1 and not shared.indexer.errors())
        assert shared.indexer.wait_until_ready(PATIENCE_S)
        until(lambda: shared.catalog.columns().documents == 1)
    finally:
        shared.close()


def test_another_server_passes_requests_on_and_hears_of_the_outcome(tmp_path: Path) -> None:
    root = tmp_path / "docs"
    write(root, "ray/api/a.md", "alpha")
    servers = [Shared(postgres.url(), postgres.schema_of(tmp_path), root) for _ in range(2)]
    try:
        one, other = servers
        one.indexer.start()
        assert one.indexer.wait_until_ready(30)
        other.indexer.start()
        assert (one.leader.leading, other.leader.leading) == (True, False)
        heard = threading.Event()
        forget = other.indexer.on_generation(lambda _: heard.set())
        write(root, "ray/api/b.md", "beta")
        report = other.indexer.update()
        assert "asked to scan" in report.notes[0]
        assert heard.wait(30)
        until(lambda: other.catalog.columns().documents == 2)
        forget()
        until(lambda: other.indexer.verify().ok)
        for refused in ({"rebuild": True}, {"prune": True}):
            with pytest.raises(Unavailable, match="Another server"):
                other.indexer.update(**refused)
        with pytest.raises(Unavailable, match="Another server"):
            other.indexer.verify(repair=True)
        one.indexer.stop()
        until(lambda: other.leader.leading)
        assert other.indexer.wait_until_ready(30)
        write(root, "ray/api/c.md", "gamma")
        other.indexer.update()
        assert other.catalog.columns().documents == 3
    finally:
        for server in servers:
            server.close()


@pytest.mark.skipif(bool(os.environ.get("LIBRARIAN_TEST_DATABASE")), reason="that server isn't ours to stop")
def test_the_health_of_a_library_whose_database_is_known_to_be_silent_waits_for_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "docs", "ray/api/a.md", "alpha")
    storage = {"catalog": "postgres", "database_url": postgres.url(), "database_schema": postgres.schema_of(tmp_path)}
    settings = {f"storage.{name}": value for name, value in storage.items()} | {"embeddings.enabled": False}
    own, asked = postgres.own_server(), list[str]()
    with Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", **settings) as library:
        assert library.health().documents == 1
        try:
            own.stop()
            until(lambda: "database" in library._parts.indexing.errors())
            monkeypatch.setattr(Database, "read", lambda _: asked.append("in vain"))
            health = library.health()
            assert (health.status, asked) == ("degraded", [])
            assert "doesn't answer" in health.reasons[0]
            monkeypatch.undo()
        finally:
            own.start()
        until(lambda: library.health().status == "ok")


@pytest.mark.skipif(bool(os.environ.get("LIBRARIAN_TEST_DATABASE")), reason="that server isn't ours to restart")
def test_a_restart_of_the_database_is_told_once_and_overcome(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    root = tmp_path / "docs"
    write(root, "ray/api/a.md", "alpha")
    shared = Shared(postgres.url(), postgres.schema_of(tmp_path), root)
    own = postgres.own_server()
    query = StandardAnalyzer().query("alpha")
    try:
        shared.indexer.start()
        assert shared.indexer.wait_until_ready(30)
        selection = shared.catalog.columns().select(Filters())
        assert shared.lexical.search(query, selection, 5).ids

        def in_mid_search() -> None:
            with shared.catalog.read():
                own.stop()
                shared.lexical.search(query, selection, 5)

        with pytest.raises(Unavailable, match="doesn't answer"):
            in_mid_search()
        with pytest.raises(Unavailable, match="doesn't answer"):
            shared.lexical.search(query, selection, 5)
        began = time.monotonic()
        with pytest.raises(Unavailable, match="doesn't answer"):
            shared.lexical.search(query, selection, 5)
        assert time.monotonic() - began < 4, "the next isn't kept for 5 s again"
    finally:
        own.start()
    try:
        until(lambda: shared.leader.leading and not shared.indexer.errors())
        assert sum("waiting for the database" in record.message for record in caplog.records) == 1
        assert not [record for record in caplog.records if record.name.startswith("psycopg")]
        assert shared.lexical.search(query, selection, 5).ids
        write(root, "ray/api/b.md", "beta")
        shared.indexer.update()
        assert shared.catalog.columns().documents == 2
    finally:
        shared.close()


def test_a_library_in_postgres_answers_in_each_mode(tmp_path: Path) -> None:
    if ModelStore().locate("all-MiniLM-L6-v2") is None:
        pytest.skip("the default embedding model is not installed; run librarian models fetch")
    write_library(tmp_path / "docs")
    storage = {"catalog": "postgres", "database_url": postgres.url(), "database_schema": postgres.schema_of(tmp_path)}
    settings = {f"storage.{name}": value for name, value in storage.items()}
    with Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", **settings) as library:
        status = library.status()
        assert status.storage.vectors == "pgvector"
        assert status.embedded_chunks == status.chunks
        for mode in ("keyword", "semantic", "hybrid"):
            answer = library.search("Which card does a refund go to?", mode=mode)
            assert "shop/guides/returns.md" in {hit.file_path for hit in answer.results[:2]}
        assert "ts_rank" in answer.retrievers.keyword.reason
        assert "reciprocal rank fusion" in answer.retrievers.keyword.reason


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"storage.catalog": "postgres"}, "DATABASE_URL"),
        ({"storage.catalog": "postgres", "storage.database_url": "x", "vector_db.store": "chroma"}, "can't share"),
        ({"vector_db.store": "pgvector"}, "storage.catalog"),
    ],
)
def test_storages_that_do_not_fit_are_refused_with_the_setting(
    tmp_path: Path, given: dict[str, object], named: str
) -> None:
    config = tmp_path / "config.json"
    config.write_text("{}")
    with pytest.raises(SetupError) as caught:
        storage(Settings.load(config, environ={}, overrides=given))
    assert named in str(caught.value)


def test_postgres_and_qdrants_local_mode_work_together(tmp_path: Path) -> None:
    pytest.importorskip("qdrant_client", reason="the extra librarian-docs[qdrant] isn't installed")
    write_library(tmp_path / "docs")
    given = {"catalog": "postgres", "database_url": postgres.url(), "database_schema": postgres.schema_of(tmp_path)}
    settings = {f"storage.{name}": value for name, value in given.items()} | {"vector_db.store": "qdrant"}
    with Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", **settings) as library:
        assert library.status().storage.vectors == "qdrant"
        answer = library.search("Which card does a refund go to?", mode="semantic")
        assert "shop/guides/returns.md" in {hit.file_path for hit in answer.results[:2]}
        assert answer.retrievers.semantic.status == "ok"
