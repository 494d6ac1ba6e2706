"""The embedding cache: (model fingerprint, window hash) → vector as float16, in SQLite or PostgreSQL.

Vector stores are filled from it without embedding anything. It can be lost: then texts are embedded again, so damage
costs time and never an answer. It knows neither chunks nor documents.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from threading import RLock
from typing import Final, TypeVar

import numpy as np

from ..errors import Damaged, SetupError, Unavailable
from ..models import HalfVectors, Vector
from ..vector_stores.base import unit
from .database import CACHE_VERSION, EMBEDDING_CACHE, Database, Session
from .sqlite import SqliteDatabase, quarantined

log = logging.getLogger(__name__)

T = TypeVar("T")

KEEP_DAYS: Final = 30  #: how long vectors of vanished text wait for it to come back
DEAD_SHARE: Final = 0.25  #: the largest part of all vectors' size that they may fill
_MODEL: Final = "(SELECT id FROM models WHERE fingerprint = ?)"


def _today() -> date:
    return datetime.now(UTC).date()


class EmbeddingCache:
    """An embedding cache in a database that has its tables. Any thread may call.

    `renew` gives an empty database in place of a damaged one; `recreated` says that this happened.
    """

    def __init__(
        self,
        database: Database,
        *,
        today: Callable[[], date] = _today,
        renew: Callable[[Damaged], Database] | None = None,
    ) -> None:
        self._database, self._renew = database.join(), renew
        self._closed = False
        self._renewing = RLock()
        self._today = today
        self.recreated = False

    def get(self, model: str, hashes: Sequence[str]) -> dict[str, Vector]:
        """The vectors that are known of `hashes`, as unit-length float32; notes that they were used today."""
        wanted = list(dict.fromkeys(hashes))
        rows = self._do(
            lambda session: session.rows(
                f"SELECT hash, last_used, vector FROM vectors WHERE model = {_MODEL} AND hash AMONG ?", model, wanted
            )
        )
        if not rows:
            return {}
        today = self._today().toordinal()
        self._note(model, [digest for digest, used, _ in rows if used != today])
        scaled = unit(_half_rows([row[2] for row in rows]).astype(np.float32))
        vectors = dict(zip((row[0] for row in rows), scaled, strict=True))
        return {digest: vectors[digest] for digest in wanted if digest in vectors}

    def scan(self, model: str, wanted: Container[str]) -> Iterator[tuple[list[str], HalfVectors]]:
        """(hashes, float16 rows) batch by batch from one reading of all: faster where much of it is wanted.

        Notes only the use of those that weren't used for a week: noting it of all rewrites the whole cache.
        """
        week_ago, database = self._today().toordinal() - 7, self._database
        # `+` keeps SQLite from going by the index: it reads the file from front to back.
        statement = f"SELECT hash, last_used, vector FROM vectors WHERE +model = {_MODEL}"
        stale: list[str] = []
        try:
            with database.read() as session:
                for rows in session.stream(statement, model):
                    if found := [row for row in rows if row[0] in wanted]:
                        stale += [row[0] for row in found if row[1] < week_ago]
                        yield [row[0] for row in found], _half_rows([row[2] for row in found])
        except Damaged as error:
            self._replace(database, error)
        self._note(model, stale)

    def put(self, model: str, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors, replacing equal hashes, in one transaction. Raises `ValueError` on a NaN or another shape."""
        if not vectors:
            return
        rows = np.stack([np.asarray(vector, dtype=np.float32) for vector in vectors.values()])
        if rows.ndim != 2 or not np.isfinite(rows).all():
            raise ValueError(f"A vector of model {model!r} holds a NaN or isn't one-dimensional; it wasn't kept.")
        packed = [row.tobytes() for row in rows.astype("<f2")]
        today = self._today().toordinal()

        def put(session: Session) -> None:
            session.rows(
                """INSERT INTO models (id, fingerprint, dimension)
                   SELECT coalesce(max(id), 0) + 1, CAST(? AS TEXT), CAST(? AS INTEGER) FROM models WHERE true
                   ON CONFLICT (fingerprint) DO NOTHING""",
                *(model, rows.shape[1]),
            )
            ((ident, known),) = session.rows("SELECT id, dimension FROM models WHERE fingerprint = ?", model)
            if known != rows.shape[1]:
                raise ValueError(f"Model {model!r} has vectors of {known} dimensions; these have {rows.shape[1]}.")
            session.many(
                """INSERT INTO vectors (model, hash, last_used, vector) VALUES (?, ?, ?, ?)
                   ON CONFLICT (model, hash)
                   DO UPDATE SET last_used = excluded.last_used, vector = excluded.vector""",
                [(ident, digest, today, row) for digest, row in zip(vectors, packed, strict=True)],
            )

        self._do(put, write=True)

    def prune(self, model: str, alive: set[str]) -> int:
        """Drop vectors of `model` whose hash isn't in `alive`: those unused for 30 days, and the longest unused ones
        beyond a quarter of the cache. Returns how many were dropped."""
        today = self._today().toordinal()

        def prune(session: Session) -> int:
            used = dict(session.rows(f"SELECT hash, last_used FROM vectors WHERE model = {_MODEL}", model))
            sizes = dict(
                session.rows(
                    """SELECT m.fingerprint, m.dimension * count(*) FROM vectors v JOIN models m ON m.id = v.model
                       GROUP BY m.fingerprint, m.dimension"""
                )
            )
            dead = sorted((day, digest) for digest, day in used.items() if digest not in alive)
            if not dead:
                return 0
            dimension = sizes[model] // len(used)
            living = sum(sizes.values()) - len(dead) * dimension
            # dead ≤ share × (living + dead), solved for dead
            allowed = int(living * DEAD_SHARE / (1 - DEAD_SHARE)) // dimension
            old = sum(day < today - KEEP_DAYS for day, _ in dead)
            doomed = [digest for _, digest in dead[: max(old, len(dead) - allowed)]]
            session.rows(f"DELETE FROM vectors WHERE model = {_MODEL} AND hash AMONG ?", model, doomed)
            self._note_in(session, model, [digest for digest, day in used.items() if digest in alive and day < today])
            return len(doomed)

        return self._do(prune, write=True)

    def count(self, model: str | None = None) -> int:
        """How many vectors are kept, of one model or of all."""
        where, given = ("", ()) if model is None else (f"WHERE model = {_MODEL}", (model,))
        return int(self._do(lambda session: session.rows(f"SELECT count(*) FROM vectors {where}", *given))[0][0])

    def models(self) -> list[str]:
        """Fingerprints of the models that vectors are kept of."""
        rows = self._do(
            lambda session: session.rows(
                """SELECT fingerprint FROM models m
                   WHERE EXISTS (SELECT 1 FROM vectors v WHERE v.model = m.id) ORDER BY m.id"""
            )
        )
        return [row[0] for row in rows]

    def close(self) -> None:
        """Let go of the database."""
        if not self._closed:
            self._closed = True
            self._database.close()

    # -- inside ----------------------------------------------------------------------------------------------------

    def _note(self, model: str, hashes: list[str]) -> None:
        """That these were used today."""
        if hashes:
            self._do(lambda session: self._note_in(session, model, hashes), write=True)

    def _note_in(self, session: Session, model: str, hashes: list[str]) -> None:
        session.rows(
            f"UPDATE vectors SET last_used = ? WHERE model = {_MODEL} AND hash AMONG ?",
            *(self._today().toordinal(), model, hashes),
        )

    def _do(self, work: Callable[[Session], T], *, write: bool = False) -> T:
        """Do `work` in a transaction; where the database is found damaged, once more with an empty one."""
        database = self._database
        try:
            with database.write() if write else database.read() as session:
                return work(session)
        except Damaged as error:
            self._replace(database, error)
        with self._database.write() if write else self._database.read() as session:
            return work(session)

    def _replace(self, damaged: Database, error: Damaged) -> None:
        """Begin anew in place of a damaged database, unless another thread has done so."""
        if self._renew is None:
            raise error
        with self._renewing:
            if self._database is damaged:
                damaged.close()
                self._database, self.recreated = self._renew(error), True


