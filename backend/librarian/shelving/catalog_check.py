"""What can be wrong inside a catalog that opens."""

from __future__ import annotations

import sqlite3

from .catalog_rows import unpack_text

_MOST = 20  #: sentences per kind of trouble


def inconsistencies(connection: sqlite3.Connection) -> list[str]:
    """Sentences, empty where all is well: pages and indexes, references, chunk counts, chunks against their text."""
    found = [f"SQLite: {row[0]}." for row in connection.execute(f"PRAGMA integrity_check({_MOST})") if row[0] != "ok"]
    for table, row_id, parent, _ in connection.execute("PRAGMA foreign_key_check").fetchmany(_MOST):
        found.append(f"Row {row_id} of {table} refers to a row of {parent} that is not there.")
    for path, said, held in connection.execute(
        f"""SELECT d.file_path, d.chunk_count, (SELECT count(*) FROM chunks c WHERE c.doc_id = d.id) AS held
            FROM documents d WHERE d.chunk_count <> held LIMIT {_MOST}"""
    ):
        found.append(f"{path} should have {said} chunks and has {held}.")
    for (path,) in connection.execute(
        f"SELECT file_path FROM documents WHERE id NOT IN (SELECT doc_id FROM texts) LIMIT {_MOST}"
    ):
        found.append(f"{path} has lost its text.")
    return found + _moved_passages(connection)


def _moved_passages(connection: sqlite3.Connection) -> list[str]:
    found: list[str] = []
    documents = connection.execute(
        "SELECT d.id, d.file_path, t.text FROM documents d JOIN texts t ON t.doc_id = d.id ORDER BY d.id"
    )
    for doc_id, path, packed in documents:
        text = unpack_text(packed)
        for ordinal, start, end, passage in connection.execute(
            'SELECT ordinal, start, "end", text FROM chunks WHERE doc_id = ?', (doc_id,)
        ):
            if text[start:end] != passage:
                found.append(f"Chunk {ordinal} of {path} is not the text at {start}–{end}.")
                if len(found) == _MOST:
                    return found
    return found
