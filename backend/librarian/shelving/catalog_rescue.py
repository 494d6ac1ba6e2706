"""A damaged catalog is set aside and begun anew: its text comes again from the folder, its vectors by hash.

Damage inside a file is often only met while reading. Then a mark is left beside the file, and whoever opens it next
reads all of it before trusting it.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from typing import Final

from librarian.vocabulary import owned_folder
from librarian.vocabulary.errors import Damaged

from .catalog_check import inconsistencies

log = logging.getLogger(__name__)

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
