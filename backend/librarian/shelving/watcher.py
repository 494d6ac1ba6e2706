"""Notices what changes below the root, and says so once it is quiet again.

It only says *where* to look; what a change means is decided by looking at the files (`FileIndexer.refresh`). Watchers
miss things, so the indexer also looks at everything from time to time.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

from librarian.vocabulary.left_out import left_out_folder

from .folder_events import Source, is_remote, kernel_events, polled_events

logger = logging.getLogger(__name__)

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
