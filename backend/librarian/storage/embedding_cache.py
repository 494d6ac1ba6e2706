"""The embedding cache: (model fingerprint, window hash) → vector as float16, in SQLite or PostgreSQL.

Vector stores are filled from it without embedding anything. It can be lost: then texts are embedded again, so damage
costs time and never an answer. It knows neither chunks nor documents.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Final

import numpy as np

from ..errors import Damaged
from ..models import Vector
from ..vector_stores.base import unit
from .database import CACHE_VERSION, EMBEDDING_CACHE, Database, Session
from .sqlite import SqliteDatabase, quarantined

log = logging.getLogger(__name__)

UNUSED_SHARE: Final = 0.25  #: the largest part of all vectors that those of vanished text may be, which may come back
_MODEL: Final = "(SELECT id FROM models WHERE fingerprint = ?)"


class EmbeddingCache:
    """An embedding cache in a database that has its tables. Any thread may call.

    Where the database is found damaged, `Damaged` is raised once, and it is begun anew.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, model: str, hashes: Sequence[str]) -> dict[str, Vector]:
        """The vectors that are known of `hashes`, as unit-length float32."""
        wanted = list(dict.fromkeys(hashes))
        with self._session() as session:
            rows = session.rows(
                f"SELECT hash, vector FROM vectors WHERE model = {_MODEL} AND hash AMONG ?", model, wanted
            )
        if not rows:
            return {}
        halves = np.frombuffer(b"".join(vector for _, vector in rows), dtype="<f2").reshape(len(rows), -1)
        vectors = dict(zip((digest for digest, _ in rows), unit(halves.astype(np.float32)), strict=True))
        return {digest: vectors[digest] for digest in wanted if digest in vectors}

    def put(self, model: str, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors, replacing equal hashes, in one transaction. Raises `ValueError` on a NaN or another shape."""
        if not vectors:
            return
        rows = np.stack([np.asarray(vector, dtype=np.float32) for vector in vectors.values()])
        if rows.ndim != 2 or not np.isfinite(rows).all():
            raise ValueError(f"A vector of model {model!r} holds a NaN or isn't one-dimensional; it wasn't kept.")
        packed = [row.tobytes() for row in rows.astype("<f2")]
        with self._session(write=True) as session:
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
                """INSERT INTO vectors (model, hash, last_used, vector) VALUES (?, ?, 0, ?)
                   ON CONFLICT (model, hash) DO UPDATE SET vector = excluded.vector""",
                [(ident, digest, row) for digest, row in zip(vectors, packed, strict=True)],
            )

    def prune(self, model: str, used: set[str], *, unused_share: float = UNUSED_SHARE) -> int:
        """Drop vectors of `model` whose hash isn't among those `used`, but for a part of all. Returns how many were
        dropped."""
        with self._session(write=True) as session:
            rows = session.rows(f"SELECT hash FROM vectors WHERE model = {_MODEL}", model)
            ((total,),) = session.rows("SELECT count(*) FROM vectors")
            unused = [digest for (digest,) in rows if digest not in used]
            # unused ≤ share × (others + unused), solved for unused
            allowed = int((total - len(unused)) * unused_share / (1 - unused_share))
            doomed = unused[: max(0, len(unused) - allowed)]
            session.rows(f"DELETE FROM vectors WHERE model = {_MODEL} AND hash AMONG ?", model, doomed)
            return len(doomed)

    def count(self, model: str | None = None) -> int:
        """How many vectors are kept, of one model or of all."""
        where, given = ("", ()) if model is None else (f"WHERE model = {_MODEL}", (model,))
        with self._session() as session:
            return int(session.rows(f"SELECT count(*) FROM vectors {where}", *given)[0][0])

    def models(self) -> list[str]:
        """Fingerprints of the models that vectors are kept of."""
        held = "SELECT 1 FROM vectors v WHERE v.model = m.id"
        with self._session() as session:
            rows = session.rows(f"SELECT fingerprint FROM models m WHERE EXISTS ({held}) ORDER BY m.id")
        return [row[0] for row in rows]

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    @contextmanager
    def _session(self, *, write: bool = False) -> Iterator[Session]:
        database = self._database
        try:
            with database.write() if write else database.read() as session:
                yield session
        except Damaged as error:
            self._renew(database, error)
            raise

    def _renew(self, damaged: Database, error: Damaged) -> None:
        """Begin anew in place of a damaged database, where that can be done."""


class SqliteEmbeddingCache(EmbeddingCache):
    """An embedding cache in the file `path`. A file that is damaged or of another format is set aside in
    `<name>.damaged-<number>` and a new one begun. Raises `SetupError` where it can't be opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recreated = False  #: whether a damaged file was replaced
        self._renewing = RLock()
        try:
            database = self._open()
        except Damaged as error:
            database = self._begun_anew(error)
        super().__init__(database)

    def _open(self) -> Database:
        return SqliteDatabase(self.path, EMBEDDING_CACHE, CACHE_VERSION, "embedding cache")

    def _begun_anew(self, error: Damaged) -> Database:
        self.recreated = True
        log.warning("%s; its vectors are computed again.", quarantined(self.path, error.message))
        return self._open()

    def _renew(self, damaged: Database, error: Damaged) -> None:
        with self._renewing:
            if self._database is damaged:  # else another thread has done so
                damaged.close()
                self._database = self._begun_anew(error)
