"""A vector store in one SQLite file, by the sqlite-vec extension: exact, persistent, without a server.

sqlite-vec compares the question with every row, so it misses nothing and takes time in proportion to the rows. Python's
own `sqlite3` is often built without extensions, hence apsw. Rows lie as float32.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, Final

import numpy as np

from ..errors import SetupError, Unavailable, missing_extra
from ..files.owned_folder import Kind, claim
from ..files.paths import too_long
from ..models import Ids, Selection, Vector, Vectors
from .base import best_first, checked_batch, checked_question, passes

logger = logging.getLogger(__name__)

MOST_ASKED: Final = 4096  #: sqlite-vec's limit of neighbours per query: no search finds more
_SPARE: Final = 64  # rows beyond the limit that are read, so that ids decide among equal cosines at its edge


class SqliteVecStore:
    """A `VectorStore` in the file `path`. One connection behind a lock: any thread may call.

    Raises `SetupError` where apsw or sqlite-vec aren't installed or the file belongs to something else; a damaged file,
    or one of another dimension, is deleted and begun anew, since every store can be refilled.
    """

    name = "sqlite-vec"

    def __init__(self, path: Path, dimension: int) -> None:
        self.path = path
        self.dimension = dimension
        self.recreated = False  #: True once a damaged file was replaced by an empty one
        self._lock = RLock()
        try:
            claim(path.parent, FOLDER)
        except OSError as error:
            raise SetupError(
                f"The folder {path.parent} of vectors can't be made: {error.strerror}.",
                hint="Check that the index folder is writable.",
            ) from error
        self._db: Any = self._sound()
        with self._using() as db:
            rows = list(db.execute("SELECT id FROM windows ORDER BY id"))
        self._ids: Ids = np.array([row[0] for row in rows], dtype=np.int64)

    # -- the protocol ----------------------------------------------------------------------------------------------

    def upsert(self, ids: Ids, vectors: Vectors, payloads: Sequence[Mapping[str, object]] | None = None) -> None:
        """Store rows, replacing those of equal ids; of equal ids within the batch the last. Payloads aren't kept."""
        ids, vectors = checked_batch(ids, vectors, self.dimension)
        if not ids.size:
            return
        rows = zip(ids.tolist(), (row.tobytes() for row in vectors), strict=True)
        with self._using() as db:
            db.executemany("DELETE FROM windows WHERE id = ?", ((number,) for number in ids.tolist()))
            db.executemany("INSERT INTO windows (id, vector) VALUES (?, ?)", rows)
            self._ids = np.union1d(self._ids, ids)

    def delete(self, ids: Ids) -> None:
        with self._using() as db:
            doomed = np.intersect1d(np.asarray(ids, dtype=np.int64), self._ids)
            db.executemany("DELETE FROM windows WHERE id = ?", ((number,) for number in doomed.tolist()))
            self._ids = np.setdiff1d(self._ids, doomed)

    def search(self, vector: Vector, limit: int, selection: Selection) -> tuple[Ids, Vector]:
        import apsw

        question = checked_question(vector, self.dimension)
        with self._using() as db:
            wanted = min(limit, self._ids.size, MOST_ASKED - _SPARE)
            allowed = None if selection.mask is None else self._ids[passes(selection, self._ids)]
            if wanted < 1 or (allowed is not None and not allowed.size):
                return np.empty(0, np.int64), np.empty(0, np.float32)
            among = "" if allowed is None else "AND id IN (SELECT value FROM carray(?))"
            given = () if allowed is None else (apsw.carray(np.ascontiguousarray(allowed)),)
            query = f"SELECT id, distance FROM windows WHERE vector MATCH ? AND k = ? {among}"
            rows = list(db.execute(query, (question.tobytes(), wanted + _SPARE, *given)))
        found = np.array([row[0] for row in rows], dtype=np.int64)
        # a row of zeros has no direction and so no distance
        cosines = np.array([0.0 if row[1] is None else 1 - row[1] for row in rows], dtype=np.float32)
        return best_first(found, cosines, limit)

    def count(self) -> int:
        return int(self._ids.size)

    def ids(self) -> Ids:
        return self._ids.copy()

    def clear(self) -> None:
        with self._using() as db:
            db.execute("DROP TABLE windows")
            db.execute(_schema(self.dimension))
            self._ids = np.empty(0, np.int64)

    def close(self) -> None:
        """Close the file. Calling anything but `close` afterwards raises `Unavailable`."""
        with self._lock:
            db, self._db = self._db, None
            if db is not None:
                db.close()

    # -- the file --------------------------------------------------------------------------------------------------

    @contextmanager
    def _using(self) -> Iterator[Any]:
        """The file in a transaction; its errors become ours."""
        import apsw

        with self._lock:
            if self._db is None:
                raise Unavailable("The sqlite-vec store is closed.", hint="Open the library again.")
            try:
                with self._db:
                    yield self._db
            except apsw.Error as error:
                raise Unavailable(
                    f"The vector store {self.path} can't be used: {error}.",
                    hint="Check free space and permissions; `librarian check --repair` fills it again.",
                ) from error

    def _sound(self) -> Any:
        """The open file; an empty one in its place where it is damaged or was made for another model."""
        try:
            import apsw
            import sqlite_vec  # noqa: F401 - reported here, where it is first needed
        except ImportError as error:
            raise missing_extra("sqlite-vec", error) from error
        try:
            return self._open()
        except (apsw.NotADBError, apsw.CorruptError, ValueError) as error:
            logger.warning("The vector store %s is begun anew: %s.", self.path, error)
            for suffix in ("", "-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
            self.recreated = True
            return self._open()

    def _open(self) -> Any:
        import apsw
        import sqlite_vec

        try:
            db = apsw.Connection(str(self.path))
        except apsw.CantOpenError as error:
            raise SetupError(
                f"The vector store {self.path} can't be opened: {too_long(self.path) or error}.",
                hint="Check that its folder is writable.",
            ) from error
        try:
            db.set_busy_timeout(30_000)
            db.enable_load_extension(True)
            db.load_extension(sqlite_vec.loadable_path())
            db.enable_load_extension(False)
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            stored = db.execute("SELECT sql FROM sqlite_schema WHERE name = 'windows'").fetchone()
            if stored is None:
                db.execute(_schema(self.dimension))
            elif stored[0] != _schema(self.dimension):
                raise ValueError(f"it was made as {stored[0]!r}")
        except BaseException:
            db.close()
            raise
        return db


def _schema(dimension: int) -> str:
    return (
        "CREATE VIRTUAL TABLE windows USING vec0("
        f"id INTEGER PRIMARY KEY, vector float[{int(dimension)}] distance_metric=cosine)"
    )


#: The folder of an index that holds these files.
FOLDER: Final = Kind(
    "sqlite-vec",
    "librarian.vector_stores.sqlite_vec",
    "Move it away, or choose another index folder with --index or `index.path` (INDEX_PATH).",
)
