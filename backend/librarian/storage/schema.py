"""What can be wrong inside a catalog that opens."""

from __future__ import annotations

import logging
import os
import sqlite3
import uuid
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from ..errors import Damaged, SetupError, Unavailable
from ..files import owned_folder
from ..files.owned_folder import APPLICATION_ID
from ..files.paths import too_long
from .rows import text_key, unpack_text

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


log = logging.getLogger(__name__)


def create_tables(connection: sqlite3.Connection) -> None:
    """Documents with their text apart, so that listing them reads no text; ids are never used twice."""
    for statement in (
        """CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID""",
        """CREATE TABLE documents (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            file_path TEXT NOT NULL UNIQUE,
            product TEXT NOT NULL,
            component TEXT NOT NULL,
            kind TEXT NOT NULL,
            file_type TEXT NOT NULL,
            title TEXT NOT NULL,
            title_in_text INTEGER NOT NULL,
            doc_type TEXT NOT NULL,
            language TEXT NOT NULL,
            encoding TEXT NOT NULL,
            encoding_confidence REAL NOT NULL,
            summary TEXT NOT NULL,
            last_modified TEXT NOT NULL,
            modified INTEGER NOT NULL,
            size INTEGER NOT NULL,
            mtime_ns INTEGER NOT NULL,
            content_hash TEXT NOT NULL,
            tags TEXT NOT NULL,
            headings TEXT NOT NULL,
            notes TEXT NOT NULL,
            chunk_count INTEGER NOT NULL,
            indexed_at TEXT NOT NULL)""",
        """CREATE INDEX documents_by_product ON documents (product, component, kind)""",
        """CREATE INDEX documents_by_content ON documents (content_hash)""",
        """CREATE TABLE texts (
            doc_id INTEGER PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
            text BLOB NOT NULL,
            structure BLOB NOT NULL)""",
        """CREATE TABLE emails (
            doc_id INTEGER PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
            thread_id TEXT NOT NULL,
            subject TEXT NOT NULL,
            sender TEXT NOT NULL,
            date TEXT,
            message_id TEXT NOT NULL,
            has_attachments INTEGER NOT NULL,
            headers TEXT NOT NULL)""",
        """CREATE INDEX emails_by_thread ON emails (thread_id)""",
        """CREATE TABLE chunks (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            doc_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
            ordinal INTEGER NOT NULL,
            start INTEGER NOT NULL,
            "end" INTEGER NOT NULL,
            text TEXT NOT NULL,
            heading_path TEXT NOT NULL,
            heading_level INTEGER NOT NULL,
            page INTEGER,
            line_start INTEGER NOT NULL,
            line_end INTEGER NOT NULL,
            hash TEXT NOT NULL)""",
        """CREATE UNIQUE INDEX chunks_by_document ON chunks (doc_id, ordinal)""",
        """CREATE INDEX chunks_by_hash ON chunks (hash)""",
        """CREATE TABLE models (id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE)""",
        """CREATE TABLE windows (
            chunk_id INTEGER NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
            model_id INTEGER NOT NULL REFERENCES models (id),
            hashes TEXT NOT NULL,
            PRIMARY KEY (chunk_id, model_id)) WITHOUT ROWID""",
        """CREATE TABLE failures (
            file_path TEXT PRIMARY KEY,
            kind TEXT NOT NULL,
            reason TEXT NOT NULL,
            detail TEXT NOT NULL,
            size INTEGER NOT NULL,
            mtime_ns INTEGER NOT NULL) WITHOUT ROWID""",
    ):
        connection.execute(statement)
    connection.execute(
        "INSERT INTO meta VALUES ('generation', '0'), ('changes', '0'), ('identity', ?)", (uuid.uuid4().hex,)
    )
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def add_mail_tables(connection: sqlite3.Connection) -> None:
    """Archives of many mails; what threads and copies are found by. Mails stored before are read again by then."""
    for statement in (
        """ALTER TABLE documents ADD COLUMN archive TEXT NOT NULL DEFAULT ''""",
        """CREATE INDEX documents_by_archive ON documents (archive) WHERE archive <> ''""",
        """CREATE TABLE archives (
            file_path TEXT PRIMARY KEY,
            size INTEGER NOT NULL,
            mtime_ns INTEGER NOT NULL,
            content_hash TEXT NOT NULL) WITHOUT ROWID""",
        """ALTER TABLE emails ADD COLUMN topic TEXT NOT NULL DEFAULT ''""",
        """ALTER TABLE emails ADD COLUMN is_answer INTEGER NOT NULL DEFAULT 0""",
        """ALTER TABLE emails ADD COLUMN fingerprint TEXT NOT NULL DEFAULT ''""",
        """ALTER TABLE emails ADD COLUMN recipients TEXT NOT NULL DEFAULT ''""",
        """CREATE INDEX emails_by_topic ON emails (topic)""",
        """CREATE INDEX emails_by_fingerprint ON emails (fingerprint)""",
        """CREATE TABLE mail_ids (
            message_id TEXT NOT NULL,
            doc_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
            PRIMARY KEY (message_id, doc_id)) WITHOUT ROWID""",
        """CREATE INDEX mail_ids_by_document ON mail_ids (doc_id)""",
    ):
        connection.execute(statement)


