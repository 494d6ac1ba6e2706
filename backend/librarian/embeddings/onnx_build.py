"""Builds the ONNX graph of a BERT encoder from its published weights, without torch.

The graph is the encoder of Devlin et al. 2019 (arXiv:1810.04805). Query, key and value share one product, so that int8
arithmetic quantizes a layer's input once instead of three times. Pooling is left to whoever runs it (`onnx.pool`).

Reads safetensors files by their published layout: eight bytes with the header's length, a JSON header, the numbers.
"""

from __future__ import annotations

import json
import logging
import math
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import SetupError, install

Array = npt.NDArray[Any]

OPSET = 17  #: the first with LayerNormalization
_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "U8": "u1"}
COUNT_FROM_PADDING = ("roberta", "camembert")  #: how kinds of model end whose first position isn't 0
_PREFIXES = ("bert.", "model.", "roberta.", "xlm-roberta.", "0.auto_model.")


def read_safetensors(path: Path) -> dict[str, Array]:
    """Name → array. Half-precision weights become float32. Raises `SetupError` where the file isn't one."""
    data = np.memmap(path, dtype=np.uint8, mode="r")
    try:
        size = int.from_bytes(bytes(data[:8]), "little")
        header: dict[str, dict[str, Any]] = json.loads(bytes(data[8 : 8 + size]))
        out: dict[str, Array] = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            start, end = entry["data_offsets"]
            numbers = np.frombuffer(bytes(data[8 + size + start : 8 + size + end]), dtype=_DTYPES[entry["dtype"]])
            if entry["dtype"] == "BF16":
                numbers = (numbers.astype(np.uint32) << 16).view(np.float32)
            elif entry["dtype"] in ("F16", "F64"):
                numbers = numbers.astype(np.float32)
            out[name] = numbers.reshape(entry["shape"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SetupError(
            f"{path} isn't a readable safetensors file ({error}).", hint="It may be cut short: copy or fetch it again."
        ) from error
    return out


def _unprefixed(weights: Mapping[str, Array]) -> dict[str, Array]:
    for prefix in _PREFIXES:
        if f"{prefix}embeddings.word_embeddings.weight" in weights:
            return {name.removeprefix(prefix): array for name, array in weights.items()}
    return dict(weights)


class _Encoder:
    """Collects nodes and constants; every method returns the name of its result."""

    def __init__(self, weights: Mapping[str, Array], config: Mapping[str, Any]) -> None:
        self.weights = _unprefixed(weights)
        self.hidden = int(config["hidden_size"])
        self.heads = int(config["num_attention_heads"])
        self.layers = int(config["num_hidden_layers"])
        self.epsilon = float(config.get("layer_norm_eps", 1e-12))
        if (activation := config.get("hidden_act", "gelu")) != "gelu":
            raise SetupError(
                f"The activation '{activation}' isn't known.", hint="Choose a model that publishes an ONNX file."
            )
        kind = str(config.get("model_type", "bert"))
        # RoBERTa, and CamemBERT with it, counts positions from behind its padding token's number.
        self.first_position = int(config.get("pad_token_id", 1)) + 1 if kind.endswith(COUNT_FROM_PADDING) else 0
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, op: str, *inputs: str, name: str = "", **attributes: object) -> str:
        from onnx import helper

        output = name or f"{op.lower()}_{len(self.nodes) + 1}_0"
        number = f"node_{len(self.nodes) + 1}"
        self.nodes.append(helper.make_node(op, list(inputs), [output], name=number, **attributes))
        return output

    def constant(self, array: Array, name: str = "") -> str:
        from onnx import numpy_helper

        name = name or f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, dtype=np.int64))

    def floats(self, value: float) -> str:
        return self.constant(np.array(value, dtype=np.float32))

    def weight(self, name: str) -> Array:
        try:
            return self.weights[name].astype(np.float32)
        except KeyError:
            raise SetupError(
                f"The weights hold no '{name}': this isn't a BERT-like encoder.",
                hint=f"Choose a model that publishes an ONNX file, or run {install('torch')}.",
            ) from None

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
        end = self.node("Add", length, self.ints(self.first_position))
        first = self.ints(self.first_position)
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
        roberta = "classifier.dense.weight" in self.weights
        inner, outer = ("classifier.dense", "classifier.out_proj") if roberta else ("pooler.dense", "classifier")
        return self.dense(self.node("Tanh", self.dense(first, inner)), outer)


def build(weights: Mapping[str, Array], config: Mapping[str, Any], *, classifier: bool = False) -> Any:
    """The model as an ONNX `ModelProto`.

    Inputs `input_ids`, `attention_mask`, `token_type_ids`, all int64 (batch, tokens). Output `last_hidden_state`
    (batch, tokens, hidden), of a classifier `logits` (batch, labels). Raises `SetupError` where the weights are of
    another kind of model.
    """
    from onnx import TensorProto, checker, helper

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
    """int8 weights, one scale per output channel, activations quantized as they come.

    One scale per matrix is less exact; CPUs without VNNI saturate on eight full bits, hence `reduce_range`.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    noise = logging.getLogger().level
    logging.getLogger().setLevel(logging.ERROR)  # it asks for a pre-processing that dynamic quantization has no use for
    try:
        quantize_dynamic(str(source), str(target), per_channel=True, reduce_range=True, weight_type=QuantType.QInt8)
    finally:
        logging.getLogger().setLevel(noise)


def build_files(
    folder: Path, weights: Path, config: Mapping[str, Any], *, classifier: bool = False, keep_fp32: bool = False
) -> None:
    """Write `model_int8.onnx` (and `model.onnx` where asked) into `folder`."""
    import onnx

    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        plain = Path(scratch) / "model.onnx"
        onnx.save(build(read_safetensors(weights), config, classifier=classifier), str(plain))
        quantize(plain, folder / "model_int8.onnx")
        if keep_fp32:
            plain.rename(folder / "model.onnx")
