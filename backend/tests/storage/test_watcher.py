"""What the watcher promises.

* Files and folders that come, change, move or go are told by absolute path; reading tells nothing.
* A burst is told once, after it is quiet, and at the latest after twice the debounce.
* Folders made after the start are watched too; ignored folders aren't watched at all.
* Where the kernel reports nothing, the root is told from time to time.
* Lost events and a lost root are noticed, and a root that comes back, or becomes another folder, is watched again.
* `stop` leaves no thread.
"""

from __future__ import annotations

import os
import queue
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from librarian.files.paths import left_out_folder
from librarian.indexing import watcher as watcher_module
from librarian.indexing.watcher import FileWatcher, is_remote
from tests.storage.library import watching

PATIENCE_S = 120.0  #: matters only where something is wrong


class Reported:
    """Collects what was told, and waits for more."""

    def __init__(self) -> None:
        self.batches: queue.Queue[frozenset[str]] = queue.Queue()
        self.seen: set[str] = set()

    def until(self, *paths: Path) -> set[str]:
        wanted = {str(path) for path in paths}
        deadline = time.monotonic() + PATIENCE_S
        while not wanted <= self.seen:
            self.seen |= self.batches.get(timeout=max(0.01, deadline - time.monotonic()))
        seen, self.seen = self.seen, set()
        return seen


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "library" / "ray" / "core").mkdir(parents=True)
    (tmp_path / "library" / "ray" / "core" / "a.md").write_text("alpha")
    return tmp_path / "library"


@pytest.fixture
def told() -> Reported:
    return Reported()


@pytest.fixture
def watcher(root: Path, told: Reported) -> Iterator[FileWatcher]:
    if sys.platform != "linux":
        pytest.skip("the kernel's own events are tested on Linux")
    with watching(FileWatcher(root, told.batches.put, debounce_ms=30, retry_s=0.05)) as made:
        assert made.how == "events"
        yield made


def test_where_the_kernel_reports_nothing_the_root_is_told(
    root: Path, told: Reported, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher_module, "is_remote", lambda _: True)
    with watching(FileWatcher(root, told.batches.put, debounce_ms=10, poll_s=0.05)) as watcher:
        assert watcher.how == "polling"
        for _ in range(3):
            told.until(root)


def test_a_file_that_comes_changes_moves_and_goes_is_told(watcher: FileWatcher, root: Path, told: Reported) -> None:
    path = root / "ray" / "core" / "b.md"
    path.write_text("beta")
    told.until(path)
    path.write_text("beta, changed")
    told.until(path)
    moved = root / "ray" / "c.md"
    path.rename(moved)
    told.until(path, moved)
    moved.unlink()
    told.until(moved)


def test_a_renamed_folder_is_told_by_both_names_and_watched_under_the_new_one(
    watcher: FileWatcher, root: Path, told: Reported
) -> None:
    (root / "ray" / "core").rename(root / "ray" / "data")
    told.until(root / "ray" / "core", root / "ray" / "data")
    path = root / "ray" / "data" / "a.md"
    path.write_text("alpha, changed")
    told.until(path)


def test_a_file_in_a_folder_made_later_is_told(watcher: FileWatcher, root: Path, told: Reported) -> None:
    deep = root / "tune" / "x" / "y"
    deep.mkdir(parents=True)
    told.until(root / "tune")
    (deep / "z.md").write_text("zeta")
    told.until(deep / "z.md")
    shutil.rmtree(root / "tune")
    told.until(root / "tune")


def test_reading_and_ignored_folders_tell_nothing(watcher: FileWatcher, root: Path, told: Reported) -> None:
    ignored = root / "ray" / "node_modules"
    ignored.mkdir()
    (ignored / "x.md").write_text("never told")
    (root / "ray" / "core" / "a.md").read_text()
    list(root.rglob("*"))
    last = root / "ray" / "last.md"
    last.write_text("told")
    assert not [path for path in told.until(last) if "node_modules" in path or path.endswith("a.md")]


def test_a_root_that_goes_is_said_and_watched_again_when_it_is_back(
    watcher: FileWatcher, root: Path, told: Reported
) -> None:
    away = root.with_name("away")
    root.rename(away)
    told.until(root)
    wait_for(lambda: watcher.error == f"{root} can't be watched: No such file or directory.")
    away.rename(root)
    told.until(root)
    wait_for(lambda: not watcher.error and watcher.how != "off")
    path = root / "ray" / "core" / "new.md"
    path.write_text("new")
    told.until(path)


