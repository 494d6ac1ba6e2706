"""The small ONNX graph that multiplies a question with a block of int8 rows, written as protobuf bytes.

The rows are a constant of the graph, because onnxruntime packs constants once for its integer kernels: 49,152 × 384
rows take 0.4 ms on one core so, and 13 ms as an input. The constant is declared external and handed over in memory:
onnxruntime then keeps the packed rows alone (19.5 MB for those), not beside the ones it read (38 MB). Writing the dozen
protobuf fields here spares the process that answers questions the import of the `onnx` package (20 MB). Field numbers
are those of onnx.proto (IR version 8, opset 13).
"""

from __future__ import annotations

from typing import Final

ZERO_POINT: Final = 64  #: added to the question's int parts, so that they are unsigned

_FLOAT: Final = 1
_UINT8: Final = 2
_INT8: Final = 3


def scan_graph(count: int, dimension: int) -> bytes:
    """A serialized model: `question` (2, dimension) uint8 and `worth` (1, 2) float32 → `scores` (1, count) float32.

    A row's score is its scale times the sum of its products with both parts of the question, each times its worth.
    The constants `rows`, int8 of shape (dimension, count), and `scales`, float32 of shape (1, count), are to be given
    as external initializers.
    """
    graph = b"".join(
        (
            _node("MatMulInteger", ("question", "rows", "zero"), "products"),
            _node("Cast", ("products",), "parts", _text(1, "to") + _number(3, _FLOAT) + _number(20, 2)),
            _node("MatMul", ("worth", "parts"), "sums"),
            _node("Mul", ("sums", "scales"), "scores"),
            _text(2, "scan"),
            _message(5, _tensor("rows", _INT8, (dimension, count)) + _elsewhere(count * dimension)),
            _message(5, _tensor("scales", _FLOAT, (1, count)) + _elsewhere(count * 4)),
            _message(5, _tensor("zero", _UINT8, ()) + _message(9, bytes([ZERO_POINT]))),
            _message(11, _value_info("question", _UINT8, (2, dimension))),
            _message(11, _value_info("worth", _FLOAT, (1, 2))),
            _message(12, _value_info("scores", _FLOAT, (1, count))),
        )
    )
    return b"".join((_number(1, 8), _message(7, graph), _message(8, _number(2, 13))))


def _node(kind: str, inputs: tuple[str, ...], output: str, attribute: bytes = b"") -> bytes:
    named = b"".join(_text(1, name) for name in inputs) + _text(2, output) + _text(4, kind)
    return _message(1, named + (_message(5, attribute) if attribute else b""))


def _elsewhere(length: int) -> bytes:
    """Of a tensor whose data is handed over in memory."""
    place = {"location": "memory", "offset": "0", "length": str(length)}
    return b"".join(_message(13, _text(1, key) + _text(2, value)) for key, value in place.items()) + _number(14, 1)


def _tensor(name: str, kind: int, shape: tuple[int, ...]) -> bytes:
    return b"".join(_number(1, size) for size in shape) + _number(2, kind) + _text(8, name)


def _value_info(name: str, kind: int, shape: tuple[int, ...]) -> bytes:
    dimensions = b"".join(_message(1, _number(1, size)) for size in shape)
    tensor_type = _number(1, kind) + _message(2, dimensions)
    return _text(1, name) + _message(2, _message(1, tensor_type))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _message(field: int, body: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(body)) + body


def _text(field: int, text: str) -> bytes:
    return _message(field, text.encode())
