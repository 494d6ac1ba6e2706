"""What these tests prove of the graph that is built from published weights:

* it computes what the paper's formulas compute (a numpy BERT is the oracle), for encoders and for classifiers;
* padding in a batch changes nothing; half-precision weights are read as what they are;
* int8 stays close to fp32; what isn't a BERT is refused by name.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from librarian.embeddings.onnx_build import build, build_files, read_safetensors
from librarian.errors import SetupError
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


@pytest.mark.parametrize("kind", ["xlm-roberta", "camembert"])
def test_roberta_counts_positions_from_behind_its_padding(kind: str) -> None:
    weights = tiny_bert.weights_of()
    config = tiny_bert.CONFIG | {"model_type": kind, "pad_token_id": 1}
    prefixed = {f"roberta.{name}": array for name, array in weights.items()}
    found = run(build(prefixed, config), ROWS)
    assert np.allclose(found[1], tiny_bert.states(weights, ROWS[1], first_position=2), atol=1e-5)


def test_a_classifier_reads_both_segments() -> None:
    weights = tiny_bert.weights_of(labels=1)
    types = [[0, 0, 1, 1], [0, 0, 0, 1, 1, 1, 1, 1, 1], [0, 1]]
    found = run(build(weights, tiny_bert.CONFIG, classifier=True), ROWS, types)
    expected = np.stack([tiny_bert.logits(weights, row, kinds) for row, kinds in zip(ROWS, types, strict=True)])
    assert found.shape == (3, 1)
    assert np.allclose(found, expected, atol=1e-5)


def test_roberta_s_classifier_has_its_own_head() -> None:
    weights = tiny_bert.weights_of(labels=1)
    plain = {name.removeprefix("bert."): array for name, array in weights.items()}
    renamed = {f"roberta.{n}": a for n, a in plain.items() if not n.startswith(("pooler", "classifier"))}
    for new, old in (("classifier.dense", "pooler.dense"), ("classifier.out_proj", "classifier")):
        for part in ("weight", "bias"):
            renamed[f"{new}.{part}"] = plain[f"{old}.{part}"]
    types = [[0] * len(row) for row in ROWS]
    expected = run(build(weights, tiny_bert.CONFIG, classifier=True), ROWS, types)
    assert np.allclose(run(build(renamed, tiny_bert.CONFIG, classifier=True), ROWS, types), expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["float16", "float64", "bfloat16"])
def test_other_precisions_are_read_as_numbers(tmp_path: Path, kind: str) -> None:
    numbers = np.array([[1.0, -2.5], [0.15625, 3.0]], dtype=np.float32)  # exact in all three
    stored = (numbers.view(np.uint32) >> 16).astype(np.uint16) if kind == "bfloat16" else numbers.astype(kind)
    tiny_bert.write_safetensors(tmp_path / "w.safetensors", {"a": stored})
    found = read_safetensors(tmp_path / "w.safetensors")["a"]
    assert found.dtype == np.float32
    assert np.array_equal(found, numbers)


@pytest.mark.parametrize("data", [b"\x08\x00\x00\x00\x00\x00\x00\x00notjson!", b"\xff" * 64, b"\x02\0\0\0\0\0\0\0[]"])
def test_a_broken_weights_file_is_named(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "model.safetensors").write_bytes(data)
    with pytest.raises(SetupError, match=r"model\.safetensors"):
        read_safetensors(tmp_path / "model.safetensors")


def test_what_is_no_bert_is_refused_by_name() -> None:
    with pytest.raises(SetupError, match="word_embeddings"):
        build({"other.weight": np.zeros((2, 2), np.float32)}, tiny_bert.CONFIG)
    with pytest.raises(SetupError, match="swish"):
        build(tiny_bert.weights_of(), tiny_bert.CONFIG | {"hidden_act": "swish"})


def test_int8_is_close_to_fp32(tmp_path: Path) -> None:
    weights = tiny_bert.write_model(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    build_files(tmp_path, tmp_path / "model.safetensors", config, keep_fp32=True)
    fp32, int8 = run(str(tmp_path / "model.onnx"), ROWS), run(str(tmp_path / "model_int8.onnx"), ROWS)
    assert np.allclose(fp32[0, : len(ROWS[0])], tiny_bert.states(weights, ROWS[0]), atol=1e-5)
    lengths = np.linalg.norm(fp32, axis=2) * np.linalg.norm(int8, axis=2)
    assert ((fp32 * int8).sum(axis=2) / lengths).min() > 0.95
