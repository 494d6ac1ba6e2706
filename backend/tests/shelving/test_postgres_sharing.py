"""Several servers and workers over one PostgreSQL, as processes that are killed.

* Exactly one server indexes; when it is killed, another takes over, and nothing is lost or stored twice.
* Workers share the queue: no passage is taken by two at once, and what a killed one held is embedded by another.
* Who deletes or compares vectors waits for those who have stored some and not yet marked them.
* Every server hears of new generations; one whose turn it isn't passes requests on.
* A restart of the database costs a clear error; afterwards the same objects answer again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from librarian.assembly import Librarian
from librarian.language.analyzer import StandardAnalyzer
from librarian.shelving.postgres.claims import ClaimingCatalog
from librarian.shelving.postgres.database import Database
from librarian.shelving.vector_shelf import VectorShelf
from librarian.vocabulary.errors import Unavailable
from librarian.vocabulary.types import Filters
from tests import postgres
from tests.contracts.catalog_contract import document, result

from .postgres_process import Shared

BACKEND = Path(__file__).resolve().parents[2]
FOLDERS, FILES = 6, 20
MODEL = "fake;fake;64;32"
PATIENCE_S = 120  # a busy machine starts processes slowly


@pytest.fixture(scope="module", autouse=True)
def _server() -> None:
    postgres.url()


class Process:
    """A server or worker, and what it said."""

    def __init__(self, role: str, schema: str, root: Path) -> None:
        self.said: list[dict[str, Any]] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.shelving.postgres_process", role, postgres.url(), schema, str(root)],
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


def test_servers_and_workers_killed_in_the_middle_lose_nothing_and_do_nothing_twice(
    tmp_path: Path, start: Callable[..., Process]
) -> None:
    root, schema = tmp_path / "docs", postgres.schema_of(tmp_path)
    for folder in range(FOLDERS):
        for number in range(FILES):
            write(root, f"product{folder}/api/{number}.md", name_of(folder, number))
    workers = [start("worker", schema, root) for _ in range(2)]
    servers = [start("server", schema, root) for _ in range(3)]

    def next_in_turn() -> Process:
        until(lambda: any(server.heard(what="turn", mine=True) for server in servers))
        (mine,) = [server for server in servers if server.heard(what="turn", mine=True)]
        return mine

    first = next_in_turn()
    first.wait_for(what="generation", number=1)
    first.kill()  # while it writes text
    servers.remove(first)
    second = next_in_turn()
    for process in (workers[0], second):
        process.wait_for(what="holding")
        process.kill()  # with passages in its hands
    servers.remove(second)
    write(root, "product0/api/late.md", "latecomer")
    (root / "product1/api/7.md").unlink()
    write(root, "product2/api/3.md", "rewritten")
    third = next_in_turn()
    for name in ("product0/api/late.md", "product1/api/7.md", "product2/api/3.md"):
        third.tell(f"changed {root / name}")  # and so while passages of documents that go are embedded
    for process in (third, workers[1]):
        process.tell("go")
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
        until(lambda: shared.indexer.check() == [])  # nobody compares and mends meanwhile
        assert shared.catalog.verify() == []
        for process in (third, workers[1]):
            process.kill()
        windows = [number for number, _ in shared.catalog.windows(MODEL)]
        assert Counter(windows).most_common(1)[0][1] == 1
        assert sorted(shared.store(MODEL).ids().tolist()) == sorted(windows)
        selection = shared.catalog.columns().select(Filters())
        for words, count in (
            (name_of(5, 19), 1),
            ("latecomer", 1),
            ("rewritten", 1),
            (name_of(1, 7), 0),
            (name_of(2, 3), 0),
        ):
            found = shared.lexical.search(StandardAnalyzer().query(words), selection, 9).ids
            with shared.catalog.read() as reader:
                assert len({chunk.doc_id for chunk in reader.chunks(found).values()}) == count, words
    finally:
        shared.close()


def test_who_deletes_or_compares_waits_until_what_was_stored_is_marked(tmp_path: Path) -> None:
    one, other = (Shared(postgres.url(), postgres.schema_of(tmp_path), tmp_path / "docs") for _ in range(2))
    (stored,) = one.catalog.put([result(document(text="x" * 70))])
    waiting: list[threading.Thread] = []
    theirs = VectorShelf(other.catalog, other.archive, lambda model: [other.store(model)], lambda step: None,
                         company=other.writers)  # fmt: skip
    theirs.use([MODEL])

    def meanwhile(step: str) -> None:
        if step != "store upsert":
            return
        other.catalog.remove([document().file_path])
        for act in (lambda: theirs.repair(MODEL), lambda: theirs.delete(stored.chunk_ids)):
            waiting.append(threading.Thread(target=act))
            waiting[-1].start()
        until(lambda: _blocked(other.database) == len(waiting))

    ours = VectorShelf(one.catalog, one.archive, lambda model: [one.store(model)], meanwhile, company=one.writers)
    ours.use([MODEL])
    hashes = {number: [f"h{number}"] for number in stored.chunk_ids}
    vectors = {digest: np.eye(64, dtype=np.float32)[0] for (digest,) in hashes.values()}
    ours.put(MODEL, hashes, vectors, dict.fromkeys(stored.chunk_ids, stored.doc_id))
    for thread in waiting:
        thread.join(PATIENCE_S)
    assert one.store(MODEL).ids().tolist() == []
    for shared in (one, other):
        shared.close()


def test_a_turn_that_cannot_be_begun_is_given_back_and_asked_for_again(tmp_path: Path) -> None:
    root = tmp_path / "docs"
    write(root, "ray/api/a.md", "alpha")
    shared = Shared(postgres.url(), postgres.schema_of(tmp_path), root)
    alone, tries = shared.writers.alone, []

    def sometimes() -> AbstractContextManager[object]:
        tries.append(shared.upkeep.turn.mine)
        if len(tries) == 1:
            raise Unavailable("Others don't come to an end.", hint="Wait.")
        return alone()

    shared.writers.alone = sometimes  # type: ignore[method-assign, assignment]
    try:
        shared.upkeep.start()
        until(lambda: len(tries) > 1 and not shared.upkeep.problems())
        assert shared.upkeep.wait_until_idle(PATIENCE_S)
        until(lambda: shared.catalog.columns().documents == 1)
    finally:
        shared.close()


def _blocked(database: Database) -> int:
    """How many sessions wait for an advisory lock."""
    with database.connection() as connection:
        row = connection.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted").fetchone()
    assert row is not None
    return int(row[0])


def test_no_passage_is_claimed_twice_and_what_a_dead_one_held_is_free_again(tmp_path: Path) -> None:
    database = postgres.database(tmp_path).join()
    one, other = (ClaimingCatalog(database, pause_s=0.02) for _ in range(2))
    (stored,) = one.put([result(document(text="x" * 70))])
    first, second = ({chunk.chunk_id for chunk, _ in each.pending("m", 4)} for each in (one, other))
    assert len(first) == len(second) == 4
    assert not first & second
    one.mark_embedded("m", {number: ["h"] for number in first})
    rest = {chunk.chunk_id for chunk, _ in one.pending("m", 99)}
    assert rest == set(stored.chunk_ids) - first - second
    assert other._session is not None
    other._session.pgconn.finish()  # without marking: as a kill would
    # the server lets go of what a dead session held once it notices
    until(lambda: {chunk.chunk_id for chunk, _ in one.pending("m", 99)} == rest | second)
    one.mark_embedded("m", {number: ["h"] for number in rest | second})
    assert one.pending("m", 99) == []
    one.remove([document().file_path])
    assert one.pending("m", 99) == []
    with database.connection() as connection:
        assert connection.execute("SELECT count(*) FROM embedding_queue").fetchone() == (0,)
    for catalog in (one, other):
        catalog.close()
    database.leave()


def test_what_is_given_back_is_free_at_once(tmp_path: Path) -> None:
    database = postgres.database(tmp_path).join()
    one, other = (ClaimingCatalog(database, patience_s=0) for _ in range(2))
    one.put([result(document(text="x" * 70))])
    held = one.pending("m", 99)
    assert held
    assert other.pending("m", 99) == []
    one.close()
    assert other.pending("m", 99) == held
    other.close()
    database.leave()


def test_a_restart_of_the_database_between_two_claims_costs_nothing(tmp_path: Path) -> None:
    database = postgres.database(tmp_path).join()
    catalog = ClaimingCatalog(database, patience_s=0)
    catalog.put([result(document(text="x" * 70))])
    held = catalog.pending("m", 99)
    catalog.release()
    assert catalog._session is not None
    pid = catalog._session.info.backend_pid
    with database.connection() as connection:
        connection.execute("SELECT pg_terminate_backend(%s)", (pid,))
        until(lambda: connection.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", (pid,)).fetchone() is None)
    assert catalog.pending("m", 99) == held
    catalog.close()
    database.leave()


def test_another_server_passes_requests_on_and_hears_of_the_outcome(tmp_path: Path) -> None:
    root = tmp_path / "docs"
    write(root, "ray/api/a.md", "alpha")
    servers = [Shared(postgres.url(), postgres.schema_of(tmp_path), root) for _ in range(2)]
    try:
        one, other = servers
        one.upkeep.start()
        assert one.upkeep.wait_until_idle(30)
        other.upkeep.start()
        assert (one.upkeep.turn.mine, other.upkeep.turn.mine) == (True, False)
        heard = threading.Event()
        forget = other.upkeep.on_generation(lambda _: heard.set())
        write(root, "ray/api/b.md", "beta")
        report = other.upkeep.refresh()
        assert "asked to look" in report.notes[0]
        assert heard.wait(30)
        until(lambda: other.catalog.columns().documents == 2)
        forget()
        until(lambda: other.upkeep.check().ok)
        for refused in (other.upkeep.rebuild, other.upkeep.prune, lambda: other.upkeep.check(repair=True)):
            with pytest.raises(Unavailable, match="Another server"):
                refused()
        one.upkeep.close()
        until(lambda: other.upkeep.turn.mine)
        assert other.upkeep.wait_until_idle(30)
        write(root, "ray/api/c.md", "gamma")
        other.upkeep.refresh()
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
            until(lambda: any(reason.startswith("database: ") for reason in library._parts.indexing.problems()))
            monkeypatch.setattr(Database, "snapshot", lambda _: asked.append("in vain"))
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
        shared.upkeep.start()
        assert shared.upkeep.wait_until_idle(30)
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
        until(lambda: shared.upkeep.turn.mine and not shared.upkeep.problems())
        assert sum("waiting for the database" in record.message for record in caplog.records) == 1
        assert not [record for record in caplog.records if record.name.startswith("psycopg")]
        assert shared.lexical.search(query, selection, 5).ids
        write(root, "ray/api/b.md", "beta")
        shared.upkeep.refresh()
        assert shared.catalog.columns().documents == 2
    finally:
        shared.close()
