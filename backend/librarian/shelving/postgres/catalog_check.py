"""What can be wrong inside a catalog in PostgreSQL. The server itself keeps pages and references whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..catalog_rows import unpack_text

if TYPE_CHECKING:
    from psycopg import Connection

_MOST = 20  #: sentences per kind of trouble


def inconsistencies(connection: Connection[Any]) -> list[str]:
    """Sentences, empty where all is well: chunk counts, lost texts, chunks against their text."""
    found = []
    for path, said, held in connection.execute(
        """SELECT d.file_path, d.chunk_count, count(c.id) FROM documents d LEFT JOIN chunks c ON c.doc_id = d.id
           GROUP BY d.id HAVING d.chunk_count <> count(c.id) ORDER BY d.file_path LIMIT %s""",
        (_MOST,),
    ):
        found.append(f"{path} should have {said} chunks and has {held}.")
    for (path,) in connection.execute(
        """SELECT file_path FROM documents d WHERE NOT EXISTS (SELECT 1 FROM texts t WHERE t.doc_id = d.id)
           ORDER BY file_path LIMIT %s""",
        (_MOST,),
    ):
        found.append(f"{path} has lost its text.")
    return found + _moved_passages(connection)


def _moved_passages(connection: Connection[Any]) -> list[str]:
    found: list[str] = []
    for (doc_id,) in connection.execute("SELECT id FROM documents ORDER BY id").fetchall():
        row = connection.execute(
            "SELECT d.file_path, t.text FROM documents d JOIN texts t ON t.doc_id = d.id WHERE d.id = %s", (doc_id,)
        ).fetchone()
        if row is None:
            continue
        text = unpack_text(row[1])
        for ordinal, start, end, passage in connection.execute(
            'SELECT ordinal, start, "end", text FROM chunks WHERE doc_id = %s', (doc_id,)
        ):
            if text[start:end] != passage:
                found.append(f"Chunk {ordinal} of {row[0]} is not the text at {start}–{end}.")
                if len(found) == _MOST:
                    return found
    return found
