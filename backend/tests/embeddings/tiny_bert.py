"""A BERT of a few thousand weights, written as it would be published, and its arithmetic in plain numpy."""

from __future__ import annotations

import json
from math import erf
from pathlib import Path
from typing import Any

import build_model
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
_TEXT = "[PAD] [UNK] [CLS] [SEP] pod node the scheduler assigns a to runs volume persistent what is read query > ."
WORDS = _TEXT.split()
CONFIG: dict[str, Any] = {
    "architectures": ["BertModel"], "model_type": "bert", "hidden_size": 32, "num_attention_heads": 4,
    "num_hidden_layers": 2, "intermediate_size": 64, "hidden_act": "gelu", "layer_norm_eps": 1e-12,
    "max_position_embeddings": 64, "type_vocab_size": 2, "vocab_size": len(WORDS), "pad_token_id": 0,
}  # fmt: skip


def weights_of(config: dict[str, Any] = CONFIG, *, seed: int = 0, labels: int = 0) -> dict[str, Array]:
    """Random weights under the published names; with `labels`, a classifier's head too."""
    rng = np.random.default_rng(seed)
    hidden, inner = config["hidden_size"], config["intermediate_size"]

    def dense(name: str, out: int, into: int) -> dict[str, Array]:
        return {
            f"{name}.weight": (rng.standard_normal((out, into)) / np.sqrt(into)).astype(np.float32),
            f"{name}.bias": (rng.standard_normal(out) / 10).astype(np.float32),
        }

    def norm(name: str) -> dict[str, Array]:
        return {
            f"{name}.weight": (1 + rng.standard_normal(hidden) / 10).astype(np.float32),
            f"{name}.bias": (rng.standard_normal(hidden) / 10).astype(np.float32),
        }

    out: dict[str, Array] = {}
    for name, rows in (
        ("word", "vocab_size"),
        ("position", "max_position_embeddings"),
        ("token_type", "type_vocab_size"),
    ):
        shape = (config[rows], hidden)
        out[f"embeddings.{name}_embeddings.weight"] = rng.standard_normal(shape).astype(np.float32)
    out |= norm("embeddings.LayerNorm")
    for index in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{index}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            out |= dense(f"{layer}.attention.{part}", hidden, hidden)
        out |= norm(f"{layer}.attention.output.LayerNorm")
        out |= dense(f"{layer}.intermediate.dense", inner, hidden)
        out |= dense(f"{layer}.output.dense", hidden, inner)
        out |= norm(f"{layer}.output.LayerNorm")
    if labels:
        out = {f"bert.{name}": array for name, array in out.items()}
        out |= {f"bert.{name}": array for name, array in dense("pooler.dense", hidden, hidden).items()}
        out |= dense("classifier", labels, hidden)
    return out


def write_safetensors(path: Path, weights: dict[str, Array]) -> None:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    body = b""
    kinds = {"float32": "F32", "int64": "I64"}
    for name, array in weights.items():
        data = np.ascontiguousarray(array).tobytes()
        place = [len(body), len(body) + len(data)]
        header[name] = {"dtype": kinds[str(array.dtype)], "shape": list(array.shape), "data_offsets": place}
        body += data
    encoded = json.dumps(header).encode()
    path.write_bytes(len(encoded).to_bytes(8, "little") + encoded + body)


def write_tokenizer(path: Path) -> None:
    """Word-level, BERT's special tokens, and the packaged model's bad habit of padding and cutting to 16."""
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import WordLevel

    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_padding(length=16)
    tokenizer.enable_truncation(16)
    tokenizer.save(str(path))


def write_model(folder: Path, *, labels: int = 0, seed: int = 0, **changes: Any) -> dict[str, Array]:
    """A folder as a hub would publish it, with an ONNX graph in fp32 and in int8; returns the weights."""
    folder.mkdir(parents=True, exist_ok=True)
    config = CONFIG | changes
    if labels:
        config |= {"architectures": ["BertForSequenceClassification"]}
    weights = weights_of(config, seed=seed, labels=labels)
    write_safetensors(folder / "model.safetensors", weights)
    (folder / "config.json").write_text(json.dumps(config))
    write_tokenizer(folder / "tokenizer.json")
    build_model.build_files(folder, classifier=bool(labels))
    return weights


def _linear(weights: dict[str, Array], name: str, value: Array) -> Array:
    found: Array = value @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
    return found


def _norm(weights: dict[str, Array], name: str, value: Array) -> Array:
    centred = value - value.mean(-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
    found: Array = centred / spread * weights[f"{name}.weight"] + weights[f"{name}.bias"]
    return found


def states(weights: dict[str, Array], ids: list[int], types: list[int] | None = None, first_position: int = 0) -> Array:
    """(tokens, hidden) of one text, as the paper says it, without batches or masks."""
    weights = {name.removeprefix("bert."): array.astype(np.float64) for name, array in weights.items()}
    heads = CONFIG["num_attention_heads"]
    count = len(ids)
    value = (
        weights["embeddings.word_embeddings.weight"][ids]
        + weights["embeddings.position_embeddings.weight"][first_position : first_position + count]
        + weights["embeddings.token_type_embeddings.weight"][types or [0] * count]
    )
    value = _norm(weights, "embeddings.LayerNorm", value)
    gelu = np.vectorize(lambda x: x * 0.5 * (1 + erf(x / np.sqrt(2))))
    for index in range(CONFIG["num_hidden_layers"]):
        layer = f"encoder.layer.{index}"
        q, k, v = (
            _linear(weights, f"{layer}.attention.self.{part}", value).reshape(count, heads, -1)
            for part in ("query", "key", "value")
        )
        mixed = np.empty_like(q)
        for head in range(heads):
            scores = q[:, head] @ k[:, head].T / np.sqrt(q.shape[-1])
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            mixed[:, head] = shares / shares.sum(-1, keepdims=True) @ v[:, head]
        out = _linear(weights, f"{layer}.attention.output.dense", mixed.reshape(count, -1))
        value = _norm(weights, f"{layer}.attention.output.LayerNorm", out + value)
        out = _linear(weights, f"{layer}.output.dense", gelu(_linear(weights, f"{layer}.intermediate.dense", value)))
        value = _norm(weights, f"{layer}.output.LayerNorm", out + value)
    return value


def embedding(weights: dict[str, Array], ids: list[int], pooling: str = "mean", first_position: int = 0) -> Array:
    """(hidden,) of one text, unit length."""
    found = states(weights, ids, first_position=first_position)
    pooled: Array = {"mean": found.mean(0), "cls": found[0], "last": found[-1]}[pooling]
    unit: Array = pooled / np.linalg.norm(pooled)
    return unit


def logits(weights: dict[str, Array], ids: list[int], types: list[int]) -> Array:
    """(labels,) of a question and passage."""
    plain = {name.removeprefix("bert."): array.astype(np.float64) for name, array in weights.items()}
    first = np.tanh(_linear(plain, "pooler.dense", states(weights, ids, types)[0]))
    return _linear(plain, "classifier", first)
