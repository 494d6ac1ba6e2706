"""Whatever happens to the files of an index, the next start says so and makes it whole from what is left:

* any of catalog, keyword index, archive and Chroma folder may be cut off, overwritten or gone;
* text comes from the folder, vectors by hash from the archive: nothing is embedded again while that is there;
* damage that is met while a server runs is said by its health, and mended without anybody's doing;
* a disk that is full, read-only or somebody else's is refused in words, and what was there is still there afterwards.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from librarian.errors import Damaged, LibrarianError
from librarian.files.lock import FolderLock
from librarian.library import Librarian
from librarian.storage.catalog import SqliteCatalog
from librarian.storage.sqlite import SqliteDatabase
from librarian.vector_stores.base import VectorStore
from librarian.vector_stores.chroma import ChromaStore
from tests.reliability.killable import page
from tests.reliability.running import Running, until
from tests.storage.library import Library

BACKEND = Path(__file__).resolve().parents[2]


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    dice = random.Random(7)
    made = Library(tmp_path)
    for number in range(40):
        made.write(f"ray/core/{number}.md", page(dice))
    made.complete()
    yield made
    made.close()


def overwritten(path: Path) -> None:
    path.write_bytes(b"\x00garbage\xff" * 2000)


def cut_off(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def gone(path: Path) -> None:
    path.unlink()


def scratched(path: Path) -> None:
    """Every third page but the first is noise."""
    with path.open("r+b") as file:
        for start in range(8192, path.stat().st_size, 3 * 4096):
            file.seek(start)
            file.write(random.Random(start).randbytes(4096))


def settle(path: Path) -> None:
    """Bring everything from the log into the file itself, so that what is damaged is all there is."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def restart(library: Library) -> list[str]:
    """As a person would: start again where it says so. Returns what was said."""
    said: list[str] = []
    for _ in range(3):
        try:
            library.open()
            said.append(library.catalog.rescued)
            said += library.complete().notes
        except LibrarianError as error:
            said.append(str(error) if error.hint else f"no way out is named: {error}")
            library.close()
            continue
        return said
    raise AssertionError(f"it doesn't come back: {said}")


@pytest.mark.parametrize("harm", [overwritten, cut_off, emptied, gone, scratched])
def test_a_damaged_catalog_is_made_again_without_embedding(library: Library, harm: Callable[[Path], None]) -> None:
    calls = library.embedder.calls
    library.close()
    settle(library.index / "catalog.sqlite")
    harm(library.index / "catalog.sqlite")
    said = " ".join(restart(library))
    if harm in (overwritten, cut_off, scratched):
        assert "damaged" in said
        assert "made again from the files" in said
        assert (library.index / "catalog.sqlite.damaged-1" / "catalog.sqlite").exists()
    assert library.embedder.calls == calls
    library.assert_whole()


def test_damage_met_while_reading_is_remembered_for_the_next_start(library: Library) -> None:
    calls = library.embedder.calls
    library.close()
    settle(library.index / "catalog.sqlite")
    connection = sqlite3.connect(library.index / "catalog.sqlite")
    connection.execute("UPDATE texts SET text = x'00010203' WHERE doc_id = 3")
    connection.execute("PRAGMA integrity_check")
    connection.commit()
    connection.close()
    library.open()
    with library.catalog.read() as reader:
        path = reader.documents([3])[3].document.file_path
    with pytest.raises(Damaged, match="start it again"), library.catalog.read() as reader:
        reader.document_by_path(path)
    assert (library.index / "catalog.sqlite.suspect").exists()
    assert "start it again" in library.catalog.damage
    library.close()
    restart(library)
    library.assert_whole()
    assert library.embedder.calls == calls


def readable(asking: httpx.Client, path: str) -> bool:
    try:
        return asking.get("/api/document", params={"path": path}).status_code == 200
    except httpx.TransportError:  # a connection that was kept is closed when the library is opened anew
        return False


