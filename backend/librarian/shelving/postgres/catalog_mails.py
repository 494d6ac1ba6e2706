"""Mails and archives in PostgreSQL's tables: statements, for whoever holds the connection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from librarian.vocabulary.types import OUTDATED, Document, Email

from ..catalog_rows import UNFINISHED

if TYPE_CHECKING:
    from psycopg import Connection

_MEMBERS = "SELECT file_path, content_hash FROM documents WHERE archive <> '' AND archive = %s"


def put_ids(connection: Connection[Any], mails: Mapping[int, Email]) -> None:
    """Remember every Message-ID that mails, given by document id, have or name."""
    rows = [
        (name, doc_id)
        for doc_id, email in mails.items()
        for name in sorted({email.message_id, *email.references, *email.in_reply_to} - {""})
    ]
    if rows:
        connection.cursor().executemany("INSERT INTO mail_ids VALUES (%s, %s)", rows)


def rethread(connection: Connection[Any], threads: Mapping[int, str]) -> None:
    """Move mails to other threads."""
    connection.cursor().executemany(
        "UPDATE emails SET thread_id = %s WHERE doc_id = %s", [(name, doc_id) for doc_id, name in threads.items()]
    )


def put_archive(connection: Connection[Any], archive: Document) -> None:
    """What the file of many mails looked like, and its members with it; it is no failure any more."""
    connection.execute(
        """INSERT INTO archives VALUES (%s, %s, %s, %s) ON CONFLICT (file_path) DO UPDATE
           SET size = excluded.size, mtime_ns = excluded.mtime_ns, content_hash = excluded.content_hash""",
        (archive.file_path, archive.size, archive.mtime_ns, archive.content_hash),
    )
    connection.execute("DELETE FROM failures WHERE file_path = %s", (archive.file_path,))
    touch(connection, archive.file_path, archive.size, archive.mtime_ns)


def touch(connection: Connection[Any], file_path: str, size: int, mtime_ns: int) -> None:
    """Remember another size and time of a file, for all documents that it holds."""
    connection.execute(
        "UPDATE documents SET size = %s, mtime_ns = %s WHERE file_path = %s OR (archive <> '' AND archive = %s)",
        (size, mtime_ns, file_path, file_path),
    )
    connection.execute("UPDATE archives SET size = %s, mtime_ns = %s WHERE file_path = %s", (size, mtime_ns, file_path))


def withdraw(connection: Connection[Any], chunk_ids: Iterable[int]) -> list[int]:
    """Drop passages, not their documents; the ids of those."""
    given = (list(chunk_ids),)
    counts = connection.execute(
        "SELECT count(*), doc_id FROM chunks WHERE id = ANY(%s) GROUP BY doc_id", given
    ).fetchall()
    connection.execute("DELETE FROM chunks WHERE id = ANY(%s)", given)
    connection.cursor().executemany("UPDATE documents SET chunk_count = chunk_count - %s WHERE id = %s", counts)
    return [doc_id for _, doc_id in counts]


def outdate(connection: Connection[Any], file_paths: Iterable[str]) -> None:
    """Forget the size and time of documents, of the archives that hold them, and of archives."""
    for path in file_paths:
        connection.execute(
            "UPDATE documents SET size = %s, mtime_ns = %s WHERE file_path = %s", (OUTDATED, OUTDATED, path)
        )
        connection.execute(
            """UPDATE archives SET size = %s, mtime_ns = %s
               WHERE file_path IN (%s, (SELECT archive FROM documents WHERE file_path = %s))""",
            (OUTDATED, OUTDATED, path, path),
        )


def with_members(connection: Connection[Any], file_paths: Sequence[str]) -> list[str]:
    """The paths, then the members of those that are archives, which are forgotten."""
    connection.execute("DELETE FROM archives WHERE file_path = ANY(%s)", (list(file_paths),))
    members = connection.execute(
        "SELECT file_path FROM documents WHERE archive <> '' AND archive = ANY(%s) ORDER BY id", (list(file_paths),)
    ).fetchall()
    return list(dict.fromkeys([*file_paths, *(path for (path,) in members)]))


def known(connection: Connection[Any]) -> dict[str, tuple[int, int, str]]:
    """file_path → (size, mtime_ns, content_hash) of every file; the hash of a failed one is empty."""
    rows = connection.execute(
        f"""SELECT file_path, size, mtime_ns, '' FROM failures WHERE kind = 'failed'
           UNION ALL SELECT DISTINCT archive, -1, -1, '{UNFINISHED}' FROM documents WHERE archive <> ''
           UNION ALL SELECT file_path, size, mtime_ns, content_hash FROM archives
           UNION ALL SELECT file_path, size, mtime_ns, content_hash FROM documents WHERE archive = ''"""
    ).fetchall()
    # A whole archive is worth more than the trace of one whose members were put, and that more than a failure.
    best: dict[str, tuple[int, int, str]] = {}
    for path, size, mtime_ns, digest in sorted(rows, key=lambda row: (bool(row[3]), row[3] != "?")):
        best[path] = (size, mtime_ns, digest)
    return best
