"""Notices what changes below the root and reports the paths once changes pause.

It only says where to look; what a change means is decided by comparing the files (`Indexer.refresh`). Watchers miss
changes, so the indexer also scans the whole folder from time to time.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Final, Literal

import psutil
from watchfiles import Change, watch
from watchfiles.main import FileChange

from ..files.paths import left_out_folder

logger = logging.getLogger(__name__)

#: File systems whose changes on another machine (or in the host of a virtual one) raise no event here.
REMOTE: Final = frozenset(
    {
        *("9p", "afs", "beegfs", "ceph", "cifs", "drvfs", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "prl_fs"),
        *("smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs"),
    }
)
_MOST_PATHS: Final = 4_000  #: changes at once; the kernel may have dropped more, so the whole folder is reported
_TICK_S: Final = 0.25
_ALLOWANCE: Final = "Raise fs.inotify.max_user_watches (with sysctl) and start again."


def is_remote(root: str) -> bool:
    """Whether the root lies on a file system that other machines can change without this kernel's knowledge."""
    path, best, kind = os.path.realpath(root), "", ""
    for mount in psutil.disk_partitions(all=True):
        if os.path.commonpath((path, mount.mountpoint)) == mount.mountpoint and len(mount.mountpoint) >= len(best):
            best, kind = mount.mountpoint, mount.fstype
    return kind in REMOTE or (kind.startswith("fuse.") and kind not in {"fuse.fuse-overlayfs", "fuse.lxcfs"})


