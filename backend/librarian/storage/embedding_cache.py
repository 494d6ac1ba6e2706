"""The truth about vectors: one SQLite file of float16 rows, keyed by model fingerprint and window hash.

Every vector store is a projection of this file and can be refilled from it without embedding anything. The file
itself can be lost too: then the text is embedded again, so damage costs time and never an answer.

It doesn't know chunks, documents or searches.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Final, TypeVar

import numpy as np

from ..errors import Unavailable
from ..files.owned_folder import set_aside
from ..models import HalfVectors, Vector
from ..vector_stores.batches import unit


def halves(model: str, vectors: Mapping[str, Vector]) -> HalfVectors:
    """Vectors of one model as they are kept, shape (vectors, dimension), in their order; there is at least one.

    Raises `ValueError` on a NaN or another shape.
    """
    rows = np.stack([np.asarray(vector, dtype=np.float32) for vector in vectors.values()])
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise ValueError(f"A vector of model {model!r} holds a NaN or isn't one-dimensional; it wasn't kept.")
    return rows.astype("<f2")


def kept_rows(blobs: Sequence[bytes]) -> HalfVectors:
    """Stored rows as they are kept, shape (rows, dimension); of unit length but for their rounding."""
    return np.frombuffer(b"".join(blobs), dtype="<f2").reshape(len(blobs), -1)


def by_hash(found: Mapping[str, bytes], wanted: Iterable[str]) -> dict[str, Vector]:
    """Stored rows as unit-length float32, those of the `wanted` hashes that were found, in the order of these."""
    if not found:
        return {}
    vectors = dict(zip(found, unit(kept_rows(list(found.values())).astype(np.float32)), strict=True))
    return {digest: vectors[digest] for digest in wanted if digest in vectors}


logger = logging.getLogger(__name__)

T = TypeVar("T")

#: How long vectors of vanished text wait for it to come back (a branch switched, a file restored).
KEEP_DAYS: Final = 30
DEAD_SHARE: Final = 0.25  #: the largest part of the file that they may fill

SCANNED: Final = 1024  #: rows that a scan reads at once: as float32 they fit a processor's second cache (1.5 MB)

_FORMAT: Final = 1  #: 1: models and vectors, float16
_BATCH: Final = 500  #: bound variables per statement, below SQLite's oldest limit of 999
_BROKEN: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS models (
    id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE, dimension INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS vectors (
    model INTEGER NOT NULL, hash TEXT NOT NULL, last_used INTEGER NOT NULL, vector BLOB NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS vectors_by_hash ON vectors (model, hash);
"""


def _today() -> date:
    return datetime.now(UTC).date()