@pytest.mark.parametrize("linked", [True, False])
def test_a_root_that_becomes_another_folder_is_watched_anew(linked: bool, tmp_path: Path, told: Reported) -> None:
    for release in ("one", "two"):
        (tmp_path / release / "docs" / "ray").mkdir(parents=True)
    current = tmp_path / "current"
    if linked:
        current.symlink_to(tmp_path / "one")
    else:
        (tmp_path / "one").rename(current)
    with watching(FileWatcher(current / "docs", told.batches.put, debounce_ms=30, retry_s=0.05)):
        if linked:
            (tmp_path / "next").symlink_to(tmp_path / "two")
            (tmp_path / "next").replace(current)
        else:
            current.rename(tmp_path / "before")
            (tmp_path / "two").rename(current)
        told.until(current / "docs")
        path = current / "docs" / "ray" / "new.md"
        path.write_text("new")
        told.until(path)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own events are tested on Linux")
def test_a_folder_whose_path_is_too_long_costs_the_others_nothing(root: Path, told: Reported) -> None:
    folder = os.open(root, os.O_RDONLY)
    for _ in range(50):
        os.mkdir("deep" * 25, dir_fd=folder)
        above, folder = folder, os.open("deep" * 25, os.O_RDONLY, dir_fd=folder)
        os.close(above)
    os.close(folder)
    with watching(FileWatcher(root, told.batches.put, debounce_ms=30)) as watcher:
        assert watcher.how == "events"
        path = root / "ray" / "core" / "new.md"
        path.write_text("new")
        told.until(path)


def test_a_root_whose_permissions_change_is_looked_at(root: Path, told: Reported) -> None:
    if sys.platform != "linux":
        pytest.skip("the kernel's own events are tested on Linux")
    with watching(FileWatcher(root, told.batches.put, debounce_ms=30)):
        root.chmod(0o711)
        told.until(root)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own events are tested on Linux")