def test_damage_met_while_a_server_runs_is_said_and_mended_by_itself(tmp_path: Path) -> None:
    dice = random.Random(7)
    for number in range(30):
        path = tmp_path / "docs" / "ray" / "core" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(dice))
    running = Running(tmp_path, {"embeddings": {"enabled": False}})
    try:
        with httpx.Client(base_url=running.url(), timeout=120) as asking:
            until(lambda: asking.get("/health").json()["status"] == "ok", "the index")
            connection = sqlite3.connect(running.index / "catalog.sqlite")
            connection.execute("UPDATE texts SET text = x'00010203'")
            connection.commit()
            connection.close()
            answer = asking.get("/api/document", params={"path": "ray/core/3.md"})
            assert answer.status_code >= 500
            assert "damaged" in answer.text
            assert "Traceback" not in answer.text
            until(lambda: readable(asking, "ray/core/3.md"), "its mending")
            until(lambda: asking.get("/health").json()["status"] == "ok", "the index")
            assert asking.get("/health").json()["documents"] == 30
            assert any("set aside" in note for note in asking.get("/api/status").json()["notes"])
            shutil.rmtree(running.index)  # lock, address and log go with it
            until(lambda: FolderLock(running.index).holder() is not None, "the lock's renewal")
            until(lambda: readable(asking, "ray/core/3.md"), "its making")
            assert running.url() == str(asking.base_url)
        assert "opened anew" in running.said.read_text()
    finally:
        running.stop()
    assert running.process.returncode == 0


def read_by_a_new_connection(library: Librarian, catalog: SqliteCatalog, held: ExitStack) -> None:
    """Read a document while `held` keeps the open connections busy, which still see a file that was removed.

    One that a thread of the library's own is reading from comes back meanwhile: it is held too, and asked again.
    """
    for _ in range(100):
        database = catalog._database
        assert isinstance(database, SqliteDatabase)
        while database._idle:
            assert held.enter_context(catalog.read()).count().documents == 1
        library.get_document("ray/core/1.md")


@pytest.mark.parametrize("beside", [(), ("-wal", "-shm")])
def test_a_catalog_that_is_removed_under_a_library_is_noticed_and_made_anew(
    tmp_path: Path, beside: tuple[str, ...]
) -> None:
    (tmp_path / "docs" / "ray" / "core").mkdir(parents=True)
    (tmp_path / "docs" / "ray" / "core" / "1.md").write_text("# One\n\nA wombat.\n")
    options: dict[str, object] = {"embeddings.enabled": False, "docs.watch_for_changes": False}
    catalog = tmp_path / "index" / "catalog.sqlite"
    with Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", **options) as library:
        assert library.damage == ""
        for ending in ("", *beside):
            catalog.with_name(catalog.name + ending).unlink()
        assert "was removed while it was in use" in library.damage
        reading = library._parts.catalog
        assert isinstance(reading, SqliteCatalog)
        with ExitStack() as held:
            with pytest.raises(Damaged, match="start it again"):
                read_by_a_new_connection(library, reading, held)
            assert library.health().status == "degraded"
        health = library.health()
        assert health.status == "degraded"
        assert any(reason.startswith("catalog: ") for reason in health.reasons)
    with Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", **options) as library:
        assert library.damage == ""
        assert [result.file_path for result in library.search("wombat").results] == ["ray/core/1.md"]
        assert library.check().ok


