"""Folders that Librarian makes:

* A folder that isn't empty and carries no mark is refused and stays as it is, whatever its files are called.
* What is set aside gets a name that nobody has, and one copy of Librarian's own is kept.
* Folders are closed to other users.
"""

from __future__ import annotations

import json
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from librarian.errors import SetupError
from librarian.files.lock import FolderLock
from librarian.files.owned_folder import MARK, claim_index, quarantine
from librarian.files.paths import left_out_folder
from librarian.storage.catalog import SqliteCatalog


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def foreign_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE documents (id INTEGER)")
    connection.close()


@pytest.mark.parametrize(
    "name", ["letter.txt", "catalog.sqlite", "daemon.lock", "keyword/meta.json", "vectors.sqlite", MARK + ".txt", MARK]
)
def test_a_folder_of_somebody_elses_is_refused_and_stays_as_it_is(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text('{"my": "own"}')
    (tmp_path / "thesis.txt").write_text("mine")
    tmp_path.chmod(0o755)
    before = content(tmp_path)
    with pytest.raises(SetupError, match=rf"{tmp_path} isn't empty and Librarian didn't make it.*--index"):
        claim_index(tmp_path)
    assert content(tmp_path) == before
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_a_database_of_another_program_is_no_proof(tmp_path: Path) -> None:
    foreign_database(tmp_path / "catalog.sqlite")
    with pytest.raises(SetupError, match="didn't make it"):
        claim_index(tmp_path)


def test_the_output_of_a_server_may_lie_in_a_new_index_folder_and_stays(tmp_path: Path) -> None:
    (tmp_path / "serve.out").write_text("started")
    claim_index(tmp_path)
    assert (tmp_path / "serve.out").read_text() == "started"


def test_what_file_systems_and_version_control_leave_in_an_empty_folder_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    (tmp_path / ".gitignore").write_text("*")
    claim_index(tmp_path)
    assert json.loads((tmp_path / MARK).read_text())["kind"] == "index"


def test_an_index_of_an_earlier_version_is_known_by_its_catalog(tmp_path: Path) -> None:
    SqliteCatalog(tmp_path / "catalog.sqlite").close()
    tmp_path.chmod(0o755)
    claim_index(tmp_path)
    assert (tmp_path / MARK).exists()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_a_new_folder_is_private_whatever_the_umask_and_an_open_one_is_closed_again(tmp_path: Path) -> None:
    index = tmp_path / "index"
    claim_index(index)
    assert stat.S_IMODE(index.stat().st_mode) == 0o700
    index.chmod(0o755)
    claim_index(index)
    assert stat.S_IMODE(index.stat().st_mode) == 0o700


def test_what_lies_in_such_a_folder_is_no_document(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    assert left_out_folder(str(tmp_path / "p")) == ""
    claim_index(tmp_path / "p")
    assert left_out_folder(str(tmp_path / "p")) == "a library's index"


@pytest.mark.parametrize("name", ["daemon.log", "daemon.lock", "catalog.sqlite"])
def test_a_file_that_leads_out_of_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / ".bashrc").write_text("alias ll='ls -l'")
    index = tmp_path / "index"
    claim_index(index)
    (index / name).symlink_to(tmp_path / ".bashrc")
    with pytest.raises(SetupError, match=rf"{name} is a symbolic link"):
        FolderLock(index).acquire()
    assert (tmp_path / ".bashrc").read_text() == "alias ll='ls -l'"


def test_many_that_make_the_same_folder_at_once_all_get_it(tmp_path: Path) -> None:
    def make(number: int) -> bool:
        lock = FolderLock(tmp_path / "index", f"{number}.lock")
        taken = lock.acquire()
        lock.release()
        return taken

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(make, range(64)))


def test_what_is_set_aside_takes_no_ones_name_and_one_copy_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    (tmp_path / "catalog.sqlite.damaged").write_text("mine")
    (tmp_path / "catalog.sqlite.damaged-1").mkdir()
    (tmp_path / "catalog.sqlite.damaged-1" / "letter.txt").write_text("mine")
    for number, place in ((2, 2), (3, 3), (4, 2)):
        path.write_text(f"damaged {number}")
        assert quarantine(path).name == f"catalog.sqlite.damaged-{place}"
        assert not path.exists()
    assert {name: text for name, text in content(tmp_path).items() if MARK not in name} == {
        "catalog.sqlite.damaged": b"mine",
        "catalog.sqlite.damaged-1/letter.txt": b"mine",
        "catalog.sqlite.damaged-2/catalog.sqlite": b"damaged 4",
    }
