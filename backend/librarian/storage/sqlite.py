"""A SQLite file as a `Database`: one writer behind a lock, pooled readers (write-ahead log), errors explained."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Any, Final

from ..errors import Damaged, SetupError, Unavailable
from ..files import owned_folder
from ..files.owned_folder import APPLICATION_ID
from ..files.paths import too_long
from .database import EMBEDDING_CACHE, Database, Dialect, Session, tables_for

log = logging.getLogger(__name__)


_DIALECT: Final = Dialect("INTEGER PRIMARY KEY", "TEXT", "BLOB", " WITHOUT ROWID", "")
_SPARE: Final = 2  #: unused read connections that are kept: each keeps 2 MB of pages
_MOST: Final = 20  #: sentences per kind of trouble
_MARK: Final = ".suspect"
_LOGS: Final = ("-wal", "-shm")
#: What begins, ends and undoes a transaction, and a part of one.
_WHOLE: Final = ("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK")
_PART: Final = ("SAVEPOINT part", "RELEASE part", "ROLLBACK TO part; RELEASE part")


@cache
def _translated(statement: str) -> str:
    return statement.replace("AMONG ?", "IN (SELECT value FROM json_each(?))")


class SqliteSession(Session):
    """A `Session` over a connection that is in a transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def rows(self, statement: str, *values: object) -> list[Any]:
        # A list is one bound value, whatever its length: one prepared statement.
        bound = [json.dumps(value) if isinstance(value, list) else value for value in values]
        return self.connection.execute(_translated(statement), bound).fetchall()

    def many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        self.connection.executemany(statement, rows)


