"""At most one daemon for an index folder: a lock that the system takes back when its process dies.

Its file is never removed, because a lock on a removed file guards nothing. Its content names the holder and counts
only while the lock is held.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from ..errors import SetupError
from .owned_folder import claim_index

DAEMON: Final = "daemon.lock"  #: held for as long as a daemon owns the folder
STARTING: Final = "starting.lock"  #: held while a process starts a daemon, so that ten bridges start only one
_POLL_S: Final = 0.02


class Holder(NamedTuple):
    """Who wrote its name into a lock file."""

    pid: int
    version: str


class FolderLock:
    """One of the locks of an index folder. Not inherited by child processes.

    Raises `SetupError` where the folder is somebody else's, can't be written, or its file system knows no locks.
    """

    def __init__(self, index: Path, name: str = DAEMON) -> None:
        self.path = index / name
        self._file: int | None = None

    @property
    def stands(self) -> bool:
        """Whether the held lock still guards its folder: one whose file was removed or moved away keeps nobody out."""
        if self._file is None:
            return False
        try:
            return os.path.samestat(os.fstat(self._file), os.stat(self.path))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:  # a disk that can't be asked now says nothing
            return True

    def acquire(self, *, version: str = "", timeout_s: float = 0.2) -> bool:
        """Take the lock, waiting up to `timeout_s`, enough for a `holder` elsewhere; False where it is held."""
        end = time.monotonic() + timeout_s
        while not self._take(version):
            if time.monotonic() >= end:
                return False
            time.sleep(_POLL_S)
        return True

    def _take(self, version: str) -> bool:
        if self._file is not None:
            return True
        file = self._open()
        try:
            if not _lock(file):
                os.close(file)
                return False
            os.ftruncate(file, 0)
            os.pwrite(file, json.dumps({"pid": os.getpid(), "version": version}).encode(), 0)
        except OSError as error:
            os.close(file)
            raise SetupError(
                f"The index folder {self.path.parent} can't be locked: {error}.",
                hint="Choose one on a local disk with space left, with --index or INDEX_PATH.",
            ) from error
        self._file = file
        return True

    def _open(self) -> int:
        try:
            claim_index(self.path.parent)
            return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise SetupError(
                f"The index folder {self.path.parent} can't be written: {error.strerror}.",
                hint="Make it writable, or choose another with --index or INDEX_PATH.",
            ) from error

    def release(self) -> None:
        """Let the lock go; doing so twice is fine."""
        file, self._file = self._file, None
        if file is not None:
            fcntl.flock(file, fcntl.LOCK_UN)  # closing alone would leave it to a forked child
            os.close(file)

    def holder(self) -> Holder | None:
        """Who holds the lock now; None where it is free. Asking takes a free lock for a moment."""
        if self._file is not None:
            return _read(self.path)
        try:
            file = os.open(self.path, os.O_RDWR)
        except OSError:
            return None
        try:
            return None if _lock(file) else _read(self.path) or Holder(0, "")
        finally:
            os.close(file)

    @contextlib.contextmanager
    def hold(self, *, timeout_s: float) -> Iterator[bool]:
        """The lock for the length of a block; False where it couldn't be had in time."""
        try:
            yield self.acquire(timeout_s=timeout_s)
        finally:
            self.release()


def _lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(path: Path) -> Holder | None:
    try:
        content = json.loads(path.read_bytes())
        return Holder(int(content["pid"]), str(content["version"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
