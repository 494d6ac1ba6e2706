"""What every `VectorStore` promises, as tests: subclass `VectorStoreContract` and say how to make one.

* A search is ordered by cosine, ties by id, and holds no more than its limit.
* The last vector stored under an id is the one that is found; a deleted one isn't.
* Only chunks that the selection lets through are found, however few; chunks beyond its mask are not.
* Its recall against brute force is at least `recall`, filtered or not.
* `count` and `ids` agree with what was stored; a persistent store finds it again after closing.
* Searching while another thread writes never fails and never shows a row half written.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from librarian.models import WINDOWS_PER_CHUNK, Filters, Ids, Selection, Vector, Vectors
from librarian.vector_stores.base import VectorStore

EVERYTHING = Selection(Filters(), None, 0)


def selection_of(chunk_ids: Ids, highest: int) -> Selection:
    mask = np.zeros(highest + 1, dtype=np.bool_)
    mask[chunk_ids] = True
    return Selection(Filters(product="some"), mask, int(mask.sum()))


def clustered(count: int, dimension: int, seed: int = 0, spread: float = 0.8) -> Vectors:
    """Unit vectors around a centre for each 50 of them, as passages of one subject lie."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((max(count // 50, 2), dimension))
    rows = centres[rng.integers(0, len(centres), count)] + spread * rng.standard_normal((count, dimension))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def brute_force(ids: Ids, rows: Vectors, question: Vector, limit: int, selection: Selection) -> tuple[Ids, Vector]:
    cosines = rows @ question
    if selection.mask is not None:
        passing = np.flatnonzero(selection.mask)
        keep = np.isin(ids // WINDOWS_PER_CHUNK, passing)
        ids, cosines = ids[keep], cosines[keep]
    order = np.lexsort((ids, -cosines))[:limit]
    return ids[order], cosines[order]


def recall_at(store: VectorStore, ids: Ids, rows: Vectors, questions: Vectors, limit: int, sel: Selection) -> float:
    """Share of the true first `limit` that is found; one that lies as near as the true last counts (float16)."""
    found = wanted = 0
    by_id = {int(i): row for i, row in zip(ids, rows, strict=True)}
    for question in questions:
        true_ids, true_cosines = brute_force(ids, rows, question, limit, sel)
        got, _ = store.search(question, limit, sel)
        edge = true_cosines[-1] - 1e-4
        wanted += true_ids.size
        found += sum(float(by_id[int(i)] @ question) >= edge for i in got)
    return found / wanted


def assert_value_filters_agree(store: VectorStore, names: tuple[str, str, str], tags: tuple[str, ...]) -> None:
    """What a store finds by products, tags and dates of its own is what it finds among the same chunks by their ids.

    `store` is empty and has 8 dimensions. The chunks belong to `names` in turn; of three, the last two have the tag
    "a", which `tags` must hold.
    """
    count = 200
    rows = clustered(count, 8)
    payloads = [{"product": names[n % 3], "tags": ["a", "b"][: n % 3], "modified": n} for n in range(count)]
    store.upsert(np.arange(count, dtype=np.int64) * WINDOWS_PER_CHUNK, rows, payloads)
    for product, wanted, modified in itertools.product(names, ((), tags), (None, (20, 150))):
        passing = [
            n
            for n in range(count)
            if names[n % 3] == product
            and (not wanted or n % 3)
            and (modified is None or modified[0] <= n <= modified[1])
        ]
        by_chunk = selection_of(np.array(passing, dtype=np.int64), count - 1)
        allowed = {"product": (product,), **({"tags": wanted} if wanted else {})}
        by_value = Selection(
            Filters(product=product), by_chunk.mask, by_chunk.count, None, allowed, modified, complete=True
        )
        one, other = (store.search(rows[3], 500, selection) for selection in (by_chunk, by_value))
        assert one[0].tolist() == other[0].tolist()
        assert len(one[0]) == len(passing)


class VectorStoreContract:
    dimension: ClassVar[int] = 32
    persistent: ClassVar[bool] = False
    recall: ClassVar[float] = 0.999
    tolerance: ClassVar[float] = 2e-3  #: of a cosine
    size: ClassVar[int] = 1500  #: rows in the recall tests

    def make(self, folder: Path) -> VectorStore:
        raise NotImplementedError

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[VectorStore]:
        store = self.make(tmp_path / "store")
        yield store
        store.close()

    def axes(self, *numbers: int) -> Vectors:
        return np.eye(self.dimension, dtype=np.float32)[list(numbers)]

    # -- order -----------------------------------------------------------------------------------------------------

    def test_the_nearest_comes_first_with_its_cosine(self, store: VectorStore) -> None:
        rows = self.axes(0, 1) + 0.0
        between = (rows[:1] * 3 + rows[1:]) / np.sqrt(10)
        store.upsert(np.array([64, 128, 192]), np.concatenate([rows, between]))
        ids, cosines = store.search(self.axes(0)[0], 3, EVERYTHING)
        assert ids.tolist() == [64, 192, 128]
        assert cosines == pytest.approx([1.0, 3 / np.sqrt(10), 0.0], abs=self.tolerance)
        assert ids.dtype == np.int64
        assert cosines.dtype == np.float32

    def test_equal_vectors_come_in_the_order_of_their_ids(self, store: VectorStore) -> None:
        rows = np.repeat(clustered(1, self.dimension), 20, axis=0)
        ids = np.arange(20, dtype=np.int64) * 64 + 64
        shuffled = np.random.default_rng(1).permutation(20)
        store.upsert(ids[shuffled], rows[shuffled])
        found, cosines = store.search(rows[0], 20, EVERYTHING)
        assert found.tolist() == ids.tolist()
        assert len(set(cosines.tolist())) == 1

    def test_a_search_holds_no_more_than_its_limit(self, store: VectorStore) -> None:
        store.upsert(np.arange(10) * 64, clustered(10, self.dimension))
        assert store.search(self.axes(0)[0], 3, EVERYTHING)[0].size == 3
        assert store.search(self.axes(0)[0], 100, EVERYTHING)[0].size == 10
        assert store.search(self.axes(0)[0], 0, EVERYTHING)[0].size == 0

    def test_a_question_of_any_length_gives_cosines(self, store: VectorStore) -> None:
        store.upsert(np.array([64]), self.axes(0))
        assert store.search(self.axes(0)[0] * 7, 1, EVERYTHING)[1] == pytest.approx([1.0], abs=self.tolerance)

    # -- writing ---------------------------------------------------------------------------------------------------

    def test_an_empty_store_finds_nothing(self, store: VectorStore) -> None:
        ids, cosines = store.search(self.axes(0)[0], 5, EVERYTHING)
        assert ids.size == cosines.size == 0
        assert ids.dtype == np.int64
        assert store.count() == 0
        assert store.ids().size == 0
        store.delete(np.array([64]))
        store.upsert(np.empty(0, np.int64), np.empty((0, self.dimension), np.float32))
        assert store.count() == 0

    def test_an_upsert_replaces_what_the_id_held(self, store: VectorStore) -> None:
        store.upsert(np.array([64, 128]), self.axes(0, 1))
        store.upsert(np.array([64]), self.axes(2))
        assert store.count() == 2
        assert store.search(self.axes(2)[0], 1, EVERYTHING)[0].tolist() == [64]
        ids, cosines = store.search(self.axes(0)[0], 2, EVERYTHING)
        assert ids.tolist() == [64, 128]
        assert cosines == pytest.approx([0, 0], abs=self.tolerance)

    def test_the_last_of_equal_ids_in_a_batch_wins(self, store: VectorStore) -> None:
        store.upsert(np.array([128, 64, 128]), self.axes(0, 1, 2))
        assert store.count() == 2
        assert store.search(self.axes(2)[0], 1, EVERYTHING)[0].tolist() == [128]
        assert store.ids().tolist() == [64, 128]

    def test_what_is_deleted_is_not_found(self, store: VectorStore) -> None:
        store.upsert(np.array([64, 128, 192]), self.axes(0, 1, 2))
        store.delete(np.array([192, 64, 64, 999_936]))
        assert store.ids().tolist() == [128]
        assert store.search(self.axes(0)[0], 5, EVERYTHING)[0].tolist() == [128]

    def test_clearing_leaves_an_empty_store_that_can_be_filled_again(self, store: VectorStore) -> None:
        store.upsert(np.array([64, 128]), self.axes(0, 1))
        store.clear()
        assert store.count() == 0
        store.upsert(np.array([192]), self.axes(1))
        assert store.search(self.axes(1)[0], 5, EVERYTHING)[0].tolist() == [192]

    def test_payloads_are_taken(self, store: VectorStore) -> None:
        store.upsert(np.array([64]), self.axes(0), [{"product": "ray"}])
        assert store.count() == 1

    def test_vectors_of_another_shape_or_with_a_nan_are_refused_whole(self, store: VectorStore) -> None:
        with pytest.raises(ValueError, match="shape"):
            store.upsert(np.array([64]), np.ones((1, self.dimension + 1), np.float32))
        with pytest.raises(ValueError, match="shape"):
            store.upsert(np.array([64, 128]), self.axes(0))
        bad = self.axes(0, 1)
        bad[1, 0] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            store.upsert(np.array([64, 128]), bad)
        assert store.count() == 0

    # -- filters ---------------------------------------------------------------------------------------------------

    def test_only_windows_of_chunks_that_pass_are_found(self, store: VectorStore) -> None:
        # chunk 1 has three windows, chunk 2 one, chunk 3 two
        ids = np.array([64, 65, 66, 128, 192, 193])
        store.upsert(ids, clustered(6, self.dimension))
        question = self.axes(0)[0]
        assert sorted(store.search(question, 9, selection_of(np.array([1]), 3))[0].tolist()) == [64, 65, 66]
        assert sorted(store.search(question, 9, selection_of(np.array([2, 3]), 3))[0].tolist()) == [128, 192, 193]
        assert store.search(question, 9, selection_of(np.array([], dtype=int), 3))[0].size == 0

    def test_chunks_beyond_the_mask_are_left_out(self, store: VectorStore) -> None:
        store.upsert(np.array([64, 128, 6400]), self.axes(0, 0, 0))
        assert store.search(self.axes(0)[0], 9, selection_of(np.array([0, 1, 2]), 2))[0].tolist() == [64, 128]
        assert store.search(self.axes(0)[0], 9, Selection(Filters(), np.zeros(0, np.bool_), 0))[0].size == 0

    @pytest.mark.parametrize("share", [None, 0.6, 0.1, 0.02])
    @pytest.mark.no_cover
    def test_recall_holds_however_few_chunks_pass(self, store: VectorStore, share: float | None) -> None:
        rows = clustered(self.size, self.dimension, seed=3)
        ids = np.arange(self.size, dtype=np.int64) * 32  # two windows a chunk
        store.upsert(ids, rows)
        rng = np.random.default_rng(4)
        chunks = self.size // 2
        sel = EVERYTHING
        if share is not None:
            sel = selection_of(rng.choice(chunks, max(int(chunks * share), 1), replace=False), chunks - 1)
        near = rows[rng.integers(0, self.size, 10)] + 0.05 * rng.standard_normal((10, self.dimension))
        foreign = rng.standard_normal((10, self.dimension))
        questions = np.concatenate([near, foreign])
        questions = np.asarray(questions / np.linalg.norm(questions, axis=1, keepdims=True), np.float32)
        assert recall_at(store, ids, rows, questions, 50, sel) >= self.recall

    # -- keeping ---------------------------------------------------------------------------------------------------

    def test_what_was_stored_is_there_after_closing(self, tmp_path: Path) -> None:
        if not self.persistent:
            pytest.skip("this store is refilled from the archive at each start")
        first = self.make(tmp_path / "store")
        first.upsert(np.array([64, 128]), self.axes(0, 1))
        first.delete(np.array([128]))
        first.close()
        again = self.make(tmp_path / "store")
        try:
            assert again.ids().tolist() == [64]
            assert again.search(self.axes(0)[0], 5, EVERYTHING)[0].tolist() == [64]
        finally:
            again.close()

    def test_searches_go_on_while_another_thread_writes(self, store: VectorStore) -> None:
        """Ids 64… hold axis 0 or, rewritten, its opposite; a torn row would show any other cosine."""
        kept = np.arange(1, 41, dtype=np.int64) * 64
        store.upsert(kept, np.repeat(self.axes(0), 40, axis=0))
        done = threading.Event()
        problems: list[str] = []

        def look() -> None:
            try:
                while not done.is_set():
                    ids, cosines = store.search(self.axes(0)[0], 200, EVERYTHING)
                    if len(set(ids.tolist())) != ids.size:
                        problems.append("an id came twice")
                    if not np.all(np.isclose(np.abs(cosines), 1, atol=1e-2)):
                        problems.append(f"a torn row: {cosines}")
            except Exception as error:
                problems.append(repr(error))

        readers = [threading.Thread(target=look) for _ in range(2)]
        for reader in readers:
            reader.start()
        try:
            for turn in range(12):
                store.upsert(kept, np.repeat(self.axes(0) * (-1) ** turn, 40, axis=0))
                store.upsert(kept + 6400, np.repeat(self.axes(0), 40, axis=0))
                store.delete(kept[:20] + 6400)
        finally:
            done.set()
            for reader in readers:
                reader.join(timeout=300)
        assert problems == []
        assert store.count() == 60