class FileWatcher:
    """Calls `on_change` with absolute paths that were added, changed, moved or deleted; a folder means all below it.

    Changes are collected until nothing happens for `debounce_ms`, at most twice that from the first. The root itself is
    reported if changes may have been missed. Folders that are never indexed are not watched. Reading files never fires.

    A folder that is missing or replaced is tried again every `retry_s` seconds. Where the kernel reports nothing (a
    network file system, or too many folders for its limits), the root is reported every `poll_s` seconds.
    """

    def __init__(
        self,
        root: Path | str,
        on_change: Callable[[frozenset[str]], None],
        *,
        debounce_ms: float = 1000,
        poll_s: float = 30.0,
        retry_s: float = 1.0,
    ) -> None:
        self._root = os.path.abspath(root)
        self._on_change = on_change
        self._quiet_s = debounce_ms / 1000
        self._tick_s = min(_TICK_S, max(0.01, self._quiet_s / 4))
        self._poll_s = poll_s
        self._retry_s = retry_s
        self._paths: set[str] = set()
        self._first = self._last = 0.0  # when the first and the last of them came
        self.error = ""  #: why nothing is noticed now, in a sentence
        self.note = ""  #: why the folder is polled although the kernel could report its changes, and what helps
        self.how: Literal["events", "polling", "off"] = "off"  #: how changes are noticed now
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to watch in a thread; if the root is missing, as soon as it exists."""
        if self._thread is None:
            self._stopping.clear()
            self._thread = threading.Thread(target=self._run, name="file-watcher", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End watching and join the thread. Changes not yet reported are dropped."""
        self._stopping.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        self.how = "off"

    # -- in the thread ---------------------------------------------------------------------------------------------

    def _run(self) -> None:
        again = False
        while not self._stopping.is_set():
            try:
                self._watch(again)
            except (OSError, RuntimeError) as error:  # the second: watchfiles cannot decode the name of a file
                missing = isinstance(error, FileNotFoundError) and os.path.isdir(self._root)  # a folder just deleted
                if isinstance(error, OSError) and not missing:
                    self.error = f"{self._root} can't be watched: {error.strerror or error}."
                    self.how = "off"
                self._report()
                self._stopping.wait(self._retry_s)
            again = True

    def _watch(self, again: bool) -> None:
        """Watch until the set of folders changes. Raises `OSError` if the root can't be watched."""
        watched = _identity(self._root)
        folders = set(filter(_is_utf8, _folders_below(self._root)))
        events = self._events(folders)
        first = next(events, set())
        if again or self.how == "polling":
            self._add({self._root})  # for what happened while nothing was watched
        self.error = ""
        for changes in chain([first], events):
            renew = self._sort(changes, folders) if changes else False
            self._report()
            if _identity(self._root) != watched:
                logger.warning("%s was moved, deleted or replaced. It is watched again once it can be.", self._root)
                self._add({self._root})
                return
            if renew:
                return

    def _events(self, folders: set[str]) -> Iterator[set[FileChange]]:
        """Changes of the entries of these folders, every tick; the first set comes once they are watched."""
        tick = max(1, int(self._tick_s * 1000))
        if not is_remote(self._root):
            try:
                events = watch(
                    *folders, watch_filter=None, recursive=False, stop_event=self._stopping, yield_on_timeout=True,
                    debounce=2 * tick, step=tick, rust_timeout=tick, force_polling=False, ignore_permission_denied=True,
                )  # fmt: skip
                first = next(events, set())
            except (OSError, RuntimeError) as error:
                if isinstance(error, FileNotFoundError):
                    raise
                reason = str(getattr(error, "strerror", "") or error).partition(" about ")[0].rstrip(".")
                note = f"The whole folder is looked at every {self._poll_s:g} s: {reason}."
                if not self.note:
                    logger.warning("%s: %s", self._root, note)
                self.note = f"{note} {_ALLOWANCE}"
            else:
                self.note, self.how = "", "events"
                yield first
                yield from events
                return
        self.how, polled = "polling", time.monotonic()
        while not self._stopping.wait(self._tick_s):
            if time.monotonic() - polled >= self._poll_s:
                polled = time.monotonic()
                self._add({self._root})
            yield set()

    def _sort(self, changes: Iterable[FileChange], folders: set[str]) -> bool:
        """Collect what is to be reported; whether other folders than these are to be watched now."""
        found: set[str] = set()
        renew = False
        for change, path in changes:
            folder = os.path.dirname(path)
            if folder != self._root and folder in folders and left_out_folder(folder):  # it has become one
                found.add(folder)
                renew = True
            elif path in folders:
                renew = renew or change != Change.modified
                found |= {path} if change != Change.modified or path == self._root else set()
            elif not os.path.isdir(path) or os.path.islink(path):
                found.add(path)
            elif not left_out_folder(path):
                found.add(path)
                renew = True
        self._add(found)
        return renew

    def _add(self, paths: set[str]) -> None:
        if paths:
            self._last = time.monotonic()
            self._first = self._first if self._paths else self._last
            self._paths |= paths
            if len(self._paths) > _MOST_PATHS:
                self._paths = {self._root}

    def _report(self) -> None:
        now = time.monotonic()
        if not self._paths or now < min(self._last + self._quiet_s, self._first + 2 * self._quiet_s):
            return
        paths, self._paths = frozenset(self._paths), set()
        try:
            self._on_change(paths)
        except Exception:
            logger.exception("reporting %d changes failed", len(paths))


def _folders_below(root: str) -> Iterator[str]:
    """The root and all folders below it that may be indexed; links are not followed. Raises `OSError` for the root."""
    with os.scandir(root):
        pass
    stack = [root]
    while stack:
        folder = stack.pop()
        try:
            with os.scandir(folder) as entries:
                stack += [
                    entry.path
                    for entry in entries
                    if entry.is_dir(follow_symlinks=False) and not left_out_folder(entry.path)
                ]
        except OSError as error:
            logger.info("can't look into %s: %s", folder, error)
            continue
        yield folder


def _is_utf8(path: str) -> bool:
    """Whether watchfiles takes it."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _identity(path: str) -> tuple[int, int] | None:
    """Which folder a path leads to; None if it leads nowhere. The kernel watches a folder, whatever its name."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
