"""What these tests prove of cross-encoders, against a numpy BERT:

* a logit is what the paper's formulas give; it doesn't depend on the other passages;
* time that runs out leaves the rest unscored, a caller that left ends the work;
* long questions and passages are read as far as there is room, and a passage is always read.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from librarian.embeddings.cross_encoder import OnnxCrossEncoder, load_reranker
from librarian.embeddings.model_files import ModelStore
from librarian.embeddings.onnx import OnnxEmbedder
from librarian.errors import CallerError, SetupError, Unavailable
from librarian.models import Deadline, ModelSpec
from tests.embeddings import tiny_bert

PASSAGES = ["the scheduler assigns a pod to a node", "a volume", "the pod runs . " * 30]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("source") / "tiny-reranker"
    tiny_bert.write_model(source, labels=1)
    (source / "model_int8.onnx").unlink()
    return ModelStore(tmp_path_factory.mktemp("models")).ensure(str(source))


def test_logits_are_what_numpy_gives(home: Path) -> None:
    reranker = OnnxCrossEncoder(home, "tiny", max_length=32)
    found = reranker.score("what is a pod", PASSAGES, Deadline())
    weights = tiny_bert.weights_of(labels=1)
    for passage, logit in zip(PASSAGES, found, strict=True):
        kept = " ".join(passage.split()[: 32 - 3 - 4])  # the limit, special tokens, the question
        pair = reranker._tokenizer.encode("what is a pod", kept)
        assert len(pair.ids) <= 32
        assert logit == pytest.approx(float(tiny_bert.logits(weights, pair.ids, pair.type_ids)[0]), abs=1e-4)
        assert reranker.score("what is a pod", [passage], Deadline()) == [logit]


def test_time_that_runs_out_leaves_the_rest_unscored(home: Path) -> None:
    reranker = OnnxCrossEncoder(home, "tiny")
    assert reranker.score("pod", PASSAGES, Deadline.of_ms(-1)) == [None, None, None]
    found = reranker.score("pod", ["a pod"] * 5_000, Deadline.of_ms(30))
    reached = [score is not None for score in found]
    assert 0 < sum(reached) < 5_000
    assert reached == sorted(reached, reverse=True)
    assert reranker.score("pod", [], Deadline()) == []


def test_no_more_is_read_than_the_model_has_places_for(home: Path) -> None:
    reranker = OnnxCrossEncoder(home, "tiny", max_length=512)  # it has 64
    assert None not in reranker.score("pod " * 100, ["the pod runs . " * 100], Deadline())


def test_a_text_that_the_graph_cannot_read_fails_the_reranker_and_not_the_search(tmp_path: Path) -> None:
    source = tmp_path / "source"
    tiny_bert.write_model(source, labels=1)
    config = source / "config.json"
    config.write_text(config.read_text().replace('"max_position_embeddings": 64', '"max_position_embeddings": 512'))
    reranker = load_reranker(str(source))
    with pytest.raises(Unavailable, match="can't read a text"):
        reranker.score("pod", ["the pod runs . " * 100], Deadline())


def test_a_cross_encoder_is_no_embedding_model(home: Path) -> None:
    with pytest.raises(SetupError, match="judges texts, and embeds none"):
        OnnxEmbedder(home, ModelSpec("tiny", 32, 64))


def test_a_caller_that_left_ends_the_work(home: Path) -> None:
    budget = Deadline()
    budget.cancelled.set()
    with pytest.raises(CallerError, match="cancelled"):
        OnnxCrossEncoder(home, "tiny").score("pod", PASSAGES, budget)


def test_a_passage_is_read_however_long_the_question(home: Path) -> None:
    reranker = OnnxCrossEncoder(home, "tiny", max_length=32)
    one, other = reranker.score("what is a pod " * 100, ["a volume", "the scheduler"], Deadline())
    assert one != other
    started = time.monotonic()
    assert reranker.score("", ["", "x" * 100_000], Deadline())
    assert time.monotonic() - started < 5


def test_what_is_no_cross_encoder_is_named(tmp_path: Path, home: Path) -> None:
    with pytest.raises(Unavailable, match="no model"):
        OnnxCrossEncoder(tmp_path, "tiny")
    (tmp_path / "model_int8.onnx").write_bytes(b"no model")
    with pytest.raises(Unavailable, match="can't be loaded"):
        OnnxCrossEncoder(tmp_path, "tiny")
    source = tmp_path / "embedder"
    tiny_bert.write_model(source)
    with pytest.raises(SetupError, match="not one score"):
        load_reranker(str(source)).score("a", ["b"], Deadline())


def test_int8_ranks_as_fp32_does(tmp_path: Path) -> None:
    source = tmp_path / "tiny"
    weights = tiny_bert.write_model(source, labels=1)
    reranker = load_reranker(str(source), threads=1)
    found = reranker.score("what is a pod", PASSAGES[:2], Deadline())
    pairs = [reranker._tokenizer.encode("what is a pod", passage) for passage in PASSAGES[:2]]
    exact = [float(tiny_bert.logits(weights, pair.ids, pair.type_ids)[0]) for pair in pairs]
    assert np.allclose(np.array(found, dtype=float), exact, atol=0.3)
