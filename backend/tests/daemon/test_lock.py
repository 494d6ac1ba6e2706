"""Properties of lock and address:

* One holder at a time; the lock is free once its holder lets go or dies, and a forked child doesn't keep it.
* A folder that can't be locked is named with the next step.
* An address is read whole or not at all; one too long for a socket lies elsewhere; a dead one leads nowhere.
"""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

import librarian
from librarian.daemon import address
from librarian.daemon.address import Address, ping
from librarian.daemon.client import acquire_index, connect, shut_down_daemon
from librarian.daemon.discovery import Library
from librarian.errors import SetupError, Unavailable
from librarian.files.lock import FolderLock, Holder
from tests.daemon.processes import BACKEND, PATIENCE_S, daemon_of, until


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    first, second = FolderLock(tmp_path / "new" / "index"), FolderLock(tmp_path / "new" / "index")
    assert first.holder() is None
    assert first.acquire(version="1.2")
    assert first.acquire()
    assert not second.acquire()
    assert not second.acquire(timeout_s=0.05)
    assert first.holder() == second.holder() == Holder(os.getpid(), "1.2")
    first.release()
    first.release()
    assert second.holder() is None
    assert second.acquire()
    assert second.stands
    second.release()


def test_a_lock_whose_folder_was_moved_away_guards_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(path: object) -> os.stat_result:
        raise OSError(errno.EIO, "Input/output error")

    lock, next_one = FolderLock(tmp_path / "index"), FolderLock(tmp_path / "index")
    assert not lock.stands
    assert lock.acquire()
    assert lock.stands
    with monkeypatch.context() as failing:
        failing.setattr(os, "stat", fails)
        assert lock.stands, "a disk that fails for a moment moves nothing"
    (tmp_path / "index").rename(tmp_path / "moved")
    assert not lock.stands
    assert next_one.acquire()
    assert not lock.stands
    assert next_one.stands
    next_one.release()
    lock.release()


def test_waiting_for_the_lock_gets_it_when_it_is_free(tmp_path: Path) -> None:
    first, second = FolderLock(tmp_path), FolderLock(tmp_path)
    first.acquire()
    got: list[bool] = []
    thread = threading.Thread(target=lambda: got.append(second.acquire(timeout_s=PATIENCE_S)))
    thread.start()
    first.release()
    thread.join(PATIENCE_S)
    assert got == [True]
    second.release()


def test_the_lock_is_free_when_its_holder_was_killed(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from librarian.files.lock import FolderLock\n"
        "assert FolderLock(Path(sys.argv[1])).acquire(version='x'); print('held', flush=True); sys.stdin.read()"
    )
    lock = FolderLock(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(BACKEND)},
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        assert lock.holder() == Holder(child.pid, "x")
        assert not lock.acquire()
        child.kill()
    assert lock.acquire(timeout_s=PATIENCE_S)
    lock.release()


def test_a_forked_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    """In a process of its own, because this one has threads."""
    code = (
        "import os, sys; from pathlib import Path; from librarian.files.lock import FolderLock\n"
        "lock = FolderLock(Path(sys.argv[1])); assert lock.acquire(); reading, writing = os.pipe()\n"
        "child = os.fork()\n"
        "if child == 0: os.close(writing); os.read(reading, 1); os._exit(0)\n"
        "lock.release(); assert FolderLock(Path(sys.argv[1])).acquire(timeout_s=10)\n"
        "os.close(writing); os.waitpid(child, 0)"
    )
    environ = {**os.environ, "PYTHONPATH": str(BACKEND)}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=PATIENCE_S, env=environ)


def test_a_folder_that_cannot_be_made_is_named_with_the_next_step(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError, match=r"file/index.*INDEX_PATH"):
        FolderLock(tmp_path / "file" / "index").acquire()