def test_a_folder_that_may_be_looked_into_only_later_is_watched_then(
    root: Path, told: Reported, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, scan = root / "ray" / "core", os.scandir

    def scan_where_permitted(path: str) -> object:
        if path == str(closed) and not closed.stat().st_mode & 0o004:
            raise PermissionError(13, "Permission denied")  # to root nothing is closed
        return scan(path)

    closed.chmod(0o700)
    monkeypatch.setattr(os, "scandir", scan_where_permitted)
    with watching(FileWatcher(root, told.batches.put, debounce_ms=30)):
        closed.chmod(0o755)
        told.until(closed, root)
        (closed / "a.md").write_text("alpha, changed")
        told.until(closed / "a.md")


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes on Linux")
def test_names_that_are_not_utf8_are_noticed(root: Path, told: Reported) -> None:
    with watching(FileWatcher(root, told.batches.put, debounce_ms=30, retry_s=0.05)) as watcher:
        assert watcher.how == "events"
        for path in (os.fsencode(root) + b"/ray/\xff.md", os.fsencode(root) + b"/\xff.md"):
            with open(path, "w") as file:
                file.write("new")
            while not {os.fsencode(found) for found in told.batches.get(timeout=PATIENCE_S)} & {
                path,
                os.fsencode(root),
            }:
                pass


def test_a_root_that_is_not_there_yet_is_watched_once_it_is(tmp_path: Path, told: Reported) -> None:
    root = tmp_path / "later"
    with watching(FileWatcher(root, told.batches.put, debounce_ms=20, retry_s=0.05)) as watcher:
        assert watcher.error
        assert watcher.how == "off"
        root.mkdir()
        told.until(root)
        assert watcher.error == ""


def test_a_burst_is_told_once_when_it_is_quiet(root: Path, told: Reported) -> None:
    with watching(FileWatcher(root, told.batches.put, debounce_ms=300)):
        for n in range(20):
            (root / f"{n}.md").write_text("x")
        assert {str(root / f"{n}.md") for n in range(20)} <= told.batches.get(timeout=PATIENCE_S)
        assert told.batches.empty()


def test_changes_without_end_are_told_after_twice_the_debounce(root: Path, told: Reported) -> None:
    with watching(FileWatcher(root, told.batches.put, debounce_ms=500)):
        started = time.monotonic()
        while told.batches.empty():
            (root / "busy.md").write_text("x")
            assert time.monotonic() - started < PATIENCE_S
            threading.Event().wait(0.01)
        assert time.monotonic() - started >= 0.9


def test_a_listener_that_fails_is_logged_and_told_again_the_next_time(
    root: Path, told: Reported, caplog: pytest.LogCaptureFixture
) -> None:
    def fail_once(paths: frozenset[str]) -> None:
        if told.batches.empty():
            told.batches.put(paths)
            raise RuntimeError("not today")
        told.batches.put(paths)

    with watching(FileWatcher(root, fail_once, debounce_ms=10)):
        (root / "one.md").write_text("x")
        wait_for(lambda: not told.batches.empty())
        (root / "two.md").write_text("x")
        wait_for(lambda: told.batches.qsize() >= 2)
    assert "reporting 1 changes failed" in caplog.text


def test_very_many_changes_at_once_mean_the_whole_folder(
    root: Path, told: Reported, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher_module, "_MOST_PATHS", 50)
    with watching(FileWatcher(root, told.batches.put, debounce_ms=500)):
        for number in range(500):
            (root / f"{number}.md").touch()
        told.until(root)


def test_a_used_up_allowance_of_watches_means_polling(
    root: Path, told: Reported, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("OS file watch limit reached. about [/x]")

    monkeypatch.setattr(watcher_module, "watch", refuse)
    with watching(FileWatcher(root, told.batches.put, debounce_ms=10, poll_s=0.05)) as watcher:
        assert watcher.how == "polling"
        assert watcher.note == (
            "The whole folder is looked at every 0.05 s: OS file watch limit reached."
            " Raise fs.inotify.max_user_watches (with sysctl) and start again."
        )
        told.until(root)


def test_stop_joins_all_threads(root: Path, told: Reported, monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(threading.enumerate())
    for remote in (False, True):
        monkeypatch.setattr(watcher_module, "is_remote", lambda _, remote=remote: remote)
        watcher = FileWatcher(root, told.batches.put)
        watcher.start()
        watcher.start()
        watcher.stop()
        watcher.stop()
    assert set(threading.enumerate()) == before


def test_a_network_file_system_is_known_by_its_mount(monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = {"/": "ext4", "/srv/with space": "nfs4", "/srv/with space/local": "ext4", "/srv/ssh": "fuse.sshfs"}
    found = [SimpleNamespace(mountpoint=place, fstype=kind) for place, kind in mounts.items()]
    monkeypatch.setattr(psutil, "disk_partitions", lambda **_: found)
    assert is_remote("/srv/with space/docs")
    assert is_remote("/srv/ssh")
    assert not is_remote("/srv/with space/local/docs")
    assert not is_remote("/srv/with spaces")
    found.clear()
    assert not is_remote(os.sep)


@pytest.mark.parametrize("name", [".git", ".venv", "node_modules", "__pycache__"])
def test_hidden_folders_and_those_of_package_managers_are_left_out_folder(name: str) -> None:
    assert left_out_folder(f"/x/{name}")
    assert not left_out_folder("/x/guide")


@pytest.mark.parametrize("name", ["venv", "site-packages"])
def test_a_folder_that_is_only_named_like_a_virtual_environment_is_watched(
    watcher: FileWatcher, root: Path, told: Reported, name: str
) -> None:
    folder = root / "python" / name
    folder.mkdir(parents=True)
    told.until(root / "python")
    (folder / "creation.md").write_text("How an environment is made.")
    told.until(folder / "creation.md")


def test_a_folder_that_becomes_a_virtual_environment_is_told_once_and_no_longer_watched(
    watcher: FileWatcher, root: Path, told: Reported
) -> None:
    inner = root / "ray" / "env" / "lib"
    inner.mkdir(parents=True)
    told.until(root / "ray" / "env")
    (root / "ray" / "env" / "pyvenv.cfg").write_text("version = 3.12")
    told.seen |= told.batches.get(timeout=PATIENCE_S)
    (inner / "package").mkdir()
    (inner / "package" / "readme.md").write_text("never told")
    (root / "ray" / "last.md").write_text("told")
    assert not [path for path in told.until(root / "ray" / "last.md") if "package" in path]


def test_an_index_below_the_root_is_not_watched(tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    assert not left_out_folder(str(tmp_path / "index"))
    (tmp_path / "index" / "daemon.lock").touch()
    assert left_out_folder(str(tmp_path / "index"))


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.005)
