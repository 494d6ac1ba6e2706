"""What these tests prove of the graph that is built from published weights:

* it computes what the paper's formulas compute (a numpy BERT is the oracle), for encoders and for classifiers;
* padding in a batch changes nothing; int8 stays close to fp32;
* the files in the package are those that the published weights make.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from build_model import FILES_SHA256, GRAPH_SHA256, SHIPPED, build, require_sha256

from tests.embeddings import tiny_bert

ROWS = ([2, 4, 6, 3], [2, 5, 7, 8, 9, 4, 10, 5, 3], [2, 3])


def run(model: Any, rows: tuple[list[int], ...], types: list[list[int]] | None = None) -> Any:
    import onnxruntime

    source = model if isinstance(model, str) else model.SerializeToString()
    session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
    width = max(map(len, rows))
    ids, mask, kinds = (np.zeros((len(rows), width), dtype=np.int64) for _ in range(3))
    for index, row in enumerate(rows):
        ids[index, : len(row)], mask[index, : len(row)] = row, 1
        if types:
            kinds[index, : len(row)] = types[index]
    return session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds})[0]


def test_the_graph_computes_what_the_paper_says() -> None:
    weights = tiny_bert.weights_of()
    found = run(build(weights, tiny_bert.CONFIG), ROWS)
    for states, row in zip(found, ROWS, strict=True):
        assert np.allclose(states[: len(row)], tiny_bert.states(weights, row), atol=1e-5)


def test_a_classifier_reads_both_segments() -> None:
    weights = tiny_bert.weights_of(labels=1)
    types = [[0, 0, 1, 1], [0, 0, 0, 1, 1, 1, 1, 1, 1], [0, 1]]
    found = run(build(weights, tiny_bert.CONFIG, classifier=True), ROWS, types)
    expected = np.stack([tiny_bert.logits(weights, row, kinds) for row, kinds in zip(ROWS, types, strict=True)])
    assert found.shape == (3, 1)
    assert np.allclose(found, expected, atol=1e-5)


def test_weights_of_another_kind_of_model_are_refused() -> None:
    with pytest.raises(KeyError, match="word_embeddings"):
        build({"other.weight": np.zeros((2, 2), np.float32)}, tiny_bert.CONFIG)


def test_the_shipped_files_are_those_of_the_published_weights(tmp_path: Path) -> None:
    require_sha256(SHIPPED / "model_int8.onnx", GRAPH_SHA256)
    require_sha256(SHIPPED / "tokenizer.json", FILES_SHA256["tokenizer.json"])
    manifest = json.loads((SHIPPED / "manifest.json").read_text())
    assert manifest["weights_sha256"] == FILES_SHA256["model.safetensors"]
    with pytest.raises(ValueError, match=r"tokenizer\.json has the SHA-256 be50"):
        require_sha256(SHIPPED / "tokenizer.json", GRAPH_SHA256)


def test_int8_is_close_to_fp32(tmp_path: Path) -> None:
    weights = tiny_bert.write_model(tmp_path)
    fp32, int8 = run(str(tmp_path / "model.onnx"), ROWS), run(str(tmp_path / "model_int8.onnx"), ROWS)
    assert np.allclose(fp32[0, : len(ROWS[0])], tiny_bert.states(weights, ROWS[0]), atol=1e-5)
    lengths = np.linalg.norm(fp32, axis=2) * np.linalg.norm(int8, axis=2)
    assert ((fp32 * int8).sum(axis=2) / lengths).min() > 0.95