def test_a_lock_file_without_a_name_still_has_a_holder(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    lock.acquire()
    lock.path.write_text("nonsense")
    assert FolderLock(tmp_path).holder() == Holder(0, "")
    lock.release()


# -- addresses -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": 1, "version": "1", "colour": "red"}', "{}"])
def test_an_address_that_is_not_one_counts_as_none(tmp_path: Path, content: str) -> None:
    (tmp_path / address.ADDRESS).write_text(content)
    assert address.read(tmp_path) is None
    assert daemon_of(tmp_path) is None


def listening(index: Path) -> tuple[socket.socket, Address]:
    """A socket of that folder, and its address, not yet published."""
    server, path = address.listen(index)
    return server, Address(os.getpid(), "1", path)


def reach(where: Address) -> None:
    """Fails where nobody listens at the address."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(where.path)


def test_a_socket_whose_path_would_be_too_long_lies_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = tmp_path / ("long" * 30)
    index.mkdir()
    server, where = listening(index)
    address.publish(index, where)
    try:
        assert len(where.path) <= address.LONGEST_PATH
        assert not where.path.startswith(str(index))
        assert address.read(index) == where
        reach(where)
        server.close()  # as a kill does
        server, following = listening(index)
        assert not Path(where.path).parent.exists()
        assert Path(following.path).exists()
        address.publish(index, following)
        address.withdraw(index, following)
        assert not Path(following.path).parent.exists()
        assert address.read(index) is None
        server.close()
        monkeypatch.setattr(tempfile, "tempdir", str(index))
        server, where = listening(index)
        reach(where)
        assert where.path.startswith("/tmp/")
        assert not list(index.iterdir())
        address.withdraw(index, where)
    finally:
        server.close()


def test_withdrawing_leaves_another_daemons_address_alone(tmp_path: Path) -> None:
    server, old = listening(tmp_path)
    server.close()
    new = old._replace(pid=old.pid + 1)
    address.publish(tmp_path, new)
    address.withdraw(tmp_path, old)
    assert address.read(tmp_path) == new


@pytest.mark.parametrize("name", ["index", "index" * 20])  # a socket lies elsewhere where its path is too long
def test_a_copy_of_an_index_folder_does_not_lead_to_the_daemon_of_the_first(tmp_path: Path, name: str) -> None:
    first, copy, link = tmp_path / name, tmp_path / "copy", tmp_path / "link"
    first.mkdir()
    server, where = listening(first)
    address.publish(first, where)
    copy.mkdir()
    (copy / address.ADDRESS).write_bytes((first / address.ADDRESS).read_bytes())
    link.symlink_to(first)
    assert address.read(first) == address.read(link) == where
    assert address.read(copy) is None
    address.withdraw(first, where)
    server.close()


def test_withdrawing_leaves_a_socket_alone_that_another_daemon_has_made_in_its_place(tmp_path: Path) -> None:
    before, old = listening(tmp_path)
    after, new = listening(tmp_path)
    address.publish(tmp_path, new._replace(pid=old.pid + 1))
    address.withdraw(tmp_path, old)
    reach(new)
    before.close()
    after.close()


def test_a_dead_address_leads_nowhere(tmp_path: Path) -> None:
    server, where = listening(tmp_path)
    address.publish(tmp_path, where)
    server.close()
    assert daemon_of(tmp_path) is None
    assert not shut_down_daemon(tmp_path)
    with pytest.raises(ConnectionRefusedError):
        ping(where)


def test_what_answers_otherwise_is_named(tmp_path: Path) -> None:
    server, where = listening(tmp_path)

    def answer() -> None:
        connection, _ = server.accept()
        connection.sendall(b"220 mail.example.org ESMTP\r\n")
        connection.close()

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        with pytest.raises(Unavailable, match="no daemon of this program"):
            ping(where)
    finally:
        thread.join(PATIENCE_S)
        server.close()


# -- taking over ---------------------------------------------------------------------------------------------------


def test_taking_over_ends_the_daemon_and_holds_its_lock(library: Library, index: Path) -> None:
    connect(library)
    first = address.read(index)
    assert first is not None
    lock = acquire_index(index)
    try:
        assert lock.holder() == Holder(os.getpid(), librarian.__version__)
        assert address.read(index) is None
        assert daemon_of(index) is None
    finally:
        lock.release()


def test_a_holder_that_does_not_let_go_is_named(index: Path) -> None:
    lock = FolderLock(index)
    lock.acquire(version="1")
    try:
        with pytest.raises(SetupError, match=f"{os.getpid()}"):
            acquire_index(index, timeout_s=0.1)
    finally:
        lock.release()


def test_a_free_folder_is_taken_at_once(index: Path) -> None:
    lock = acquire_index(index)
    assert lock.stands
    lock.release()
    until(lambda: lock.holder() is None, "letting go")


def test_a_daemon_runs_nothing_that_lies_in_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "argparse.py").write_text("raise SystemExit(99)", "utf-8")
    source = str(Path(librarian.__file__).resolve().parents[1])
    done = subprocess.run(
        [*Library(tmp_path).program, "--help"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
