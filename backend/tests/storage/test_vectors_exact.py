"""Properties of the exact store, beyond the contract:

* Several blocks, a tail and dead rows between them answer like brute force over what is alive (oracle, hypothesis).
* A search sees the rows as they were when it began.
* Dead rows are packed away, and the memory with them.
* The hand-written graph is a valid ONNX model and multiplies as numpy does.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.vector_stores import exact
from librarian.vector_stores.base import VectorStore
from librarian.vector_stores.exact import ZERO_POINT, ExactStore, scan_graph
from tests.contracts.vector_store_contract import (
    EVERYTHING,
    VectorStoreContract,
    brute_force,
    clustered,
    recall_at,
    selection_of,
)


class TestExactStore(VectorStoreContract):
    def make(self, folder: Path) -> VectorStore:
        return ExactStore(self.dimension)


class TestExactStoreInSmallBlocks(VectorStoreContract):
    """The same promises where rows are spread over many blocks."""

    @pytest.fixture(autouse=True)
    def small_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(exact, "BLOCK_ROWS", 100)

    def make(self, folder: Path) -> VectorStore:
        return ExactStore(self.dimension)


def bytes_of(store: ExactStore) -> int:
    """What the rows take: float16 and int8 in blocks, float32 in the tail, ids and masks."""
    state = store._state
    blocks = len(state.blocks) * exact.BLOCK_ROWS * (store.dimension * 3 + 4)
    arrays = (state.tail, state.row_ids, state.alive, state.ids, state.places)
    return blocks + sum(array.nbytes for array in arrays)


def dead_rows(store: ExactStore) -> int:
    """Rows that were replaced or deleted and still take room."""
    return int(store._state.row_ids.size) - store.count()


def test_recall_at_50_over_clustered_vectors_is_0_999() -> None:
    dimension, count = 384, 20_000
    store = ExactStore(dimension)
    rows = clustered(count, dimension, seed=5)
    ids = np.random.default_rng(6).permutation(count).astype(np.int64) * 7
    for start in range(0, count, 3000):
        store.upsert(ids[start : start + 3000], rows[start : start + 3000])
    rng = np.random.default_rng(7)
    questions = rows[:50] + 0.03 * rng.standard_normal((50, dimension)).astype(np.float32)
    questions[25:] = rng.standard_normal((25, dimension))
    questions /= np.linalg.norm(questions, axis=1, keepdims=True)
    assert recall_at(store, ids, rows, questions, 50, EVERYTHING) >= 0.999
    assert bytes_of(store) < count * dimension * 3.6


batches = st.lists(
    st.tuples(st.sampled_from(["upsert", "upsert", "delete"]), st.lists(st.integers(0, 120), max_size=40)),
    min_size=1,
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(batches, st.integers(1, 30), st.sets(st.integers(0, 12)), st.sampled_from([0, 2000]))
def test_any_history_of_writes_answers_like_brute_force(
    history: list[tuple[str, list[int]]], limit: int, chunks: set[int], few: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "BLOCK_ROWS", 32)
        patch.setattr(exact, "_FEW", few)
        patch.setattr(exact, "RESCORED", 4)
        patch.setattr(exact, "_SHARED", 2)
        store = ExactStore(8)
        rng = np.random.default_rng(0)
        truth: dict[int, np.ndarray] = {}
        for action, numbers in history:
            ids = np.array(numbers, dtype=np.int64) * 5
            if action == "delete":
                store.delete(ids)
                for number in ids:
                    truth.pop(int(number), None)
            else:
                rows = rng.standard_normal((ids.size, 8)).astype(np.float32)
                rows /= np.linalg.norm(rows, axis=1, keepdims=True)
                store.upsert(ids, rows)
                truth.update((int(number), row) for number, row in zip(ids, rows, strict=True))
        ids = np.array(sorted(truth), dtype=np.int64)
        rows = np.array([truth[int(i)] for i in ids], dtype=np.float32).reshape(-1, 8)
        assert store.ids().tolist() == ids.tolist()
        assert dead_rows(store) <= max(32 // 8, len(ids))
        question = rng.standard_normal(8).astype(np.float32)
        question /= np.linalg.norm(question)
        for sel in (EVERYTHING, selection_of(np.array(sorted(chunks), dtype=np.int64), 12)):
            _, expected = brute_force(ids, rows, question, limit, sel)
            found, cosines = store.search(question, limit, sel)
            assert cosines == pytest.approx(expected, abs=2e-3)
            assert cosines == pytest.approx([truth[int(i)] @ question for i in found], abs=2e-3)


@given(
    scores=st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=400),
    place=st.integers(1, 12),
    lowest=st.booleans(),
)
def test_the_place_th_largest_is_found_as_by_sorting(scores: list[float], place: int, lowest: bool) -> None:
    rows = np.array([*scores, *([-np.inf] * len(scores) if lowest else [])], dtype=np.float32)
    place = min(place, len(rows))
    assert exact._largest(rows, place) == np.sort(rows)[-place]


def test_a_search_that_has_begun_sees_none_of_a_later_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "RESCORED", 4)
    store = ExactStore(4)
    store.upsert(np.arange(20) * 64, np.repeat(np.eye(4, dtype=np.float32)[:1], 20, axis=0))
    original = ExactStore._scan

    def write_first(self: ExactStore, state: object, vector: np.ndarray) -> np.ndarray:
        self.clear()
        self.upsert(np.array([6400]), np.eye(4, dtype=np.float32)[:1])
        return original(self, state, vector)  # type: ignore[arg-type]

    monkeypatch.setattr(ExactStore, "_scan", write_first)
    found, _ = store.search(np.eye(4, dtype=np.float32)[0], 1, EVERYTHING)
    assert found.tolist() == [0]
    assert store.ids().tolist() == [6400]


def test_ten_thousand_updates_of_one_row_do_not_grow_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "BLOCK_ROWS", 256)
    store = ExactStore(16)
    rows = clustered(300, 16)
    store.upsert(np.arange(300), rows)
    before = bytes_of(store)
    for number in range(2000):
        store.upsert(np.array([number % 300]), rows[number % 300][np.newaxis])
    assert store.count() == 300
    assert bytes_of(store) < 2 * before
    assert dead_rows(store) <= 100


def test_a_zero_vector_is_stored_and_has_no_likeness_to_anything() -> None:
    store = ExactStore(4)
    store.upsert(np.array([64, 128]), np.array([[0, 0, 0, 0], [0, 0, 3, 0]], np.float32))
    ids, cosines = store.search(np.array([0, 0, 1, 0], np.float32), 5, EVERYTHING)
    assert list(zip(ids.tolist(), cosines.tolist(), strict=True)) == [(128, 1.0), (64, 0.0)]
    assert store.search(np.zeros(4, np.float32), 5, EVERYTHING)[0].tolist() == [64, 128]


def test_a_question_of_another_dimension_is_refused() -> None:
    store = ExactStore(4)
    with pytest.raises(ValueError, match="4 finite numbers"):
        store.search(np.ones(5, np.float32), 5, EVERYTHING)


@pytest.mark.parametrize(("count", "dimension"), [(1, 1), (7, 3), (200, 384)])
def test_the_hand_written_graph_scores_like_numpy(count: int, dimension: int) -> None:
    import onnx
    import onnxruntime

    rng = np.random.default_rng(8)
    rows = rng.integers(-127, 128, (count, dimension)).astype(np.int8)
    scales = rng.uniform(0.001, 0.01, (1, count)).astype(np.float32)
    model = scan_graph(count, dimension)
    parsed = onnx.load_from_string(model)
    assert [node.op_type for node in parsed.graph.node] == ["MatMulInteger", "Cast", "MatMul", "Mul"]
    assert parsed.SerializeToString() == model
    options = onnxruntime.SessionOptions()
    given = [onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(part)) for part in (rows.T, scales)]
    options.add_external_initializers(["rows", "scales"], given)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    question = rng.integers(1, 128, (2, dimension)).astype(np.uint8)
    worth = np.array([[0.01, 0.0001]], dtype=np.float32)
    products = (question.astype(np.int32) - ZERO_POINT) @ rows.T.astype(np.int32)
    np.testing.assert_allclose(
        session.run(None, {"question": question, "worth": worth})[0], (worth @ products) * scales, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("where", [".", "missing"])
def test_rows_in_files_answer_like_rows_in_memory(tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "BLOCK_ROWS", 32)
    stores = ExactStore(8), ExactStore(8, tmp_path / where)  # a folder that can't be written to: they stay in memory
    rows = clustered(100, 8, seed=3)
    for store in stores:
        store.upsert(np.arange(100, dtype=np.int64), rows)
        store.delete(np.arange(0, 100, 2, dtype=np.int64))
    answers = [store.search(rows[7], 10, EVERYTHING) for store in stores]
    assert answers[0][0].tolist() == answers[1][0].tolist()
    assert answers[0][1].tolist() == answers[1][1].tolist()
    assert list(tmp_path.iterdir()) == []  # nothing is left to be removed