def add_frames(connection: sqlite3.Connection) -> None:
    """What stands around each passage. Documents stored before are read again by then."""
    connection.execute("""ALTER TABLE chunks ADD COLUMN frames TEXT NOT NULL DEFAULT ''""")


def add_text_keys(connection: sqlite3.Connection) -> None:
    """What passages of equal text are found by. The index holds all that the columns in memory are read from."""
    connection.create_function("text_key", 1, text_key, deterministic=True)
    connection.execute("""ALTER TABLE chunks ADD COLUMN text_key INTEGER NOT NULL DEFAULT 0""")
    connection.execute("""UPDATE chunks SET text_key = text_key(text)""")
    connection.execute("""CREATE INDEX chunks_by_text ON chunks (text_key, doc_id)""")


def add_references(connection: sqlite3.Connection) -> None:
    """What links may call a document, and what its links may mean. Documents stored before are read again by then."""
    connection.execute("""ALTER TABLE documents ADD COLUMN names BLOB NOT NULL DEFAULT x''""")
    connection.execute("""ALTER TABLE documents ADD COLUMN links BLOB NOT NULL DEFAULT x''""")


def add_included(connection: sqlite3.Connection) -> None:
    """Which files each document includes. Documents stored before are read again by then."""
    connection.execute("""ALTER TABLE documents ADD COLUMN included TEXT NOT NULL DEFAULT ''""")
    connection.execute("""CREATE INDEX documents_that_include ON documents (id) WHERE included <> ''""")


#: In order; a file's `user_version` is how many of them it has seen. Only ever append.
MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    create_tables,
    add_mail_tables,
    add_frames,
    add_text_keys,
    add_references,
    add_included,
)

