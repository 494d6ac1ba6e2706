"""Notices what changes below the root, and says so once it is quiet again.

It only says *where* to look; what a change means is decided by looking at the files (`FileIndexer.refresh`). Watchers
miss things, so the indexer also looks at everything from time to time.
"""

from __future__ import annotations

import errno
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.polling import PollingObserverVFS

from ..files.paths import left_out_folder

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


#: The kernel's allowances that can be used up, as `sysctl` names them.
_ALLOWANCES = {errno.ENOSPC: "fs.inotify.max_user_watches", errno.EMFILE: "fs.inotify.max_user_instances"}
_RETRY_S = 1.0  # a root that can't be watched is tried again that often; one that can is held against its name


def usually_ignored(folder: str) -> bool:
    """Folders that no library looks into; in an index indexing would tell of itself."""
    return bool(left_out_folder(folder))


class FileWatcher:
    """Calls `on_change` with absolute paths of what came, changed, moved or went; a folder's path means all below it.

    Changes are gathered until nothing happened for `debounce_ms`, at most twice that from the first. `on_lost` is
    called with a sentence where events were dropped, and `on_change` with the root itself: look at everything. Folders
    that are `usually_ignored` aren't watched. Reading files never fires.

    A root that becomes another folder, as a link that is set anew or a folder whose parent is replaced, is watched
    anew.

    Where the kernel tells nothing (a probe stays unanswered, the folder lies on a network file system, the allowance
    of watches is used up), the folder is looked at every `poll_s` seconds; `polling` forces or forbids that.
    """

    def __init__(
        self,
        root: Path | str,
        on_change: Callable[[frozenset[str]], None],
        *,
        debounce_ms: float = 1000,
        on_lost: Callable[[str], None] | None = None,
        polling: bool | None = None,
        poll_s: float = 5.0,
        probe_s: float = 2.0,
        retry_s: float = _RETRY_S,
    ) -> None:
        self._root = os.path.abspath(root)
        self._on_change = on_change
        self._quiet_s = debounce_ms / 1000
        self._on_lost = on_lost
        self._polling = polling
        self._poll_s = poll_s
        self._probe_s = probe_s
        self._retry_s = retry_s
        self._news = threading.Condition()
        self._paths: set[str] = set()
        self._lost: list[str] = []
        self._first = 0.0
        self._last = 0.0
        self._problem = ""
        self._note = ""
        self._dropped = 0
        self._source: Source | None = None
        self._watched: tuple[int, int] | None = None
        self._how: Literal["events", "polling", "off"] = "off"
        self._stopping = False
        self._thread: threading.Thread | None = None

    @property
    def how(self) -> Literal["events", "polling", "off"]:
        """How changes are noticed now."""
        return self._how

    def problem(self) -> str:
        """Why nothing is noticed now, in a sentence; empty where all is well."""
        return self._problem

    def note(self) -> str:
        """Why the folder is polled although the kernel could tell of its changes, or how often that has lost some, and
        what helps; else empty."""
        if self._how == "polling":
            return self._note
        if not self._dropped:
            return ""
        times = "once" if self._dropped == 1 else f"{self._dropped:,} times"
        return (
            f"The kernel dropped news of changes {times} since the start, as too many came at once; the whole folder"
            " was looked at instead. Where that is often, raise fs.inotify.max_queued_events (with sysctl) and start"
            " again."
        )

    def start(self) -> None:
        """Begin to watch; where the root isn't there yet, as soon as it is."""
        if self._thread is not None:
            return
        self._stopping = False
        self._arm()
        thread = threading.Thread(target=self._run, name="file-watcher", daemon=True)
        thread.start()
        self._thread = thread

    def stop(self) -> None:
        """End watching; joins all threads. Changes not yet told are dropped."""
        with self._news:
            self._stopping = True
            self._news.notify_all()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        self._disarm()

    def __enter__(self) -> FileWatcher:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # -- told by the source ----------------------------------------------------------------------------------------

    def changed(self, path: str) -> None:
        """A source's news; not for callers."""
        with self._news:
            self._last = time.monotonic()
            if not self._paths:
                self._first = self._last
            self._paths.add(path)
            self._news.notify_all()

    def lost(self, reason: str) -> None:
        """A source's news; not for callers."""
        logger.warning("%s The whole folder is looked at.", reason)
        with self._news:
            self._lost.append(reason)
            self._dropped += 1
        self.changed(self._root)

    def gone(self, reason: str) -> None:
        """A source's news; not for callers."""
        with self._news:
            if not self._problem:
                logger.warning("%s It is watched again once it can be.", reason)
            self._problem = reason
            self._lost.append(reason)
        self.changed(self._root)

    # -- in the watcher's own thread -------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._news:
                if self._stopping:
                    return
                due = self._due()
                if due > 0:
                    self._news.wait(min(due, self._retry_s))
                    due = self._due()
                if self._stopping:
                    return
                paths, lost = frozenset[str](), list[str]()
                if due <= 0:
                    paths, self._paths = frozenset(self._paths), set()
                    lost, self._lost = self._lost, []
            if self._how == "events" and _folder(self._root) not in (None, self._watched):
                self.gone(f"{self._root} is another folder now.")
            if self._problem:
                self._disarm()
                if self._arm():
                    paths |= {self._root}
            self._tell(paths, lost)

    def _due(self) -> float:
        """Seconds until the gathered changes are to be told."""
        if not self._paths:
            return threading.TIMEOUT_MAX
        return min(self._last + self._quiet_s, self._first + 2 * self._quiet_s) - time.monotonic()

    def _tell(self, paths: frozenset[str], lost: list[str]) -> None:
        try:
            for reason in lost:
                if self._on_lost is not None:
                    self._on_lost(reason)
            if paths:
                self._on_change(paths)
        except Exception:
            logger.exception("telling %d changes failed", len(paths))

    def _arm(self) -> bool:
        """Start a source; False where the root can't be watched now."""
        self._problem = self._note = ""  # first, because a source may have bad news at once
        self._watched = _folder(self._root)
        try:
            if self._polling is not True and (self._polling is False or not is_remote(self._root)):
                try:
                    self._source = kernel_events(self._root, self, usually_ignored, self._probe_s)
                except OSError as error:
                    if self._polling is False or not os.path.isdir(self._root):
                        raise
                    logger.warning("%s is looked at every %g s: %s", self._root, self._poll_s, error)
                    self._note = self._polled_for(error)
                self._how = "events"
            if self._source is None:
                if self._polling is False:
                    raise OSError("the kernel tells nothing about it")
                self._source = polled_events(self._root, self, usually_ignored, self._poll_s)
                self._how = "polling"
        except OSError as error:
            self._problem = f"{self._root} can't be watched: {error.strerror or error}."
            self._how = "off"
            return False
        return True

    def _polled_for(self, error: OSError) -> str:
        said = f"The whole folder is looked at every {self._poll_s:g} s: {error.strerror or error}."
        allowance = _ALLOWANCES.get(error.errno or 0)
        return f"{said} Raise {allowance} (with sysctl) and start again." if allowance else said

    def _disarm(self) -> None:
        source, self._source = self._source, None
        self._how = "off"
        if source is not None:
            source.stop()


class FileWatchers:
    """Several watchers as one: of the root, and of the folders that included files lie in."""

    def __init__(self, watchers: Sequence[FileWatcher]) -> None:
        self._watchers = tuple(watchers)

    def start(self) -> None:
        """Begin to watch."""
        for watcher in self._watchers:
            watcher.start()

    def stop(self) -> None:
        """End watching; joins all threads."""
        for watcher in self._watchers:
            watcher.stop()

    def problem(self) -> str:
        """Why nothing is noticed in some of the folders, in sentences; empty where all is well."""
        return _sentences(watcher.problem() for watcher in self._watchers)

    def note(self) -> str:
        """What the watchers note."""
        return _sentences(watcher.note() for watcher in self._watchers)


def _sentences(said: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(filter(None, said)))


def _folder(path: str) -> tuple[int, int] | None:
    """Which folder a path leads to; None where it leads nowhere. The kernel watches a folder, whatever its name."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