class SqliteEmbeddingCache(EmbeddingCache):
    """An embedding cache in the file `path`. A file that is damaged or of another format is set aside in
    `<name>.damaged-<number>` and a new one begun. Raises `Unavailable` where it can't be opened."""

    def __init__(self, path: Path, *, today: Callable[[], date] = _today) -> None:
        self.path = path
        try:
            try:
                database, recreated = self._open(), False
            except Damaged as error:
                database, recreated = self._begun_anew(error), True
        except (SetupError, OSError) as error:
            message = error.message if isinstance(error, SetupError) else f"The embedding cache {path}: {error}."
            raise Unavailable(message, hint="Check that its folder exists, is writable and has space left.") from error
        super().__init__(database, today=today, renew=self._begun_anew)
        self.recreated = recreated

    def _open(self) -> Database:
        return SqliteDatabase(self.path, EMBEDDING_CACHE, CACHE_VERSION, "embedding cache")

    def _begun_anew(self, error: Damaged) -> Database:
        log.warning("%s; its vectors are computed again.", quarantined(self.path, error.message))
        return self._open()


def _half_rows(blobs: Sequence[bytes]) -> HalfVectors:
    """Stored rows, shape (rows, dimension); of unit length but for their rounding."""
    return np.frombuffer(b"".join(blobs), dtype="<f2").reshape(len(blobs), -1)
