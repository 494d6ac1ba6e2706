"""Mails and archives in the catalog's tables: statements, for whoever holds the connection."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence

from librarian.vocabulary.types import OUTDATED, Document, Email

from .catalog_rows import UNFINISHED

_AMONG = "IN (SELECT value FROM json_each(?))"


def put_ids(connection: sqlite3.Connection, doc_id: int, email: Email) -> None:
    """Remember every Message-ID that a mail has or names."""
    names = {email.message_id, *email.references, *email.in_reply_to} - {""}
    connection.executemany("INSERT INTO mail_ids VALUES (?, ?)", [(name, doc_id) for name in names])


def rethread(connection: sqlite3.Connection, threads: Mapping[int, str]) -> None:
    """Move mails to other threads."""
    connection.executemany(
        "UPDATE emails SET thread_id = ? WHERE doc_id = ?", [(name, doc_id) for doc_id, name in threads.items()]
    )


def put_archive(connection: sqlite3.Connection, archive: Document) -> None:
    """What the file of many mails looked like, and its members with it; it is no failure any more."""
    row = (archive.file_path, archive.size, archive.mtime_ns, archive.content_hash)
    connection.execute("INSERT OR REPLACE INTO archives VALUES (?, ?, ?, ?)", row)
    connection.execute("DELETE FROM failures WHERE file_path = ?", (archive.file_path,))
    touch(connection, archive.file_path, archive.size, archive.mtime_ns)


def touch(connection: sqlite3.Connection, file_path: str, size: int, mtime_ns: int) -> None:
    """Remember another size and time of a file, for all documents that it holds."""
    connection.execute(
        "UPDATE documents SET size = ?, mtime_ns = ? WHERE file_path = ? OR (archive <> '' AND archive = ?)",
        (size, mtime_ns, file_path, file_path),
    )
    connection.execute("UPDATE archives SET size = ?, mtime_ns = ? WHERE file_path = ?", (size, mtime_ns, file_path))


def withdraw(connection: sqlite3.Connection, chunk_ids: Iterable[int]) -> list[int]:
    """Drop passages, not their documents; the ids of those."""
    given = (json.dumps(list(chunk_ids)),)
    counts = connection.execute(
        f"SELECT count(*), doc_id FROM chunks WHERE id {_AMONG} GROUP BY doc_id", given
    ).fetchall()
    connection.execute(f"DELETE FROM chunks WHERE id {_AMONG}", given)
    connection.executemany("UPDATE documents SET chunk_count = chunk_count - ? WHERE id = ?", counts)
    return [doc_id for _, doc_id in counts]


def outdate(connection: sqlite3.Connection, file_paths: Iterable[str]) -> None:
    """Forget the size and time of documents, of the archives that hold them, and of archives."""
    for path in file_paths:
        connection.execute(
            "UPDATE documents SET size = ?, mtime_ns = ? WHERE file_path = ?", (OUTDATED, OUTDATED, path)
        )
        connection.execute(
            """UPDATE archives SET size = ?, mtime_ns = ?
               WHERE file_path IN (?, (SELECT archive FROM documents WHERE file_path = ?))""",
            (OUTDATED, OUTDATED, path, path),
        )


def with_members(connection: sqlite3.Connection, file_paths: Sequence[str]) -> Iterator[str]:
    """Each path, and the members of each that is an archive, which is forgotten."""
    for path in file_paths:
        connection.execute("DELETE FROM archives WHERE file_path = ?", (path,))
        yield path
        yield from [row[0] for row in connection.execute(f"{_MEMBERS} ORDER BY id", (path,))]


_MEMBERS = "SELECT file_path, content_hash FROM documents WHERE archive <> '' AND archive = ?"


def drop(connection: sqlite3.Connection, file_path: str) -> tuple[list[int], list[int]]:
    """Drop the document of exactly that path; (document ids, chunk ids) dropped."""
    row = connection.execute("SELECT id FROM documents WHERE file_path = ?", (file_path,)).fetchone()
    if row is None:
        return [], []
    chunks = connection.execute("SELECT id FROM chunks WHERE doc_id = ? ORDER BY ordinal", row).fetchall()
    connection.execute("DELETE FROM documents WHERE id = ?", row)
    return [row[0]], [chunk_id for (chunk_id,) in chunks]


def known(connection: sqlite3.Connection) -> dict[str, tuple[int, int, str]]:
    """file_path → (size, mtime_ns, content_hash) of every file; the hash of a failed one is empty."""
    rows = connection.execute(
        f"""SELECT file_path, size, mtime_ns, '' FROM failures WHERE kind = 'failed'
           UNION ALL SELECT DISTINCT archive, -1, -1, '{UNFINISHED}' FROM documents WHERE archive <> ''
           UNION ALL SELECT file_path, size, mtime_ns, content_hash FROM archives
           UNION ALL SELECT file_path, size, mtime_ns, content_hash FROM documents WHERE archive = ''"""
    )
    # Later rows win: an archive whose members were put, but not yet itself, is there to be read again.
    return {path: (size, mtime_ns, digest) for path, size, mtime_ns, digest in rows}