class SqliteEmbeddingCache:
    """A `EmbeddingCache` in the file `path` (write-ahead log, one connection behind a lock: any thread may call).

    A file that turns out to be damaged, or of another format, is moved into the folder `<name>.damaged-<number>` and a
    new one begun; `recreated` then says so, and whoever refills stores has to embed again. Raises `Unavailable` where
    the file can't be read or written for another reason (no space, no permission).
    """

    def __init__(self, path: Path, *, today: Callable[[], date] = _today) -> None:
        self.path = path
        self.recreated = False  #: True once a damaged file was replaced by an empty one
        self._today = today
        self._lock = RLock()
        self._models: dict[str, tuple[int, int]] = {}
        self._db: sqlite3.Connection | None = None
        self._run(lambda db: None)

    # -- the protocol ----------------------------------------------------------------------------------------------

    def get(self, model: str, hashes: Sequence[str]) -> dict[str, Vector]:
        """The vectors that are known of `hashes`, as unit-length float32; notes that they were used today."""
        wanted = list(dict.fromkeys(hashes))
        return self._run(lambda db: self._get(db, model, wanted))

    def scan(self, model: str, wanted: Container[str]) -> Iterator[tuple[list[str], HalfVectors]]:
        """(hashes, rows as they are kept) batch by batch in the order of the file, which is read from front to back:
        that is faster where much of it is wanted. Others may write between two batches.

        Notes the use of those alone that weren't used for a week: noting it of all rewrites the whole file.
        """
        last = 0
        while rows := self._run(partial(self._following, model, last)):
            last = rows[-1][0]
            found = [row for row in rows if row[1] in wanted]
            week_ago = self._today().toordinal() - 7
            if stale := [row[0] for row in found if row[2] < week_ago]:
                self._run(partial(self._note, stale))
            if found:
                yield [row[1] for row in found], kept_rows([row[3] for row in found])

    def put(self, model: str, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors, replacing equal hashes, in one transaction. Raises `ValueError` on a NaN or another shape."""
        if not vectors:
            return
        rows = halves(model, vectors)
        self._run(lambda db: self._put(db, model, list(vectors), rows))

    def prune(self, model: str, alive: set[str]) -> int:
        """Drop vectors of `model` whose hash isn't in `alive`: those unused for 30 days, and the longest unused ones
        beyond a quarter of the file. Gives the space back to the disk. Returns how many were dropped.
        """
        return self._run(lambda db: self._prune(db, model, alive))

    def count(self, model: str | None = None) -> int:
        """How many vectors are kept, of one model or of all."""
        return self._run(lambda db: self._count(db, model))

    def models(self) -> list[str]:
        """Fingerprints of the models that vectors are kept of."""
        return self._run(
            lambda db: [
                row[0]
                for row in db.execute(
                    "SELECT fingerprint FROM models WHERE EXISTS (SELECT 1 FROM vectors WHERE model = models.id) "
                    "ORDER BY id"
                )
            ]
        )

    def close(self) -> None:
        """Close the file. Calling anything afterwards opens it again."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None
            self._models.clear()

    # -- the file --------------------------------------------------------------------------------------------------

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do `work` under the lock; on a damaged file once more with a new one."""
        with self._lock:
            try:
                try:
                    return work(self._connection())
                except sqlite3.DatabaseError as error:
                    if (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF not in _BROKEN:
                        raise
                    self._move_aside(str(error))
                    return work(self._connection())
            except (sqlite3.Error, OSError) as error:
                raise Unavailable(
                    f"The vector archive {self.path} can't be used: {error}.",
                    hint="Check that its folder exists, is writable and has space left.",
                ) from error

    def _connection(self) -> sqlite3.Connection:
        if self._db is None:
            self._db = self._open()
        return self._db

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=30)
        try:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, _FORMAT):
                db.close()
                self._move_aside(f"it has format {version}, this program reads {_FORMAT}")
                return self._open()
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.executescript(_SCHEMA)
            db.execute(f"PRAGMA user_version = {_FORMAT}")
            self._models = {
                fingerprint: (ident, dimension)
                for ident, fingerprint, dimension in db.execute("SELECT id, fingerprint, dimension FROM models")
            }
        except BaseException:
            db.close()
            raise
        return db

    def _move_aside(self, why: str) -> None:
        """Set the file aside with its log; the next call begins a new one."""
        self.close()
        aside = set_aside(self.path, *(self.path.with_name(self.path.name + suffix) for suffix in ("-wal", "-shm")))
        logger.warning(
            "The vector archive %s is unusable (%s). It was moved to %s; its vectors are computed again.",
            self.path,
            why,
            aside.name,
        )
        self.recreated = True

    # -- inside a connection ---------------------------------------------------------------------------------------

    def _get(self, db: sqlite3.Connection, model: str, hashes: list[str]) -> dict[str, Vector]:
        if model not in self._models:
            return {}
        ident, _ = self._models[model]
        today = self._today().toordinal()
        found: dict[str, bytes] = {}
        stale: list[int] = []
        for start in range(0, len(hashes), _BATCH):
            batch = hashes[start : start + _BATCH]
            marks = ",".join("?" * len(batch))
            query = f"SELECT rowid, hash, last_used, vector FROM vectors WHERE model = ? AND hash IN ({marks})"
            for rowid, key, last_used, blob in db.execute(query, (ident, *batch)):
                found[key] = blob
                if last_used != today:
                    stale.append(rowid)
        if stale:
            self._note(stale, db)
        return by_hash(found, hashes)

    def _following(self, model: str, after: int, db: sqlite3.Connection) -> list[tuple[int, str, int, bytes]]:
        """(rowid, hash, day of its last use, vector) of the next `SCANNED` rows of a model."""
        if model not in self._models:
            return []
        return db.execute(
            "SELECT rowid, hash, last_used, vector FROM vectors NOT INDEXED "
            "WHERE rowid > ? AND model = ? ORDER BY rowid LIMIT ?",
            (after, self._models[model][0], SCANNED),
        ).fetchall()

    def _note(self, rows: list[int], db: sqlite3.Connection) -> None:
        """That these were used today."""
        today = self._today().toordinal()
        with _transaction(db):
            db.executemany("UPDATE vectors SET last_used = ? WHERE rowid = ?", ((today, row) for row in rows))

    def _put(self, db: sqlite3.Connection, model: str, hashes: list[str], rows: HalfVectors) -> None:
        today = self._today().toordinal()
        with _transaction(db):
            ident = self._model_id(db, model, rows.shape[1])
            db.executemany(
                "INSERT INTO vectors (model, hash, last_used, vector) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (model, hash) DO UPDATE SET last_used = excluded.last_used, vector = excluded.vector",
                ((ident, key, today, row.tobytes()) for key, row in zip(hashes, rows, strict=True)),
            )
        self._models[model] = (ident, rows.shape[1])

    def _model_id(self, db: sqlite3.Connection, model: str, dimension: int) -> int:
        if model in self._models:
            ident, known = self._models[model]
            if known != dimension:
                raise ValueError(f"Model {model!r} has vectors of {known} dimensions; these have {dimension}.")
            return ident
        cursor = db.execute("INSERT INTO models (fingerprint, dimension) VALUES (?, ?)", (model, dimension))
        return int(cursor.lastrowid or 0)

    def _prune(self, db: sqlite3.Connection, model: str, alive: set[str]) -> int:
        if model not in self._models:
            return 0
        ident, dimension = self._models[model]
        today = self._today().toordinal()
        with _transaction(db):
            db.execute("CREATE TEMP TABLE IF NOT EXISTS alive (hash TEXT PRIMARY KEY) WITHOUT ROWID")
            db.execute("DELETE FROM temp.alive")
            db.executemany("INSERT INTO temp.alive VALUES (?)", ((key,) for key in alive))
            used = "hash IN (SELECT hash FROM temp.alive)"
            db.execute(f"UPDATE vectors SET last_used = ? WHERE model = ? AND {used}", (today, ident))
            dropped = db.execute(
                f"DELETE FROM vectors WHERE model = ? AND last_used < ? AND NOT {used}", (ident, today - KEEP_DAYS)
            ).rowcount
            dead = db.execute(f"SELECT count(*) FROM vectors WHERE model = ? AND NOT {used}", (ident,)).fetchone()[0]
            total = db.execute(
                "SELECT sum(dimension * (SELECT count(*) FROM vectors WHERE model = models.id)) FROM models"
            ).fetchone()[0]
            living = total - dead * dimension
            # dead ≤ share × (living + dead), solved for dead
            allowed = int(living * DEAD_SHARE / (1 - DEAD_SHARE)) // dimension
            if dead > allowed:
                dropped += db.execute(
                    f"DELETE FROM vectors WHERE rowid IN (SELECT rowid FROM vectors WHERE model = ? AND NOT {used} "
                    "ORDER BY last_used, rowid LIMIT ?)",
                    (ident, dead - allowed),
                ).rowcount
            db.execute("DELETE FROM temp.alive")
        if dropped:
            db.executescript("PRAGMA incremental_vacuum")  # `execute` would free a single page
        return int(dropped)

    def _count(self, db: sqlite3.Connection, model: str | None) -> int:
        if model is None:
            return int(db.execute("SELECT count(*) FROM vectors").fetchone()[0])
        if model not in self._models:
            return 0
        return int(db.execute("SELECT count(*) FROM vectors WHERE model = ?", (self._models[model][0],)).fetchone()[0])


@contextlib.contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")
