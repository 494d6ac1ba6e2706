"""A vector store in one SQLite file, by the sqlite-vec extension: exact, persistent, without a server.

sqlite-vec compares the question with every row, so it misses nothing and takes time in proportion to the rows. Python's
own `sqlite3` is often built without extensions, hence apsw. Rows lie as float32.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, Final

import numpy as np

from ..errors import SetupError, Unavailable, missing_extra
from ..files.owned_folder import Kind
from ..files.paths import too_long
from ..models import Ids, Selection, Vector, Vectors
from .base import Payload, VectorStore, claim, passes

logger = logging.getLogger(__name__)

MOST_ASKED: Final = 4096  #: sqlite-vec's limit of neighbours per query: no search finds more
_SPARE: Final = 64  # rows beyond the limit that are read, so that ids decide among equal cosines at its edge

#: The folder of an index that holds these files.
FOLDER: Final = Kind(
    "sqlite-vec",
    "librarian.vector_stores.sqlite_vec",
    "Move it away, or choose another index folder with --index or `index.path` (INDEX_PATH).",
)


class SqliteVecStore(VectorStore):
    """A `VectorStore` in the file `path`. One connection behind a lock: any thread may call.

    Raises `SetupError` where apsw or sqlite-vec aren't installed or the file belongs to something else; a damaged file,
    or one of another dimension, is deleted and begun anew, since every store can be refilled.
    """

    name = "sqlite-vec"

    def __init__(self, path: Path, dimension: int) -> None:
        try:
            import apsw
            import sqlite_vec
        except ImportError as error:
            raise missing_extra("sqlite-vec", error) from error
        self._apsw: Any = apsw
        self._extension = sqlite_vec.loadable_path()
        self.path = path
        self.dimension = dimension
        self._schema = (
            "CREATE VIRTUAL TABLE windows USING vec0("
            f"id INTEGER PRIMARY KEY, vector float[{int(dimension)}] distance_metric=cosine)"
        )
        self._lock = RLock()
        self._db: Any = None
        claim(path.parent, FOLDER)
        try:
            self._open()
        except (apsw.NotADBError, apsw.CorruptError, ValueError) as error:
            logger.warning("The vector store %s is begun anew: %s.", path, error)
            self.close()
            for suffix in ("", "-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            self._open()
        with self._using() as db:
            rows = list(db.execute("SELECT id FROM windows ORDER BY id"))
        self._ids: Ids = np.array([row[0] for row in rows], dtype=np.int64)

    def _put(self, ids: Ids, vectors: Vectors, payloads: Sequence[Payload]) -> None:
        with self._using() as db:
            self._drop(ids)
            rows = zip(ids.tolist(), (row.tobytes() for row in vectors), strict=True)
            db.executemany("INSERT INTO windows (id, vector) VALUES (?, ?)", rows)
            self._ids = np.union1d(self._ids, ids)

    def _drop(self, ids: Ids) -> None:
        with self._using() as db:
            doomed = np.intersect1d(ids, self._ids, assume_unique=True)
            db.executemany("DELETE FROM windows WHERE id = ?", ((number,) for number in doomed.tolist()))
            self._ids = np.setdiff1d(self._ids, doomed, assume_unique=True)

    def _near(self, question: Vector, limit: int, selection: Selection) -> tuple[Ids, Vector]:
        with self._using() as db:
            among, given = "", []
            if selection.mask is not None:
                among = "AND id IN (SELECT value FROM carray(?))"
                given.append(self._apsw.carray(np.ascontiguousarray(self._ids[passes(selection, self._ids)])))
            query = f"SELECT id, distance FROM windows WHERE vector MATCH ? AND k = ? {among}"
            rows = list(db.execute(query, (question.tobytes(), min(limit + _SPARE, MOST_ASKED), *given)))
        # a row of zeros has no direction and so no distance
        cosines = [0.0 if distance is None else 1 - distance for _, distance in rows]
        return np.array([number for number, _ in rows], dtype=np.int64), np.array(cosines, dtype=np.float32)

    def count(self) -> int:
        return int(self._ids.size)

    def ids(self) -> Ids:
        return self._ids.copy()

    def clear(self) -> None:
        with self._using() as db:
            db.execute("DROP TABLE windows")
            db.execute(self._schema)
            self._ids = np.empty(0, np.int64)

    def close(self) -> None:
        """Close the file. Calling anything but `close` afterwards raises `Unavailable`."""
        with self._lock:
            db, self._db = self._db, None
            if db is not None:
                db.close()

    @contextmanager
    def _using(self) -> Iterator[Any]:
        """The file in a transaction; its errors become ours."""
        with self._lock:
            if self._db is None:
                raise Unavailable("The sqlite-vec store is closed.", hint="Open the library again.")
            try:
                with self._db:
                    yield self._db
            except self._apsw.Error as error:
                raise Unavailable(
                    f"The vector store {self.path} can't be used: {error}.",
                    hint="Check free space and permissions; `librarian check --repair` fills it again.",
                ) from error

    def _open(self) -> None:
        """Raises `ValueError` where the file was made for another model."""
        try:
            self._db = db = self._apsw.Connection(str(self.path))
        except self._apsw.CantOpenError as error:
            raise SetupError(
                f"The vector store {self.path} can't be opened: {too_long(self.path) or error}.",
                hint="Check that its folder is writable.",
            ) from error
        db.set_busy_timeout(30_000)
        db.enable_load_extension(True)
        db.load_extension(self._extension)
        db.enable_load_extension(False)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        stored = db.execute("SELECT sql FROM sqlite_schema WHERE name = 'windows'").fetchone()
        if stored is None:
            db.execute(self._schema)
        elif stored[0] != self._schema:
            raise ValueError(f"it was made as {stored[0]!r}")