def test_a_library_whose_catalog_is_damaged_says_so_in_its_health(tmp_path: Path) -> None:
    (tmp_path / "docs" / "ray" / "core").mkdir(parents=True)
    (tmp_path / "docs" / "ray" / "core" / "1.md").write_text("# One\n\nA wombat.\n")
    options: dict[str, object] = {"embeddings.enabled": False, "docs.watch_for_changes": False}
    with Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", **options) as library:
        assert library.health().status == "ok"
        connection = sqlite3.connect(tmp_path / "index" / "catalog.sqlite")
        connection.execute("UPDATE texts SET text = x'00010203'")
        connection.commit()
        connection.close()
        with pytest.raises(Damaged):
            library.get_document("ray/core/1.md")
        health = library.health()
        assert health.status == "degraded"
        assert any("catalog" in reason and "start it again" in reason for reason in health.reasons)
        assert library.status().status == "degraded"


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        ("meta.json", cut_off),
        ("meta.json", gone),
        ("librarian.json", overwritten),
        ("*.term", overwritten),
        ("*.idx", cut_off),
        ("*.fast", cut_off),
        ("*.fast", gone),
        ("*.store", overwritten),
        (".", gone),
    ],
)
def test_a_damaged_keyword_index_is_made_again(library: Library, harm: Callable[[Path], None], name: str) -> None:
    library.close()
    folder = library.index / "words"
    if name == ".":
        shutil.rmtree(folder)
    else:
        for path in folder.glob(name):
            harm(path)
    calls = library.embedder.calls
    restart(library)
    library.assert_whole()
    assert len(library.find("wombat")) > 20
    assert library.embedder.calls == calls


