"""`librarian index --worker` as real processes over one database, with the default model.

* Two workers take different passages of one queue; one that is killed leaves nothing undone and nothing done twice.
* A worker that is told to end does so, and says how many passages it embedded.
* Where there is nothing to share, it says so with the way out.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from librarian import assembly_parts
from librarian.assembly import Librarian
from librarian.assembly_storage import storage
from librarian.models.store import ModelStore
from librarian.settings import Settings
from tests import postgres

BACKEND = Path(__file__).resolve().parents[2]
PATIENCE_S = 120
#: Sessions that hold passages of the queue.
HOLDERS = """SELECT count(DISTINCT l.pid) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relname = 'embedding_queue' AND n.nspname = current_schema() AND l.mode = 'RowShareLock'"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    if ModelStore().locate("all-MiniLM-L6-v2") is None:
        pytest.skip("the default embedding model is not installed; run librarian models fetch")
    for number in range(32):
        path = tmp_path / f"docs/shop/api/{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        sections = [f"## Part {part}\n\nThe {number}th page tells of step {part}, in few words.\n" for part in range(5)]
        path.write_text(f"# Page {number}\n\n" + "\n".join(sections))
    config = tmp_path / "config.json"
    given = {"catalog": "postgres", "database_url": postgres.url(), "database_schema": postgres.schema_of(tmp_path)}
    docs = {"root_path": "docs", "watch_for_changes": False}
    config.write_text(json.dumps({"docs": docs, "storage": given, "embeddings": {"enabled": False}}))
    return config


def work(config: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "librarian.cli", "index", "--worker", "--config", str(config)],
        cwd=BACKEND,
        env={**os.environ, "PYTHONPATH": str(BACKEND), "ENABLE_EMBEDDINGS": "true"},
        stderr=subprocess.PIPE,
        text=True,
    )


def until(true: Callable[[], bool], *processes: subprocess.Popen[str]) -> None:
    """Wait for what other processes do."""
    tick, end = threading.Event(), time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end
        for process in processes:
            assert process.poll() is None, process.stderr and process.stderr.read()
        tick.wait(0.05)


def test_two_workers_share_the_queue_and_one_does_what_a_killed_one_held(config: Path) -> None:
    with Librarian.open(config) as library:  # without embeddings: everything is pending
        chunks = library.status().chunks
    settings = Settings.load(config, overrides={"embeddings.enabled": True})
    with closing(assembly_parts.embedding_child(settings)()) as embedder:
        model = embedder.fingerprint
    held = storage(settings)
    held.catalog.set_meta("model", model)  # as the server does whose turn it is
    assert held.shared is not None
    database = held.shared.database

    def one(statement: str) -> int:
        with database.connection() as connection:
            row = connection.execute(statement.encode()).fetchone()
        assert row is not None
        return int(row[0])

    def held_still() -> bool:
        """Whether the first worker holds passages, and does nothing more with them."""
        workers[0].send_signal(signal.SIGSTOP)
        if one(HOLDERS) == 1:
            return True
        workers[0].send_signal(signal.SIGCONT)
        return False

    workers = [work(config)]
    try:
        until(held_still, workers[0])  # else it might be done before the second has started
        workers.append(work(config))
        until(lambda: one(HOLDERS) == 2, workers[1])
        assert one("SELECT count(*) FROM windows") < chunks
        workers[0].kill()
        until(lambda: one("SELECT count(*) FROM windows") == chunks, workers[1])
        workers[1].send_signal(signal.SIGTERM)
        _, said = workers[1].communicate(timeout=PATIENCE_S)
        assert workers[1].returncode == 0
        assert "passages embedded" in said
        windows = [number for number, _ in held.catalog.windows(model)]
        assert len(set(windows)) == len(windows)
        assert sorted(held.stores(model)[0].ids().tolist()) == windows
        assert one("SELECT count(*) FROM embedding_queue") == 0
        assert held.archive.count(model) == len({digest for _, digest in held.catalog.windows(model)})
    finally:
        for process in workers:
            process.kill()
            process.communicate()
        held.close()


def test_a_worker_without_a_shared_library_is_refused(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"docs": {"root_path": "docs"}}))
    process = work(config)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 78
    assert "storage.catalog" in said
