"""Whatever folder a setting names, nothing in it that isn't Librarian's is written, renamed or deleted:

* each command, and `Librarian.open`, refuses such a folder as index or vector folder and says what to do;
* somebody else's folders and links where an index has its own are refused, or left alone when it is cleared away.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from librarian.cli import main
from librarian.errors import SetupError
from librarian.files.owned_folder import claim_index
from librarian.library import Librarian
from librarian.storage.keyword_index import TantivyIndex
from librarian.vector_stores.chroma import ChromaStore

WITHOUT_VECTORS: dict[str, object] = {"embeddings.enabled": False, "docs.watch_for_changes": False}


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "docs" / "p" / "c").mkdir(parents=True)
    (tmp_path / "docs" / "p" / "c" / "a.md").write_text("# One\n\nA wombat.\n")
    return tmp_path / "docs"


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """Somebody's folder, whose files are called as Librarian's are."""
    folder = tmp_path / "Documents"
    (folder / "keyword").mkdir(parents=True)
    (folder / "keyword" / "meta.json").write_text('{"my": "own"}')
    (folder / "keyword" / "thesis.txt").write_text("mine")
    (folder / "catalog.sqlite").write_text("mine")
    (folder / "vectors.sqlite").write_text("mine")
    (folder / "chroma.sqlite3").write_text("not sqlite")
    (tmp_path / "Documents.damaged").mkdir()
    (tmp_path / "Documents.damaged" / "older.txt").write_text("mine")
    return folder


COMMANDS = {
    "search": ["search", "wombat"],
    "index": ["index"],
    "rebuild": ["index", "--rebuild"],
    "repair": ["check", "--repair"],
    "serve": ["serve", "--port", "0"],
    "crawl": ["crawl", "http://127.0.0.1:9/", "--allow-private", "--project", "p"],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_no_command_takes_somebodys_folder_for_its_index(
    docs: Path, documents: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = content(documents.parent)
    code = main.run([*command, "--root", str(docs), "--index", str(documents)])
    said = capsys.readouterr().err
    assert code == 78, said
    assert f"The folder {documents} isn't empty and Librarian didn't make it" in said
    assert "--index" in said
    assert content(documents.parent) == before


@pytest.mark.parametrize("start", [True, False])
def test_a_program_that_opens_a_library_is_refused_somebodys_folder(docs: Path, documents: Path, start: bool) -> None:
    before = content(documents.parent)
    with pytest.raises(SetupError, match="didn't make it as its index folder"):
        Librarian.open(root=docs, index=documents, start=start, **WITHOUT_VECTORS)
    assert content(documents.parent) == before


@pytest.mark.parametrize("store", ["auto", "chroma"])
def test_vectors_are_not_written_to_somebodys_folder(docs: Path, documents: Path, store: str) -> None:
    before = content(documents)
    further = {"vector_db.store": store, "vector_db.path": str(documents), "docs.watch_for_changes": False}
    with pytest.raises(SetupError, match=r"didn't make it as its Chroma folder") as refused:
        Librarian.open(root=docs, index=documents.parent / "index", **further)
    assert "vector_db.path" in refused.value.hint
    with pytest.raises(SetupError, match=r"didn't make it as its Chroma folder"):
        ChromaStore(documents, "windows", 4)
    assert content(documents) == before
    assert (documents.parent / "Documents.damaged" / "older.txt").read_text() == "mine"


def test_an_index_folder_is_no_vector_folder(tmp_path: Path) -> None:
    claim_index(tmp_path / "index")
    with pytest.raises(SetupError, match="didn't make it as its Chroma folder"):
        ChromaStore(tmp_path / "index", "windows", 4)


@pytest.mark.parametrize("meta", ['{"my": "own"}', None])
def test_somebodys_folder_in_the_place_of_the_keyword_index_stays(docs: Path, tmp_path: Path, meta: str | None) -> None:
    index = tmp_path / "index"
    claim_index(index)
    (index / "keyword").mkdir()
    (index / "keyword" / "thesis.txt").write_text("mine")
    if meta is not None:
        (index / "keyword" / "meta.json").write_text(meta)
    before = content(index / "keyword")
    with pytest.raises(SetupError, match=r"keyword isn't empty and Librarian didn't make it"):
        Librarian.open(root=docs, index=index, **WITHOUT_VECTORS)
    assert content(index / "keyword") == before


def test_a_damaged_keyword_index_is_cleared_of_its_own_files_alone(tmp_path: Path) -> None:
    TantivyIndex(tmp_path / "keyword").close()
    (tmp_path / "keyword" / "thesis.txt").write_text("mine")
    (tmp_path / "keyword" / "librarian.json").write_text("{")
    TantivyIndex.sound(tmp_path / "keyword").close()
    assert (tmp_path / "keyword" / "thesis.txt").read_text() == "mine"


def test_a_link_in_the_place_of_a_damaged_keyword_index_is_not_followed(tmp_path: Path) -> None:
    TantivyIndex(tmp_path / "other").close()
    (tmp_path / "other" / "librarian.json").write_text("{")
    before = content(tmp_path / "other")
    (tmp_path / "keyword").symlink_to(tmp_path / "other")
    TantivyIndex.sound(tmp_path / "keyword").close()
    assert content(tmp_path / "other") == before
    assert not (tmp_path / "keyword").is_symlink()


def test_a_damaged_chroma_folder_keeps_what_others_put_there(tmp_path: Path) -> None:
    folder = tmp_path / "chroma"
    for number in (1, 2):
        ChromaStore(folder, "windows", 4).close()
        (folder / "letter.txt").write_text("mine")
        (folder / "chroma.sqlite3").write_bytes(b"\x00garbage" * 200)
        store = ChromaStore(folder, "windows", 4)
        assert store.recreated
        store.close()
        assert [path.name for path in folder.glob("*.damaged-*")] == [f"chroma.sqlite3.damaged-{number}"]
    assert (folder / "letter.txt").read_text() == "mine"
