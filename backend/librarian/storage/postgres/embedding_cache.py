"""The truth about vectors in PostgreSQL: float16 rows keyed by model and window hash, shared by all who embed."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final

from ...models import HalfVectors, Vector
from ..embedding_cache import DEAD_SHARE, KEEP_DAYS, SCANNED, by_hash, halves, kept_rows
from .database import Database

_BATCH: Final = 2_000


def _today() -> date:
    return datetime.now(UTC).date()


class PostgresEmbeddingCache:
    """`protocols.EmbeddingCache` in the table `archive`."""

    def __init__(self, database: Database, *, today: Callable[[], date] = _today) -> None:
        self._database = database.join()
        self._today = today
        self._closed = False

    def get(self, model: str, hashes: Sequence[str]) -> dict[str, Vector]:
        """The vectors that are known of `hashes`, as unit-length float32; notes that they were used today."""
        wanted = list(dict.fromkeys(hashes))
        found: dict[str, bytes] = {}
        stale: list[str] = []
        with self._database.snapshot() as connection:
            for start in range(0, len(wanted), _BATCH):
                for digest, used, vector in connection.execute(
                    """SELECT a.hash, a.last_used, a.vector FROM archive a JOIN archive_models m ON m.id = a.model_id
                       WHERE m.fingerprint = %s AND a.hash = ANY(%s)""",
                    (model, wanted[start : start + _BATCH]),
                ):
                    found[digest] = vector
                    if used != self._today():
                        stale.append(digest)
        self._note(model, stale)
        return by_hash(found, wanted)

    def scan(self, model: str, wanted: Container[str]) -> Iterator[tuple[list[str], HalfVectors]]:
        """(hashes, rows as they are kept) batch by batch, by hash. Others may write between two batches."""
        last = ""
        while True:
            with self._database.snapshot() as connection:
                rows = connection.execute(
                    """SELECT a.hash, a.last_used, a.vector FROM archive a JOIN archive_models m ON m.id = a.model_id
                       WHERE m.fingerprint = %s AND a.hash > %s ORDER BY a.hash LIMIT %s""",
                    (model, last, SCANNED),
                ).fetchall()
            if not rows:
                return
            last = rows[-1][0]
            found = [row for row in rows if row[0] in wanted]
            week_ago = self._today() - timedelta(days=7)
            self._note(model, [digest for digest, used, _ in found if used < week_ago])
            if found:
                yield [row[0] for row in found], kept_rows([row[2] for row in found])

    def put(self, model: str, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors, replacing equal hashes, in one transaction. Raises `ValueError` on a NaN or another shape."""
        if not vectors:
            return
        rows = halves(model, vectors)
        packed = dict(zip(vectors, (row.tobytes() for row in rows), strict=True))
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO archive_models (fingerprint, dimension) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                (model, rows.shape[1]),
            )
            row = connection.execute(
                "SELECT id, dimension FROM archive_models WHERE fingerprint = %s", (model,)
            ).fetchone()
            assert row is not None
            if row[1] != rows.shape[1]:
                raise ValueError(f"Model {model!r} has vectors of {row[1]} dimensions; these have {rows.shape[1]}.")
            hashes = sorted(packed)  # in one order, so that two workers can't wait for each other
            connection.execute(
                """INSERT INTO archive (model_id, hash, last_used, vector)
                   SELECT %s, given.hash, %s, given.vector FROM unnest(%s::text[], %s::bytea[]) AS given (hash, vector)
                   ON CONFLICT (model_id, hash)
                   DO UPDATE SET last_used = excluded.last_used, vector = excluded.vector""",
                (row[0], self._today(), hashes, [packed[digest] for digest in hashes]),
            )

    def prune(self, model: str, alive: set[str]) -> int:
        """Drop vectors of `model` whose hash isn't in `alive`: those unused for 30 days, and the longest unused ones
        beyond a quarter of the living. Returns how many were dropped.
        """
        living = sorted(alive)
        with self._database.transaction() as connection:
            row = connection.execute("SELECT id FROM archive_models WHERE fingerprint = %s", (model,)).fetchone()
            if row is None:
                return 0
            given = {"model": row[0], "alive": living, "today": self._today()}
            connection.execute(
                "UPDATE archive SET last_used = %(today)s WHERE model_id = %(model)s AND hash = ANY(%(alive)s)", given
            )
            dropped = connection.execute(
                """DELETE FROM archive
                   WHERE model_id = %(model)s AND NOT hash = ANY(%(alive)s) AND last_used < %(oldest)s""",
                {**given, "oldest": self._today() - timedelta(days=KEEP_DAYS)},
            ).rowcount
            dropped += connection.execute(
                """DELETE FROM archive WHERE model_id = %(model)s AND hash IN (
                       SELECT hash FROM archive WHERE model_id = %(model)s AND NOT hash = ANY(%(alive)s)
                       ORDER BY last_used DESC, hash OFFSET %(allowed)s)""",
                {**given, "allowed": int(len(living) * DEAD_SHARE / (1 - DEAD_SHARE))},
            ).rowcount
        return dropped

    def _note(self, model: str, hashes: list[str]) -> None:
        """That these were used today."""
        if not hashes:
            return
        with self._database.transaction() as connection:
            connection.execute(
                """UPDATE archive SET last_used = %s WHERE hash = ANY(%s)
                   AND model_id = (SELECT id FROM archive_models WHERE fingerprint = %s)""",
                (self._today(), sorted(hashes), model),
            )

    def count(self, model: str | None = None) -> int:
        """How many vectors are kept, of one model or of all."""
        with self._database.snapshot() as connection:
            row = connection.execute(
                """SELECT count(*) FROM archive a JOIN archive_models m ON m.id = a.model_id
                   WHERE %(model)s::text IS NULL OR m.fingerprint = %(model)s""",
                {"model": model},
            ).fetchone()
            return 0 if row is None else int(row[0])

    def models(self) -> list[str]:
        """Fingerprints of the models that vectors are kept of."""
        with self._database.snapshot() as connection:
            return [
                row[0]
                for row in connection.execute(
                    """SELECT fingerprint FROM archive_models m
                       WHERE EXISTS (SELECT 1 FROM archive a WHERE a.model_id = m.id) ORDER BY m.id"""
                )
            ]

    def close(self) -> None:
        """Let go of the database."""
        if not self._closed:
            self._closed = True
            self._database.leave()
