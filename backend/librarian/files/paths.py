"""How a file on disk and the `file_path` that a document is known by everywhere find each other.

A file path is in Unicode's normal form C and can be stored and sent. On disk the same name may stand decomposed (as
older Macs write it and copies from there keep it), or in bytes that aren't UTF-8.
"""

from __future__ import annotations

import os
import time
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from ..errors import SetupError
from .owned_folder import is_index

_SETTLED_NS: Final = 2_000_000_000  #: a folder whose time is younger may change again within the same tick of its clock
_MOST_FOLDERS: Final = 4096  #: whose listings are remembered; a folder without names that differ costs some 200 bytes


def name_of(on_disk: str) -> str:
    """A name or path in normal form C; bytes that aren't UTF-8 (half surrogates in `on_disk`) become U+FFFD."""
    if on_disk.isascii():
        return on_disk
    try:
        text = on_disk.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:  # half surrogates that stand for no byte, as names on Windows may hold
        text = on_disk.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return unicodedata.normalize("NFC", text)


def spelling_of(on_disk: str) -> str:
    """A name or path as its characters stand on disk, with `\\xe9` for bytes that aren't UTF-8: to tell of it beside
    another one of the same `name_of`."""
    try:
        return on_disk.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:
        return on_disk.encode("utf-8", "backslashreplace").decode("utf-8")


def mtime_of(status: os.stat_result) -> int:
    """A file's time of change in nanoseconds since 1970 within 64 bits: some file systems hold the year 9999."""
    return max(-(2**63), min(status.st_mtime_ns, 2**63 - 1))


def state_of(path: str) -> tuple[int, int]:
    """Size and time of what a path leads to, by which a change is noticed; (-1, 0) where there is nothing."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return -1, 0
    return status.st_size, mtime_of(status)


def chosen(on_disk: Iterable[str]) -> dict[str, str]:
    """Name → the entry of one folder that it stands for: the one that is spelled so, else the first of them."""
    found: dict[str, str] = {}
    for entry in on_disk:
        name = name_of(entry)
        held = found.get(name)
        if held is None or (entry != name, entry) < (held != name, held):
            found[name] = entry
    return found


def spellings(path: str) -> list[str]:
    """What lies beside a path under the same name, however it is spelled, the path itself included."""
    folder, name = os.path.split(path)
    if not name.isascii():
        with suppress(OSError):
            return [os.path.join(folder, entry) for entry in os.listdir(folder) if name_of(entry) == name_of(name)]
    return [path]


class Paths:
    """Finds the path on disk of a file path below `root`. Reads folders only where a plain path isn't there."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = os.path.abspath(root)
        self._listed: dict[str, tuple[int, dict[str, str]]] = {}  # folder → its time, names that are spelled otherwise

    def stat(self, file_path: str) -> tuple[str, os.stat_result | None]:
        """The path on disk and what `os.stat` says of it: None where there is nothing. One call where the path on disk
        is spelled like `file_path`."""
        plain = f"{self._root}{os.sep}{file_path}"
        try:
            return plain, os.stat(plain)
        except OSError:
            path = self.on_disk(file_path)
        try:
            return path, os.stat(path)
        except OSError:
            return path, None

    def state(self, path: str) -> tuple[int, int]:
        """`state_of` a path that is relative to the root, or absolute."""
        return state_of(os.path.join(self._root, path))

    def on_disk(self, file_path: str) -> str:
        """The absolute path that `file_path` stands for, spelled like it as far as there is nothing."""
        path = os.path.join(self._root, file_path)
        if os.path.lexists(path):
            return path
        path = self._root
        for name in file_path.split("/"):
            inner = os.path.join(path, name)
            path = inner if os.path.lexists(inner) else os.path.join(path, self.entry(path, name))
        return path

    def entry(self, folder: str, name: str) -> str:
        """The entry of a folder on disk that `name` stands for; `name` itself where there is none."""
        return self._spellings(folder).get(name, name)

    def _spellings(self, folder: str) -> dict[str, str]:
        try:
            changed_ns = os.stat(folder).st_mtime_ns
            known = self._listed.get(folder)
            if known is not None and known[0] == changed_ns:
                return known[1]
            now_ns = time.time_ns()
            found = {name: entry for name, entry in chosen(os.listdir(folder)).items() if name != entry}
        except OSError:
            return {}
        if now_ns - changed_ns > _SETTLED_NS:
            if len(self._listed) >= _MOST_FOLDERS:
                self._listed.clear()
            self._listed[folder] = changed_ns, found
        return found


_TOOL_FOLDERS: Final = frozenset({"node_modules", "__pycache__", "__MACOSX"})


def left_out_folder(path: str) -> str:
    """Why the folder at `path` is left out; empty where it isn't."""
    name = os.path.basename(path)
    if name.startswith("."):
        return "hidden folder"
    if name in _TOOL_FOLDERS:
        return f"{name} folder"
    if os.path.lexists(os.path.join(path, "pyvenv.cfg")):
        return "virtual environment"
    if is_index(path):
        return "a library's index"
    return ""


def working_directory() -> Path:
    """The working directory. Raises `SetupError` where it was deleted since the shell went there."""
    try:
        return Path.cwd()
    except OSError as error:
        raise SetupError("The working directory is gone.", hint="Change into a folder that is there (cd).") from error


def leave_deleted() -> None:
    """Stand in the root folder where the working directory was deleted: a child can't be started there."""
    try:
        os.getcwd()
    except OSError:
        with suppress(OSError):
            os.chdir(os.sep)


LONGEST = 504  #: bytes: SQLite takes 512, of which the ending of a journal's name needs 8


def too_long(path: Path) -> str:
    """How many bytes the path has too many, in words; empty where it is short enough."""
    length = len(os.fsencode(os.path.realpath(path)))
    return f"its path has {length} bytes, and SQLite takes {LONGEST}" if length > LONGEST else ""


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder."""
    size = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # gone while counting: a merge or checkpoint removed it
            size += path.stat().st_size if path.is_file() else 0
    return size
