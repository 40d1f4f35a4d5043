"""Writes networks as files of ONNX, whose messages are protobuf (onnx.proto, version 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Version of the format, and of its operators.
_IR_VERSION, _OPERATORS = 8, 17
#: `TensorProto.FLOAT`, `AttributeProto.INT`.
_FLOAT, _INT = 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """A dense layer and what follows it.

    Attributes:
        weights: Shape (outputs, inputs).
        bias: Shape (outputs,).
        then: Function of the outputs.
    """

    weights: ArrayLike
    bias: ArrayLike
    then: Literal["tanh", "relu"] | None = None


def written(layers: Sequence[Dense], notes: Mapping[str, str]) -> bytes:
    """Contents of a file with a network.

    Args:
        layers: Layers, first one first.
        notes: Texts by name (`metadata_props`).

    Raises:
        ValueError: Shapes do not fit, or a weight is no finite number.
    """
    graph, width = [_bytes(2, b"policy")], None
    value = "observations"
    for number, layer in enumerate(layers, start=1):
        weights, bias = _arrays(layer, number, width)
        if width is None:
            graph.append(_bytes(11, _value(value, weights.shape[1])))
        width = len(bias)
        names = f"weights{number}", f"bias{number}"
        given = [_bytes(1, name.encode()) for name in (value, *names)]
        transposed = _bytes(1, b"transB") + _number(3, 1) + _number(20, _INT)
        value = f"sums{number}"
        graph.append(_node("Gemm", [*given, _bytes(5, transposed)], value))
        if layer.then is not None:
            before, value = value, f"values{number}"
            graph.append(_node(layer.then.capitalize(), [_bytes(1, before.encode())], value))
        for name, array in zip(names, (weights, bias), strict=True):
            graph.append(_bytes(5, _tensor(name, array)))
    if width is None:
        raise ValueError("layers: at least one is needed")
    graph.append(_bytes(12, _value(value, width)))
    parts = [_number(1, _IR_VERSION), _bytes(2, b"dumbbell"), _bytes(7, b"".join(graph))]
    parts.append(_bytes(8, _number(2, _OPERATORS)))
    for key, text in notes.items():
        parts.append(_bytes(14, _bytes(1, key.encode()) + _bytes(2, text.encode())))
    return b"".join(parts)


def _arrays(
    layer: Dense, number: int, width: int | None
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    weights, bias = np.asarray(layer.weights, "<f4"), np.asarray(layer.bias, "<f4")
    shape = weights.shape
    if len(shape) != 2 or bias.shape != shape[:1] or (width is not None and shape[1] != width):
        of = "" if width is None else f", {width} inputs"
        raise ValueError(f"layer {number}: weights {shape} and bias {bias.shape} do not fit{of}")
    if not (np.isfinite(weights).all() and np.isfinite(bias).all()):
        raise ValueError(f"layer {number}: weights and biases are finite numbers")
    return weights, bias


def _node(operator: str, fields: Iterable[bytes], output: str) -> bytes:
    parts = [*fields, _bytes(2, output.encode()), _bytes(4, operator.encode())]
    return _bytes(1, b"".join(parts))


def _tensor(name: str, array: NDArray[np.float32]) -> bytes:
    shape = b"".join(_number(1, size) for size in array.shape)
    return shape + _number(2, _FLOAT) + _bytes(8, name.encode()) + _bytes(9, array.tobytes())


def _value(name: str, width: int) -> bytes:
    """A row of numbers with its name (`ValueInfoProto`)."""
    shape = _bytes(1, _number(1, 1)) + _bytes(1, _number(1, width))
    kind = _bytes(1, _number(1, _FLOAT) + _bytes(2, shape))
    return _bytes(1, name.encode()) + _bytes(2, kind)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _number(field: int, number: int) -> bytes:
    return _varint(field << 3) + _varint(number)


def _bytes(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data