@pytest.mark.parametrize("kind", ["idx", "fast"])
def test_a_keyword_index_that_breaks_while_it_is_in_use_is_said_and_made_again(tmp_path: Path, kind: str) -> None:
    for number in range(300):
        path = tmp_path / "docs" / "ray" / "core" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Number {number}\n\nA wombat.\n")
    options: dict[str, object] = {"embeddings.enabled": False, "docs.watch_for_changes": False}
    with Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", **options) as library:
        assert library.wait_until_ready(60)
    with Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", **options) as library:
        assert library.wait_until_ready(60)
        assert library.search("wombat").results
        library.clear_cache()
        for path in (tmp_path / "index" / "keyword").glob(f"*.{kind}"):
            size = path.stat().st_size
            with path.open("r+b") as file:
                file.write(b"\xff" * max(size - 200, size // 2))
        with suppress(Exception):
            library.search("wombat")
        assert "is damaged" in library.damage
        assert any(reason.startswith("keyword: ") for reason in library.health().reasons)
    with Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", **options) as library:
        library.wait_until_ready(60)
        assert library.damage == ""
        assert library.search("wombat").results
        assert library.check().ok


def test_files_that_a_killed_writer_left_behind_are_in_nobodys_way(library: Library) -> None:
    """A file of deletions is named after the operation that it ends at: a repeated one would write it again."""
    segment = next(path.name for path in (library.index / "words").glob("*.idx")).removesuffix(".idx")
    for operation in range(400):
        (library.index / "words" / f"{segment}.{operation}.del").touch()
    for number in range(4):
        library.write(f"ray/core/{number}.md", f"# Number {number}\n\nAn ocelot.\n")
    for _ in range(6):  # each try takes away what was in its way
        try:
            library.complete()
            break
        except LibrarianError:
            continue
    library.assert_whole()


@pytest.mark.parametrize("harm", [overwritten, cut_off, emptied, gone, scratched])
def test_a_damaged_archive_costs_embedding_and_nothing_else(library: Library, harm: Callable[[Path], None]) -> None:
    library.close()
    settle(library.index / "vectors.sqlite")
    harm(library.index / "vectors.sqlite")
    library.store_kept.clear()
    restart(library)
    library.assert_whole()


class WithChroma(Library):
    def open(self) -> object:  # type: ignore[override]
        self.chroma: dict[str, ChromaStore] = {}
        return super().open()

    def store(self, model: str) -> VectorStore:  # type: ignore[override]
        if model not in self.chroma:
            self.chroma[model] = ChromaStore(self.index / "chroma", "documents-1", self.embedder.spec.dimension)
        return self.chroma[model]

    def close(self) -> None:
        super().close()
        for store in self.chroma.values():
            store.close()


@pytest.mark.parametrize("harm", [overwritten, cut_off, gone, "folder"])
def test_a_damaged_chroma_folder_is_filled_from_the_archive(tmp_path: Path, harm: Callable[[Path], None] | str) -> None:
    library = WithChroma(tmp_path)
    for number in range(12):
        library.write(f"ray/core/{number}.md", page(random.Random(number)))
    library.complete()
    calls = library.embedder.calls
    library.close()
    if callable(harm):
        harm(library.index / "chroma" / "chroma.sqlite3")
    else:
        shutil.rmtree(library.index / "chroma")
    said = " ".join(restart(library))
    assert "from the archive" in said
    assert library.embedder.calls == calls
    library.assert_whole()
    library.close()


# -- the disk ----------------------------------------------------------------------------------------------------------

INDEX = """
import os, resource, signal, sys
from pathlib import Path
from librarian.errors import LibrarianError
from tests.reliability.test_damage import WithChroma
from tests.storage.library import Library
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limit, user, kind = int(sys.argv[2]), int(sys.argv[3]), {"exact": Library, "chroma": WithChroma}[sys.argv[4]]
if user:
    os.setuid(user)
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    library = kind(Path(sys.argv[1]))
    library.complete()
    library.assert_whole()
    library.close()
except LibrarianError as error:
    print("refused:", error)
    sys.exit(78)
"""


def index_in_a_child(folder: Path, limit: int = 0, user: int = 0, store: str = "exact") -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", INDEX, str(folder), str(limit), str(user), store],
        env={**os.environ, "PYTHONPATH": str(BACKEND)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("limit", [1_000, 100_000, 300_000])
def test_a_full_disk_is_said_and_costs_nothing_once_there_is_space(tmp_path: Path, limit: int) -> None:
    dice = random.Random(limit)
    for number in range(300):
        path = tmp_path / "library" / "p" / "c" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(dice))
    code, said = index_in_a_child(tmp_path, limit)
    assert code == 78, said
    assert "Traceback" not in said
    assert "space" in said
    code, said = index_in_a_child(tmp_path)
    assert code == 0, said


def write_pages(root: Path) -> None:
    dice = random.Random(5)
    for number in range(150):
        path = root / "p" / "c" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(dice))


@pytest.fixture(scope="module")
def largest(tmp_path_factory: pytest.TempPathFactory) -> int:
    """Bytes of the largest file of those pages' index, which is one of Chroma's."""
    folder = tmp_path_factory.mktemp("whole")
    write_pages(folder / "library")
    assert index_in_a_child(folder, store="chroma")[0] == 0
    files = [path for path in (folder / "index").rglob("*") if path.is_file()]
    found = max(files, key=lambda path: path.stat().st_size)
    assert "chroma" in found.relative_to(folder).parts
    return found.stat().st_size


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_disk_that_chroma_finds_full_is_said_and_costs_nothing_once_there_is_space(
    tmp_path: Path, largest: int, share: float
) -> None:
    write_pages(tmp_path / "library")
    code, said = index_in_a_child(tmp_path, int(largest * share), store="chroma")
    assert code == 78, said
    assert "Traceback" not in said
    assert "space" in said or "full" in said
    code, said = index_in_a_child(tmp_path, store="chroma")
    assert code == 0, said


@pytest.mark.parametrize("mode", [0o500, 0o000])
def test_an_index_folder_that_may_not_be_used_is_refused_in_words(mode: int) -> None:
    nobody = 65534 if os.getuid() == 0 else 0  # what root may do says nothing
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for made in (folder / "library", folder / "index"):
            made.mkdir()
        if nobody:
            os.chown(folder / "index", nobody, nobody)
        (folder / "index").chmod(mode)
        try:
            code, said = index_in_a_child(folder, user=nobody)
        finally:
            (folder / "index").chmod(0o755)
    assert code == 78, said
    assert "Traceback" not in said
    assert "permission" in said.lower() or "writable" in said
