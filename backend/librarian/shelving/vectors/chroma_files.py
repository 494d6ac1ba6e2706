"""The files of a Chroma folder, looked at and cleared away beside Chroma itself.

Chroma maps its graph files as they are: one that was cut short ends the process with a segmentation fault instead of an
error. So sizes are compared with the header first, and a mark lies in the folder while a graph is loaded for the first
time: a process that finds the mark knows that the one before it died there.
"""

from __future__ import annotations

import logging
import re
import shutil
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from librarian.vocabulary import owned_folder

from .. import path_length

logger = logging.getLogger(__name__)

_DATABASE: Final = "chroma.sqlite3"
_MARK: Final = "librarian.opening"
#: version, offset, capacity, count, size of a row, label and data offsets, levels, entry point, M (three), factor, ef
_HEADER: Final = struct.Struct("<i6QiI3QdQ")

#: The folder of a collection's graph, named by a UUID.
_GRAPH: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

#: SQLite's code and the system's (no space, over quota) for a disk that takes no more, in errors that have no numbers.
_FULL: Final = re.compile(r"\(code: 13\)|\bos error (28|122)\b|\[Errno (28|122)\]")


def _is_unmarked_folder(folder: Path) -> bool:
    """Whether all collections that the database holds carry what Librarian notes of its own."""
    query = "SELECT key FROM collection_metadata WHERE collection_id = ?"
    try:
        with closing(_opened(folder, "&immutable=1")) as db:
            ids = db.execute("SELECT id FROM collections").fetchall()
            return bool(ids) and all({row[0] for row in db.execute(query, found)} >= _NOTED for found in ids)
    except sqlite3.Error:
        return False


_NOTED: Final = frozenset({"fingerprint", "dimension", "dead"})  #: as `ChromaStore` writes it
#: The folder of a Chroma database.
FOLDER: Final = owned_folder.Kind(
    "Chroma",
    "librarian.shelving.vectors.chroma",
    "Choose another folder, or an empty one, with vector_db.path; vectors are copied there without embedding.",
    _is_unmarked_folder,
)


def is_full(why: str) -> bool:
    """Whether an error says that the disk is full, which leaves what lies on it whole."""
    return _FULL.search(why) is not None


def exists(folder: Path) -> bool:
    """Whether Chroma's database is (still) there."""
    return (folder / _DATABASE).exists()


def too_long(folder: Path) -> str:
    """Whether no database can be opened there for the length of its path; empty where it can."""
    return path_length.too_long(folder / _DATABASE)


def damage(folder: Path) -> str:
    """What is wrong with the folder, in a few words; empty where nothing is seen to be. A missing one is fine."""
    if not exists(folder):
        return ""
    if (folder / _MARK).exists():
        return "the process before died while loading it"
    try:
        with closing(_opened(folder)) as db:
            db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.Error as error:
        return f"{_DATABASE}: {error}"
    for header in sorted(folder.glob("*/header.bin")):
        data = header.read_bytes()
        if len(data) != _HEADER.size:
            return f"{header.parent.name}/{header.name} has {len(data)} bytes"
        _, _, _, count, row_size, *_ = _HEADER.unpack(data)
        for name, expected in (("data_level0.bin", count * row_size), ("length.bin", count * 4)):
            file = header.with_name(name)
            size = file.stat().st_size if file.exists() else 0
            if size < expected:
                return f"{header.parent.name}/{name} has {size} of {expected} bytes"
    return ""


def _opened(folder: Path, more: str = "") -> sqlite3.Connection:
    # quoted: of a bare path `#` and `?` end the name, and SQLite would make a file of what is before them
    return sqlite3.connect(f"{(folder / _DATABASE).absolute().as_uri()}?mode=ro{more}", uri=True)


@contextmanager
def marked(folder: Path) -> Iterator[None]:
    """A mark that outlives this block only where the process dies in it."""
    mark = folder / _MARK
    mark.touch()
    try:
        yield
    finally:
        mark.unlink(missing_ok=True)


def segments(folder: Path, collection: str) -> list[Path]:
    """The folders that hold the graph of a collection (by its id)."""
    try:
        with closing(_opened(folder)) as db:
            rows = db.execute("SELECT id FROM segments WHERE collection = ?", (collection,)).fetchall()
    except sqlite3.Error as error:
        logger.info("The graph files of Chroma collection %s can't be found: %s.", collection, error)
        return []
    return [folder / row[0] for row in rows if (folder / row[0]).is_dir()]


def set_aside(folder: Path) -> None:
    """Move Chroma's files into a folder beside them; what else lies there stays. A missing folder is fine."""
    if not folder.exists():
        return
    graphs = [each for each in folder.iterdir() if _GRAPH.fullmatch(each.name)]
    files = [folder / name for name in (*(f"{_DATABASE}-{log}" for log in ("wal", "shm", "journal")), _MARK, _DATABASE)]
    owned_folder.set_aside(*graphs, *files, name=_DATABASE)


def drop(path: Path, client: Any, collection: Any) -> None:
    """Delete a collection and the graph files that Chroma leaves behind."""
    leftovers = segments(path, str(collection.id))
    client.delete_collection(collection.name)
    for folder in leftovers:
        shutil.rmtree(folder, ignore_errors=True)
