"""Properties of the Chroma store, beyond the contract, on real folders:

* Every distance gives cosines; filtered recall stays high at every selectivity, for foreign questions too.
* A folder damaged in any of its files, or deleted under an open store, costs one clear error at most: then there is
  an empty store that says it must be refilled.
* Dead entries are counted across restarts; once they are many, the collection is made anew, keeps every row and finds
  the true neighbours: the folder stays bounded.
* A collection built otherwise is never answered from; collections of other programs are left alone.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import chromadb
import numpy as np
import pytest
from chromadb.api import ClientAPI

from librarian.errors import Unavailable
from librarian.indexing.chroma_worker import ChildStore
from librarian.vector_stores import chroma
from librarian.vector_stores.base import Hnsw, VectorStore
from librarian.vector_stores.chroma import ChromaStore, Distance
from tests.contracts.vector_store_contract import EVERYTHING, VectorStoreContract, clustered, recall_at, selection_of
from tests.storage.library import Library


class TestChromaStore(VectorStoreContract):
    persistent = True
    recall = 0.99

    def make(self, folder: Path) -> VectorStore:
        return ChromaStore(folder, "windows", self.dimension)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "chroma"


@pytest.fixture
def store(folder: Path) -> Iterator[ChromaStore]:
    store = ChromaStore(folder, "windows", 16)
    yield store
    store.close()


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def fill(store: ChromaStore, count: int = 1200, first: int = 0) -> np.ndarray:
    rows = clustered(count, store.dimension, seed=first)
    store.upsert(np.arange(first, first + count), rows)
    return rows


@pytest.mark.parametrize("distance", ["cosine", "l2", "ip"])
def test_every_distance_gives_cosines(folder: Path, distance: Distance) -> None:
    store = ChromaStore(folder, "windows", 4, distance=distance)
    store.upsert(np.array([64, 128, 192]), np.array([[1, 0, 0, 0], [3, 3, 0, 0], [-1, 0, 0, 0]], np.float32))
    ids, cosines = store.search(np.array([2, 0, 0, 0], np.float32), 3, EVERYTHING)
    assert ids.tolist() == [64, 128, 192]
    assert cosines == pytest.approx([1, 0.5**0.5, -1], abs=1e-4)
    store.close()


@pytest.mark.parametrize("few", [0, chroma.FEW])
def test_filtered_recall_stays_at_0_99_for_any_share_that_passes(
    folder: Path, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chroma, "FEW", few)
    count, dimension = 6000, 64
    store = ChromaStore(folder, "windows", dimension)
    rows = clustered(count, dimension, seed=2)
    ids = np.arange(count, dtype=np.int64) * 64
    store.upsert(ids, rows)
    rng = np.random.default_rng(3)
    questions = rows[:20] + 0.05 * rng.standard_normal((20, dimension)).astype(np.float32)
    questions[10:] = rng.standard_normal((10, dimension))
    questions /= np.linalg.norm(questions, axis=1, keepdims=True)
    for share in (0.9, 0.3, 0.15, 0.02):
        sel = selection_of(rng.choice(count, int(count * share), replace=False), count - 1)
        assert recall_at(store, ids, rows, questions, 50, sel) >= 0.99, share
    # what passes lies far from what is asked: no amount of asking for more would reach it
    far = np.argsort(rows @ questions[0])[: count // 3]
    assert recall_at(store, ids, rows, questions[:1], 50, selection_of(far, count - 1)) >= 0.99
    store.close()


def test_batches_larger_than_chroma_takes_are_cut(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ChromaStore(folder, "windows", 4)
    monkeypatch.setattr(store._client, "get_max_batch_size", lambda: 100)
    rows = clustered(350, 4)
    store.upsert(np.arange(350), rows)
    store.delete(np.arange(250))
    assert store.ids().tolist() == list(range(250, 350))
    store.close()
    again = ChromaStore(folder, "windows", 4)
    assert again.count() == 100
    again.close()


def test_payloads_are_kept_for_other_programs(store: ChromaStore) -> None:
    store.upsert(np.array([128, 64]), clustered(2, 16), [{"product": "ray"}, {"product": "kubernetes"}])
    assert store._collection.get(ids=["64"])["metadatas"] == [{"product": "kubernetes"}]
    store.rebuild()
    assert store._collection.get(ids=["128"])["metadatas"] == [{"product": "ray"}]


# -- damage --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["header.bin", "data_level0.bin"])
def test_a_damaged_graph_costs_a_child_at_most_and_is_set_aside(folder: Path, what: str) -> None:
    store = ChromaStore(folder, "windows", 16)
    fill(store)
    store.close()
    (damaged,) = folder.rglob(what)
    damaged.write_bytes(b"\x00garbage" * 20)
    child = ChildStore("chroma", 16, partial(ChromaStore, folder, "windows", 16))
    with suppress(Unavailable):
        child.count()
    assert child.count() == 0
    rows = clustered(1200, 16)
    child.upsert(np.arange(1200), rows)
    assert child.search(rows[5], 1, EVERYTHING)[0].tolist() == [5]
    child.close()
    assert len(list(folder.glob("chroma.sqlite3.damaged-*"))) == 1


def test_a_damaged_folder_is_set_aside_at_opening(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = ChromaStore(folder, "windows", 16)
    fill(store)
    store.close()
    (folder / "chroma.sqlite3").write_bytes(b"\x00garbage" * 20)
    with caplog.at_level(logging.WARNING):
        store = ChromaStore(folder, "windows", 16)
    assert store.recreated
    assert store.count() == 0
    assert "begun anew" in caplog.text
    (aside,) = folder.glob("chroma.sqlite3.damaged-*")
    assert (aside / "chroma.sqlite3").exists()
    rows = fill(store)
    assert store.search(rows[5], 1, EVERYTHING)[0].tolist() == [5]
    store.close()
    again = ChromaStore(folder, "windows", 16)
    assert not again.recreated
    assert again.count() == 1200
    again.close()


@pytest.mark.parametrize("name", ["plain", "issue #7", "what?", "50%41", "größer"])
def test_signs_that_mean_something_in_an_address_are_a_folders_name(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name / "chroma"
    store = ChromaStore(folder, "windows", 16)
    fill(store, 50)
    store.close()
    again = ChromaStore(folder, "windows", 16)
    assert not again.recreated
    assert again.count() == 50
    again.rebuild()
    assert len(list(folder.rglob("header.bin"))) == 1, "the former graph is gone"
    again.close()
    (folder / "chroma.sqlite3").write_bytes(b"garbage" * 20)
    assert ChromaStore(folder, "windows", 16).recreated
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_folder_that_ended_the_process_before_is_not_loaded_again(folder: Path) -> None:
    store = ChromaStore(folder, "windows", 16)
    fill(store, 50)
    store.close()
    (folder / "librarian.opening").touch()
    store = ChromaStore(folder, "windows", 16)
    assert store.recreated
    assert not (folder / "librarian.opening").exists()
    store.close()


@pytest.mark.parametrize("act", ["search", "upsert", "delete", "clear"])
def test_a_folder_deleted_under_an_open_store_is_noticed(store: ChromaStore, folder: Path, act: str) -> None:
    rows = fill(store)
    folder.rename(folder.with_name("elsewhere"))
    acts = {
        "search": lambda: store.search(rows[0], 5, EVERYTHING),
        "upsert": lambda: store.upsert(np.array([1]), rows[:1]),
        "delete": lambda: store.delete(np.array([1])),
        "clear": store.clear,
    }
    with pytest.raises(Unavailable, match=r"removed.*refilled"):
        acts[act]()
    assert store.recreated
    assert store.count() == 0
    assert store.search(rows[0], 5, EVERYTHING)[0].size == 0
    fill(store)
    assert store.search(rows[7], 1, EVERYTHING)[0].tolist() == [7]


def test_a_place_that_cannot_be_written_is_unavailable_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Unavailable, match=r"vector_db\.path"):
        ChromaStore(tmp_path / "file" / "chroma", "windows", 4)


def test_a_closed_store_says_so(store: ChromaStore) -> None:
    rows = fill(store)
    store.close()
    store.close()
    with pytest.raises(Unavailable, match="closed"):
        store.search(rows[0], 5, EVERYTHING)


# -- growth --------------------------------------------------------------------------------------------------------


def test_replacing_in_place_leaves_nothing_dead(store: ChromaStore) -> None:
    fill(store)
    fill(store)
    assert store.dead == 0


def test_dead_entries_are_counted_across_restarts(folder: Path) -> None:
    store = ChromaStore(folder, "windows", 64)
    fill(store)
    store.delete(np.arange(300))
    assert store.dead == 300
    store.close()
    store = ChromaStore(folder, "windows", 64)
    assert (store.dead, store.count()) == (300, 900)
    store.delete(np.arange(300, 500))
    assert (store.dead, store.count()) == (0, 700), "the collection was made anew"
    store.close()


def test_a_folder_whose_entries_are_replaced_again_and_again_is_bounded(folder: Path) -> None:
    store = ChromaStore(folder, "windows", 64)
    rows = fill(store)
    before = size_of(folder)
    for turn in range(1, 6):
        for first in range(0, 1200, 300):  # as files that change one after another
            store.delete(np.arange(first, first + 300) + (turn - 1) * 1200)
            fill(store, 300, turn * 1200 + first)
    assert size_of(folder) < 3 * before
    store.delete(store.ids())
    rows = fill(store)
    assert recall_at(store, store.ids(), rows, rows[:50], 50, EVERYTHING) > 0.999
    store.close()
    again = ChromaStore(folder, "windows", 64)
    assert (again.dead, again.count(), again.recreated) == (0, 1200, False)
    assert recall_at(again, again.ids(), rows, rows[:50], 50, EVERYTHING) > 0.999
    again.close()


def test_searches_go_on_during_a_rebuild(store: ChromaStore) -> None:
    rows = fill(store)
    done = threading.Event()
    problems: list[str] = []

    def look() -> None:
        try:
            while not done.is_set():
                if store.search(rows[9], 1, EVERYTHING)[0].tolist() != [9]:
                    problems.append("lost a row")
        except Exception as error:
            problems.append(repr(error))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for _ in range(3):
            store.rebuild()
    finally:
        done.set()
        thread.join(timeout=300)
    assert problems == []


# -- whose collection it is ----------------------------------------------------------------------------------------


def test_a_collection_that_was_built_otherwise_is_begun_anew(folder: Path) -> None:
    store = ChromaStore(folder, "windows", 16)
    fill(store, 50)
    store.close()
    fill(other := ChromaStore(folder, "other", 16), 30)
    other.close()
    for dimension, further in ((16, Hnsw(M=32)), (8, Hnsw(M=32)), (8, Hnsw(search_ef=300))):
        changed = ChromaStore(folder, "windows", dimension, hnsw=further)
        assert changed.recreated
        assert names(folder) == {"windows": 0, "other": 30}
        changed.close()


def test_two_collections_share_a_folder(store: ChromaStore, folder: Path) -> None:
    fill(store, 50)
    other = ChromaStore(folder, "other", 8)
    fill(other, 30)
    store.rebuild()
    store.clear()
    assert (store.count(), other.count()) == (0, 30)
    assert other.search(np.ones(8, np.float32), 30, EVERYTHING)[0].size == 30
    other.close()


def test_the_model_that_answers_has_the_collection_of_the_name_that_is_set(folder: Path) -> None:
    before, after = (ChromaStore(folder, "documents", 16, model=model) for model in ("a", "b"))
    fill(before, 50)
    fill(after, 40)
    assert names(folder) == {"documents": 50, "documents-b": 40}
    before.clear()
    for store in (before, after):
        store.close()
    ChromaStore(folder, "documents", 16, model="b").close()
    assert names(folder) == {"documents": 40, "documents-a": 0}


def client_of(folder: Path) -> ClientAPI:
    return chromadb.PersistentClient(str(folder), settings=chromadb.Settings(anonymized_telemetry=False))


def names(folder: Path) -> dict[str, int]:
    return {found.name: found.count() for found in client_of(folder).list_collections()}


# -- for other programs --------------------------------------------------------------------------------------------


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    made = Library(tmp_path)
    model = made.embedder.fingerprint
    made.store_kept[model] = ChromaStore(tmp_path / "chroma", "documents", made.embedder.spec.dimension, model="fake")
    made.write("ray/core/actors.md", "# Actors\n\nAn actor keeps porcupines.\n\n## Naming\n\nActors have names.\n")
    made.write("ray/core/tasks.md", "# Tasks\n\nA task is run by wombats.\n")
    made.complete()
    yield made
    made.close()
    made.store_kept[model].close()


def passages(library: Library, words: str) -> dict[str, dict[str, object]]:
    """What a plain client finds by these words, by id."""
    found = (
        client_of(library.index.parent / "chroma").get_collection("documents").get(where_document={"$contains": words})
    )
    assert found["documents"]
    assert found["metadatas"]
    assert all(words in text for text in found["documents"])
    return dict(zip(found["ids"], map(dict, found["metadatas"]), strict=True))


def test_a_plain_client_finds_passages_by_their_text(library: Library) -> None:
    ((name, facts),) = passages(library, "have names").items()
    assert name.startswith("ray/core/actors.md#chunk-1@")
    assert facts["passage"] == name.partition("~")[0]
    assert {key: facts[key] for key in ("path", "file_name", "title", "product", "component", "file_type")} == {
        "path": "ray/core/actors.md",
        "file_name": "actors.md",
        "title": "Actors",
        "product": "ray",
        "component": "core",
        "file_type": ".md",
    }
    assert facts["headings"] == ["Actors", "Naming"]
    assert facts["lines"] == "5-7"
    assert facts["doc_type"]


def test_langchain_finds_passages_by_their_meaning(library: Library) -> None:
    langchain_chroma = pytest.importorskip("langchain_chroma", reason="langchain-chroma isn't installed")

    class Embeddings:
        def embed_query(self, text: str) -> list[float]:
            return [float(number) for number in library.embedder.embed_query(text)]

    store = langchain_chroma.Chroma(
        "documents",
        Embeddings(),
        client=client_of(library.index.parent / "chroma"),
        create_collection_if_not_exists=False,
    )
    (found,) = store.similarity_search("wombats run a task", k=1)
    assert "run by wombats" in found.page_content
    assert found.metadata["path"] == "ray/core/tasks.md"


def test_the_collection_follows_the_files(library: Library) -> None:
    library.write("ray/core/tasks.md", "# Tasks\n\nA task is run by numbats.\n")
    (library.root / "ray" / "core" / "actors.md").rename(library.root / "ray" / "core" / "agents.md")
    library.complete()
    assert {facts["path"] for facts in passages(library, "numbats").values()} == {"ray/core/tasks.md"}
    moved = passages(library, "porcupines")
    assert {facts["path"] for facts in moved.values()} == {"ray/core/agents.md"}
    assert all(name.startswith("ray/core/agents.md#") for name in moved)
    client = client_of(library.index.parent / "chroma")
    assert client.get_collection("documents").get(where_document={"$contains": "wombats"})["ids"] == []
    library.assert_whole()
