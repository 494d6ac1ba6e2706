"""What the catalog remembers of embedding: which chunk has which windows of which model."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from librarian.vocabulary.types import WINDOWS_PER_CHUNK, Document, StoredChunk, embedding_prefix

from .catalog_rows import CHUNK_COLUMNS, stored_chunk

_COLUMNS = ", ".join(f"c.{column.strip()}" for column in CHUNK_COLUMNS.split(","))
_MODEL = "(SELECT id FROM models WHERE fingerprint = ?)"


def pending(connection: sqlite3.Connection, model: str, limit: int, first: int) -> list[tuple[StoredChunk, str]]:
    """Chunks from id `first` on that lack vectors of `model`, with their embedding prefix, lowest id first."""
    rows = connection.execute(
        f"""SELECT c.id, {_COLUMNS}, d.title, d.title_in_text FROM chunks c JOIN documents d ON d.id = c.doc_id
            WHERE c.id >= ?
            AND NOT EXISTS (SELECT 1 FROM windows w WHERE w.chunk_id = c.id AND w.model_id = {_MODEL})
            ORDER BY c.id LIMIT ?""",
        (first, model, limit),
    ).fetchall()
    found = []
    for *row, title, title_in_text in rows:
        stored = stored_chunk(tuple(row))
        titled = Document("", "", "", "document", "", title, "", title_in_text=bool(title_in_text))
        found.append((stored, embedding_prefix(titled, stored.chunk.heading_path)))
    return found


def mark(connection: sqlite3.Connection, model: str, windows: Mapping[int, Sequence[str]]) -> None:
    """Chunk id → hashes of its windows, in order. Chunks that are gone meanwhile are passed over."""
    connection.execute("INSERT OR IGNORE INTO models (fingerprint) VALUES (?)", (model,))
    connection.executemany(
        f"""INSERT OR REPLACE INTO windows (chunk_id, model_id, hashes)
            SELECT ?, {_MODEL}, ? WHERE EXISTS (SELECT 1 FROM chunks WHERE id = ?)""",
        [(chunk_id, model, " ".join(hashes), chunk_id) for chunk_id, hashes in windows.items()],
    )


def marked(connection: sqlite3.Connection, model: str) -> list[tuple[int, str]]:
    """(window id, window hash) of every embedded chunk, ascending."""
    rows = connection.execute(
        f"SELECT chunk_id, hashes FROM windows WHERE model_id = {_MODEL} ORDER BY chunk_id", (model,)
    ).fetchall()
    return [
        (number, digest)
        for chunk_id, hashes in rows
        for number, digest in enumerate(hashes.split(), chunk_id * WINDOWS_PER_CHUNK)
    ]


def forget(connection: sqlite3.Connection, model: str) -> None:
    """Drop a model's windows."""
    connection.execute(f"DELETE FROM windows WHERE model_id = {_MODEL}", (model,))
    connection.execute("DELETE FROM models WHERE fingerprint = ?", (model,))


def embedded(connection: sqlite3.Connection) -> tuple[int, dict[str, int]]:
    """How many chunks some model has embedded, and how many each."""
    by_model: dict[str, int] = dict(
        connection.execute(
            """SELECT m.fingerprint, count(*) FROM windows w JOIN models m ON m.id = w.model_id GROUP BY w.model_id"""
        ).fetchall()
    )
    if len(by_model) < 2:
        return sum(by_model.values()), by_model
    return int(connection.execute("SELECT count(DISTINCT chunk_id) FROM windows").fetchone()[0]), by_model