_MADE_ANEW = "End Librarian and start it again: the catalog is made anew from the files, and vectors are kept."


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection in autocommit mode: transactions are begun and ended by those who need them."""
    connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False, cached_statements=256)
    connection.execute("PRAGMA foreign_keys = ON")
    if read_only:
        connection.execute("PRAGMA query_only = ON")
    return connection


def open_writer(path: Path) -> sqlite3.Connection:
    """Open or create the catalog's file and bring it up to date.

    Raises `Damaged` where it can't be read, `SetupError` where it is something else or was written by a newer version.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        connection = connect(path)
    except sqlite3.DatabaseError as error:
        raise _opening(path, error) from error
    try:
        _check(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA journal_size_limit = 67108864")
        _migrate(connection)
    except sqlite3.DatabaseError as error:
        connection.close()
        raise _opening(path, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def explained(path: Path, error: Exception) -> Exception:
    """The error to raise: a full disk and a damaged file are no bugs; a wrong statement is one, and stays as it is."""
    if isinstance(error, sqlite3.OperationalError) and is_gone(path):
        return gone(path)
    if isinstance(error, sqlite3.OperationalError):
        return Unavailable(f"The catalog {path} can't be used: {error}.", hint="Check free space and permissions.")
    if type(error) is sqlite3.DatabaseError or isinstance(error, zlib.error):
        return Damaged(f"The catalog {path} is damaged: {error}.", hint=_MADE_ANEW)
    return error


def is_gone(path: Path) -> bool:
    """Whether the file was removed: then a new connection finds none, or makes an empty one."""
    try:
        return os.path.getsize(path) == 0
    except OSError as error:
        return isinstance(error, FileNotFoundError)


def gone(path: Path) -> Damaged:
    """The error for a file that was removed while it was open: who has it open still sees it, and nobody else."""
    return Damaged(f"The catalog {path} was removed while it was in use.", hint=_MADE_ANEW)


def _opening(path: Path, error: sqlite3.DatabaseError) -> Exception:
    if isinstance(error, sqlite3.OperationalError):
        hint = "Check that its folder is writable, has free space and is used by one Librarian only."
        if length := too_long(path):
            hint = "Choose a shorter path for the index, with --index or INDEX_PATH."
        return SetupError(f"The catalog {path} can't be opened: {length or error}.", hint=hint)
    return explained(path, error)


def _check(connection: sqlite3.Connection, path: Path) -> None:
    version = _number(connection, "user_version")
    application = _number(connection, "application_id")
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if tables and application != APPLICATION_ID:
        raise SetupError(
            f"{path} is a database of another program.",
            hint="Choose another index folder with --index or `index.path`.",
        )
    if version > len(MIGRATIONS):
        raise SetupError(
            f"The catalog {path} has format {version}; this Librarian knows formats up to {len(MIGRATIONS)}.",
            hint="Update Librarian, or choose another index folder with --index.",
        )


def _migrate(connection: sqlite3.Connection) -> None:
    version = _number(connection, "user_version")
    for number, migration in enumerate(MIGRATIONS[version:], start=version + 1):
        level = logging.INFO if version else logging.DEBUG  # making a new catalog is nothing to tell
        log.log(level, "catalog: %s (format %d)", migration.__name__, number)
        connection.execute("BEGIN IMMEDIATE")
        try:
            migration(connection)
            connection.execute(f"PRAGMA user_version = {number}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


_MARK: Final = ".suspect"
_LOG: Final = ("-wal", "-shm")


def suspect(path: Path) -> None:
    """Leave a mark: a page of this file could not be read."""
    try:
        path.with_name(path.name + _MARK).touch()
    except OSError as error:
        log.warning("catalog: %s can't be marked as damaged: %s", path, error)


def examine_if_suspect(path: Path) -> None:
    """Read a marked file whole. Raises `Damaged` where something is wrong; takes the mark away where nothing is."""
    mark = path.with_name(path.name + _MARK)
    if not os.path.exists(mark):  # also where nobody may look
        return
    try:
        with closing(sqlite3.connect(path)) as connection:
            found = inconsistencies(connection)
    except (sqlite3.Error, ValueError, zlib.error) as error:
        found = [f"{error}."]
    if found:
        raise Damaged(f"The catalog {path} is damaged: {found[0]}")
    mark.unlink(missing_ok=True)


def set_aside(path: Path, why: str) -> str:
    """Move the file and its log into a folder `<name>.damaged-<number>`; returns a sentence for people."""
    aside = owned_folder.set_aside(path, *(path.with_name(path.name + ending) for ending in _LOG))
    path.with_name(path.name + _MARK).unlink(missing_ok=True)
    note = f"{why} It was set aside in {aside.name} and made again from the files; vectors were kept."
    log.warning("%s", note)
    return note