class SqliteDatabase(Database):
    """A `Database` in the file `path`, made with the tables of `template` where there is none.

    Raises `Damaged` where the file can't be read or has another version, `SetupError` where it can't be opened or
    belongs to another program. `name` is what messages call it.
    """

    def __init__(self, path: Path, template: str, version: int, name: str) -> None:
        self.path = path
        self._name = name
        self._damage = ""
        self._closed = False
        self._write_lock, self._connections_lock = RLock(), RLock()
        self._idle: list[sqlite3.Connection] = []
        if _mark_of(path).exists():
            raise Damaged(f"The {name} {path} could not be read when it was open before.")
        with ExitStack() as undone:
            try:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._writer = undone.enter_context(closing(_connect(path)))
                self._prepare(template, version)
            except (sqlite3.DatabaseError, OSError) as error:
                raise self._opening(error) from error
            undone.pop_all()

    @property
    def damage(self) -> str:
        # a file that is gone is noticed by asking
        if not self._damage and self._is_deleted():
            self._explained(sqlite3.OperationalError())
        return self._damage

    @contextmanager
    def read(self) -> Iterator[Session]:
        with self._connections_lock:
            self._require_open()
            connection = self._idle.pop() if self._idle else None
        try:
            if connection is None:
                connection = _connect(self.path)
                connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN")
            yield SqliteSession(connection)
        except (sqlite3.DatabaseError, zlib.error) as error:
            raise self._explained(error) from error
        finally:
            if connection is not None:
                connection.rollback()
                with self._connections_lock:
                    is_spare = len(self._idle) < _SPARE and not self._closed
                    if is_spare:
                        self._idle.append(connection)
                if not is_spare:
                    connection.close()

    @contextmanager
    def write(self) -> Iterator[Session]:
        with self._write_lock:
            self._require_open()
            writer = self._writer
            begin, commit, undo = _PART if writer.in_transaction else _WHOLE
            try:
                writer.execute(begin)
                yield SqliteSession(writer)
                writer.execute(commit)
            except BaseException as error:
                if writer.in_transaction:
                    for statement in undo.split(";"):
                        writer.execute(statement)
                if isinstance(error, sqlite3.DatabaseError):
                    raise self._explained(error) from error
                raise

    def inconsistencies(self, session: Session) -> list[str]:
        """What SQLite finds wrong with pages, indexes and references."""
        found = [f"SQLite: {row[0]}." for row in session.rows(f"PRAGMA integrity_check({_MOST})") if row[0] != "ok"]
        for table, row_id, parent, _ in session.rows("PRAGMA foreign_key_check")[:_MOST]:
            found.append(f"Row {row_id} of {table} refers to a row of {parent} that is not there.")
        return found

    def close(self) -> None:
        """Close the file; readers that are still open close theirs when they end."""
        with self._connections_lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
        with self._write_lock:
            self._writer.close()

    def _explained(self, error: Exception) -> Exception:
        """The error to raise: a full disk and a damaged file are no bugs; a wrong statement is one, and stays."""
        anew = "End Librarian and start it again: it is made anew from the files, and vectors are kept."
        if isinstance(error, sqlite3.OperationalError) and self._is_deleted():
            damage = f"The {self._name} {self.path} was removed while it was in use."
        elif isinstance(error, sqlite3.OperationalError):
            return Unavailable(
                f"The {self._name} {self.path} can't be used: {error}.", hint="Check free space and permissions."
            )
        elif type(error) is sqlite3.DatabaseError or isinstance(error, zlib.error):
            damage = f"The {self._name} {self.path} is damaged: {error}."
        else:
            return error
        found = Damaged(damage, hint=anew)
        self._damage = self._damage or str(found)
        try:
            _mark_of(self.path).touch()
        except OSError as failed:
            log.warning("%s: %s can't be marked as damaged: %s", self._name, self.path, failed)
        return found

    def _is_deleted(self) -> bool:
        """Whether the file was removed: then a new connection finds none, or makes an empty one."""
        try:
            return os.path.getsize(self.path) == 0
        except OSError as error:
            return isinstance(error, FileNotFoundError)

    def _opening(self, error: sqlite3.DatabaseError | OSError) -> Exception:
        if not isinstance(error, sqlite3.OperationalError | OSError):
            return self._explained(error)
        hint = "Check that its folder is writable, has free space and is used by one Librarian only."
        if length := too_long(self.path):
            hint = "Choose a shorter path for the index, with --index or INDEX_PATH."
        return SetupError(f"The {self._name} {self.path} can't be opened: {length or error}.", hint=hint)

    def _prepare(self, template: str, version: int) -> None:
        asked = "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema) FROM"
        statement = f"{asked} pragma_user_version, pragma_application_id"
        found, application, tables = self._writer.execute(statement).fetchone()
        own = (APPLICATION_ID, 0) if template == EMBEDDING_CACHE else (APPLICATION_ID,)  # caches carried none before
        if tables and application not in own:
            raise SetupError(
                f"{self.path} is a database of another program.",
                hint="Choose another index folder with --index or `index.path`.",
            )
        if found not in (0, version) or (tables and not found):
            raise Damaged(f"The {self._name} {self.path} has format {found}, and this version uses {version}.")
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "journal_size_limit = 67108864"):
            self._writer.execute(f"PRAGMA {pragma}")
        if not tables:
            marks = (f"PRAGMA application_id = {APPLICATION_ID}", f"PRAGMA user_version = {version}")
            for statement in ("BEGIN IMMEDIATE", *tables_for(_DIALECT, template), *marks, "COMMIT"):
                self._writer.execute(statement)

    def _require_open(self) -> None:
        if self._closed:
            raise Unavailable(f"The {self._name} {self.path} is closed.", hint="Open the library again.")


def quarantined(path: Path, why: str) -> str:
    """Move a file and its logs into a folder `<name>.damaged-<number>`; returns a sentence for people."""
    moved = owned_folder.quarantine(path, *(path.with_name(path.name + ending) for ending in _LOGS))
    _mark_of(path).unlink(missing_ok=True)
    return f"{why} It was set aside in {moved.name} and made again"


def _mark_of(path: Path) -> Path:
    return path.with_name(path.name + _MARK)


def _connect(path: Path) -> sqlite3.Connection:
    """A connection in autocommit mode: transactions are begun and ended by those who need them."""
    connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False, cached_statements=256)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection
