"""Where news about a folder comes from: the kernel (inotify), the platform's own watcher, or looking again and again.

Each source reports absolute paths to a listener; a folder's path stands for everything below it. Nothing here decides
what the news mean. watchdog's recursive observer isn't used on Linux because it watches ignored folders too (a
`node_modules` can use up the user's whole allowance of watches) and tells nobody when the kernel dropped events.
"""

from __future__ import annotations

import errno
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.polling import PollingObserverVFS

logger = logging.getLogger(__name__)

#: File systems whose changes on another machine (or in the host of a virtual one) raise no event here.
REMOTE = frozenset(
    {
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "drvfs",
        "glusterfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "prl_fs",
        "smb3",
        "smbfs",
        "vboxsf",
        "virtiofs",
        "vmhgfs",
    }
)


class Listener(Protocol):
    """Who wants to know. Called from a source's own thread."""

    def changed(self, path: str) -> None:
        """A file changed, came or went; or a folder, with all below it."""

    def lost(self, reason: str) -> None:
        """Events were dropped, as a sentence says: look at everything again."""

    def gone(self, reason: str) -> None:
        """The root can't be watched any more, as a sentence says."""


class Source(Protocol):
    """A running source of news."""

    def stop(self) -> None:
        """End it and join its threads."""


Ignored = Callable[[str], bool]


def kernel_events(root: str, listener: Listener, ignored: Ignored, probe_s: float) -> Source | None:
    """Start watching by the platform's own means; None where it has none or where a probe raises no event.

    Raises `OSError` where the root can't be watched or the allowance of watches is used up.
    """
    if sys.platform != "linux":
        return _Observed(Observer(), root, listener, ignored)
    folders = _InotifyFolders(root, listener, ignored)
    try:
        if not folders.probe(probe_s):
            folders.stop()
            return None
        folders.start()
    except OSError:
        folders.stop()
        raise
    return folders


def polled_events(root: str, listener: Listener, ignored: Ignored, interval_s: float) -> Source:
    """Look at the whole folder every `interval_s` seconds."""

    def listing(path: str | None) -> Iterator[os.DirEntry[str]]:
        with os.scandir(path) as entries:
            yield from (entry for entry in entries if not (entry.is_dir() and ignored(entry.path)))

    return _Observed(PollingObserverVFS(os.stat, listing, polling_interval=interval_s), root, listener, ignored)


def is_remote(root: str, mounts: str = "/proc/self/mountinfo") -> bool:
    """Whether the root lies on a file system that other machines can change behind this kernel's back."""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as table:
            rows = [line.split() for line in table]
    except OSError:
        return False
    best, kind = "", ""
    path = os.path.realpath(root)
    for row in rows:
        point = row[4].encode("utf-8", "surrogateescape").decode("unicode_escape") if "\\" in row[4] else row[4]
        if (path == point or path.startswith(point.rstrip("/") + "/")) and len(point) >= len(best):
            best, kind = point, row[row.index("-") + 1]
    return kind in REMOTE or (kind.startswith("fuse.") and kind not in {"fuse.fuse-overlayfs", "fuse.lxcfs"})


class _InotifyFolders:
    """One inotify watch per folder that isn't ignored."""

    def __init__(self, root: str, listener: Listener, ignored: Ignored) -> None:
        from watchdog.observers.inotify_c import CallbackId, InotifyConstants, InotifyFD, Mask

        self._root = root
        self._listener = listener
        self._ignored = ignored
        self._id = CallbackId(id(self))
        self._constants = InotifyConstants
        self._mask = Mask(
            InotifyConstants.IN_CREATE
            | InotifyConstants.IN_MODIFY
            | InotifyConstants.IN_CLOSE_WRITE
            | InotifyConstants.IN_ATTRIB
            | InotifyConstants.IN_MOVED_FROM
            | InotifyConstants.IN_MOVED_TO
            | InotifyConstants.IN_DELETE
            | InotifyConstants.IN_DELETE_SELF
            | InotifyConstants.IN_MOVE_SELF
            | InotifyConstants.IN_ONLYDIR
        )
        self._lock = threading.RLock()
        self._path_of: dict[int, str] = {}
        self._watch_of: dict[str, int] = {}
        self._stopped = False
        self._fd = InotifyFD()
        self._fd.start()

    def probe(self, timeout_s: float) -> bool:
        """Whether opening the root raises an event. (Librarian never writes below it, so it doesn't leave a file.)"""
        from watchdog.observers.inotify_c import CallbackId, Mask

        probe = _Probe()
        probe_id = CallbackId(id(probe))
        mask = Mask(self._constants.IN_OPEN | self._constants.IN_ONLYDIR)
        watch = self._fd.add_callback(os.fsencode(self._root), mask, probe, probe_id)
        with os.scandir(self._root):
            pass
        heard = probe.heard.wait(timeout_s)
        self._fd.remove_callbacks([(watch, probe_id)])
        return heard

    def start(self) -> None:
        self._watch_below(self._root)

    def stop(self) -> None:
        self._stopped = True
        self._fd.stop()
        self._fd.join()

    # -- watchdog's callbacks, in its thread -----------------------------------------------------------------------

    def on_event(self, event: Any) -> None:
        folder = self._path_of.get(event.wd)
        if folder is None or self._stopped:
            return
        name: bytes = event.name
        mask: int = event.mask
        is_self = mask & (self._constants.IN_DELETE_SELF | self._constants.IN_MOVE_SELF)
        if not name:
            if folder == self._root and is_self:
                self._listener.gone(f"{self._root} was moved or deleted.")
            elif folder == self._root and mask & self._constants.IN_ATTRIB:
                self._listener.changed(folder)  # perhaps it can be looked into again
            return
        if folder != self._root and self._ignored(folder):  # it has become one that is, as by its `pyvenv.cfg`
            self._forget_below(folder)
            self._listener.changed(folder)
            return
        path = os.path.join(folder, os.fsdecode(name))
        if mask & self._constants.IN_ISDIR:
            if self._ignored(path):
                return
            if mask & (self._constants.IN_DELETE | self._constants.IN_MOVED_FROM):
                self._forget_below(path)
            elif mask & (self._constants.IN_CREATE | self._constants.IN_MOVED_TO | self._constants.IN_ATTRIB):
                if not mask & self._constants.IN_ATTRIB:
                    self._forget_below(path)
                try:
                    self._watch_below(path)  # also where it can be looked into only now
                except OSError as error:
                    self._listener.gone(f"{path} can't be watched: {error.strerror or error}.")
            else:
                return
        self._listener.changed(path)

    def on_watch_deleted(self, wd: int) -> None:
        with self._lock:
            path = self._path_of.pop(wd, None)
            if path is not None and self._watch_of.get(path) == wd:
                del self._watch_of[path]
        if path == self._root and not self._stopped:
            self._listener.gone(f"{self._root} can't be watched any more, as where a volume was unmounted.")

    def on_queue_overflow(self) -> None:
        if self._stopped:
            return
        try:
            self._watch_below(self._root)
        except OSError as error:
            self._listener.gone(f"{self._root} can't be watched: {error.strerror or error}.")
        self._listener.lost(f"The kernel dropped news of changes below {self._root}: too many came at once.")

    # -- watches ---------------------------------------------------------------------------------------------------

    def _watch_below(self, top: str) -> None:
        """Watch first, list afterwards: what comes in between is seen by one of the two."""
        stack = [top]
        while stack:
            folder = stack.pop()
            if not self._watch(folder):
                continue
            try:
                with os.scandir(folder) as entries:
                    stack.extend(
                        entry.path
                        for entry in entries
                        if entry.is_dir(follow_symlinks=False) and not self._ignored(entry.path)
                    )
            except OSError as error:
                logger.info("can't look into %s: %s", folder, error)

    def _watch(self, folder: str) -> bool:
        with self._lock:
            if folder in self._watch_of:
                return True
            try:
                watch = self._fd.add_callback(os.fsencode(folder), self._mask, self, self._id)
            except FileNotFoundError:
                if folder == self._root:
                    raise
                return False
            except NotADirectoryError:
                return False
            except OSError as error:
                if error.errno != errno.ENAMETOOLONG:
                    raise
                return False  # nothing in it can be opened either
            if watch == -1:  # no permission
                return False
            self._path_of[watch] = folder
            self._watch_of[folder] = watch
            return True

    def _forget_below(self, top: str) -> None:
        with self._lock:
            below = [path for path in self._watch_of if path == top or path.startswith(top + os.sep)]
            watches = [self._watch_of.pop(path) for path in below]
            for watch in watches:
                self._path_of.pop(watch, None)
        self._fd.remove_callbacks([(watch, self._id) for watch in watches])


class _Probe:
    def __init__(self) -> None:
        self.heard = threading.Event()

    def on_event(self, event: object) -> None:
        self.heard.set()

    def on_watch_deleted(self, wd: int) -> None: ...

    def on_queue_overflow(self) -> None: ...


class _Observed(FileSystemEventHandler):  # type: ignore[misc]  # watchdog is untyped
    """A watchdog observer as a source."""

    def __init__(self, observer: Observer, root: str, listener: Listener, ignored: Ignored) -> None:
        self._observer = observer
        self._root = root
        self._listener = listener
        self._ignored = ignored
        observer.schedule(self, root, recursive=True)
        observer.start()

    def stop(self) -> None:
        self._observer.stop()
        self._observer.join()

    def on_any_event(self, event: FileSystemEvent) -> None:
        if event.event_type not in {"created", "modified", "moved", "deleted", "attrib"}:
            return
        if event.is_directory and event.event_type in {"modified", "attrib"}:
            return  # says only that something in it changed, which has an event of its own
        for path in map(os.fsdecode, filter(None, (event.src_path, event.dest_path))):
            if path == self._root:
                if event.event_type in {"deleted", "moved"}:
                    self._listener.gone(f"{self._root} was moved or deleted.")
            elif not self._below_ignored(path):
                self._listener.changed(path)

    def _below_ignored(self, path: str) -> bool:
        folder = os.path.dirname(path)
        while len(folder) > len(self._root):
            if self._ignored(folder):
                return True
            folder = os.path.dirname(folder)
        return False
