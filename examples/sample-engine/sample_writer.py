"""Write models in the sample engine's own format, and the operator JSON beside them.

The format is told in ``models/FORMAT.md``. Nothing here knows about randomness or time: equal
calls give equal bytes. Only the standard library and NumPy.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"SAMPLENN"
VERSION = 1

Array = NDArray[Any]

DTYPES: dict[str, tuple[int, str]] = {
    "Float32": (0, "<f4"),
    "QuantizedS8": (1, "|i1"),
    "QuantizedS32": (2, "<i4"),
}
"""Name -> (number in the file, how NumPy spells it)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A value in a model, by number."""

    number: int
    name: str
    dtype: str
    shape: tuple[int, ...]
    scale: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operator:
    type: str
    name: str
    mode: str
    parameters: tuple[int, ...]
    inputs: tuple[int, ...]
    output: int
    weights: bytes


def fnv1a(data: bytes) -> int:
    """Return the 64-bit FNV-1a hash of the bytes."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


class ModelWriter:
    """Collects tensors and operators in order. Shapes of outputs are worked out here."""

    def __init__(self) -> None:
        self._tensors: list[Tensor] = []
        self._operators: list[_Operator] = []
        self._outputs: list[int] = []

    # What a model is made of.

    def input(
        self, name: str, shape: Sequence[int], dtype: str = "Float32", scale: float = 1.0
    ) -> Tensor:
        return self._add("Input", (), tuple(shape), name=name, dtype=dtype, scale=scale)

    def weight(self, values: Array, dtype: str = "Float32", scale: float = 1.0) -> Tensor:
        data = np.ascontiguousarray(values, dtype=DTYPES[dtype][1]).tobytes()
        return self._add("Weight", (), values.shape, dtype=dtype, scale=scale, weights=data)

    def conv(
        self,
        image: Tensor,
        kernel: Tensor,
        bias: Tensor | None = None,
        *,
        stride: int = 1,
        pad: int = 0,
        groups: int = 1,
        activation: str = "IDENTITY",
        scale: float = 1.0,
    ) -> Tensor:
        height, width = (
            (size + 2 * pad - window) // stride + 1
            for size, window in zip(image.shape[2:], kernel.shape[2:], strict=True)
        )
        inputs = (image, kernel) if bias is None else (image, kernel, bias)
        shape = (image.shape[0], kernel.shape[0], height, width)
        parameters = (stride, stride, pad, pad, groups)
        return self._add(
            "ConvBias", inputs, shape, mode=activation, parameters=parameters, scale=scale
        )

    def matmul(
        self, left: Tensor, right: Tensor, *, transpose: tuple[bool, bool] = (False, False)
    ) -> Tensor:
        shape = (left.shape[int(transpose[0])], right.shape[1 - int(transpose[1])])
        integer = left.dtype != "Float32"
        return self._add(
            "MatrixMul",
            (left, right),
            shape,
            parameters=tuple(map(int, transpose)),
            dtype="QuantizedS32" if integer else "Float32",
            scale=left.scale * right.scale,
        )

    def pool(
        self, image: Tensor, mode: str, window: int | Sequence[int], stride: int, pad: int = 0
    ) -> Tensor:
        window_h, window_w = (window, window) if isinstance(window, int) else window
        height = (image.shape[2] + 2 * pad - window_h) // stride + 1
        width = (image.shape[3] + 2 * pad - window_w) // stride + 1
        return self._add(
            "Pooling",
            (image,),
            (*image.shape[:2], height, width),
            mode=mode,
            parameters=(window_h, window_w, stride, stride, pad, pad),
        )

    def elemwise(self, mode: str, *operands: Tensor, scale: float | None = None) -> Tensor:
        return self._add("Elemwise", operands, operands[0].shape, mode=mode, scale=scale)

    def reduce(self, value: Tensor, mode: str, axis: int) -> Tensor:
        shape = tuple(1 if i == axis else size for i, size in enumerate(value.shape))
        return self._add("Reduce", (value,), shape, mode=mode, parameters=(axis,))

    def softmax(self, value: Tensor, axis: int) -> Tensor:
        return self._add("Softmax", (value,), value.shape, parameters=(axis,))

    def concat(self, values: Sequence[Tensor], axis: int) -> Tensor:
        length = sum(value.shape[axis] for value in values)
        shape = tuple(length if i == axis else n for i, n in enumerate(values[0].shape))
        return self._add("Concat", tuple(values), shape, parameters=(axis,))

    def reshape(self, value: Tensor, *shape: int) -> Tensor:
        return self._add("Reshape", (value,), shape)

    def transpose(self, value: Tensor, *order: int) -> Tensor:
        shape = tuple(value.shape[axis] for axis in order)
        return self._add("Transpose", (value,), shape, parameters=order)

    def convert(self, value: Tensor, dtype: str, scale: float = 1.0) -> Tensor:
        return self._add("TypeCvt", (value,), value.shape, dtype=dtype, scale=scale)

    def resize(self, image: Tensor, mode: str, height: int, width: int) -> Tensor:
        return self._add("Resize", (image,), (*image.shape[:2], height, width), mode=mode)

    def output(self, *values: Tensor) -> None:
        """Make the values outputs of the model."""
        self._outputs += [value.number for value in values]

    # What comes of it.

    def model(self) -> bytes:
        """Return the model file."""
        body = b"".join(
            (
                *_counted(_tensor_bytes(tensor) for tensor in self._tensors),
                *_counted(_operator_bytes(operator) for operator in self._operators),
                *_counted(struct.pack("<I", number) for number in self._outputs),
            )
        )
        return MAGIC + struct.pack("<IQ", VERSION, fnv1a(body)) + body

    def operator_json(self) -> str:
        """Return the model's operator JSON: what the engine must keep for it."""
        (model_hash,) = struct.unpack_from("<Q", self.model(), 12)
        modes = {each.mode for each in self._operators if each.type == "Elemwise"}
        content = {
            "hash": model_hash,
            "dtypes": sorted({tensor.dtype for tensor in self._tensors}),
            "opr_types": sorted({each.type for each in self._operators}),
            "elemwise_modes": sorted(modes),
        }
        return json.dumps(content) + "\n"

    def write(self, path: Path) -> None:
        """Write the model to ``path`` and its operator JSON to ``path`` + ``.json``."""
        path.write_bytes(self.model())
        path.with_name(path.name + ".json").write_text(self.operator_json(), encoding="utf-8")

    def _add(
        self,
        kind: str,
        inputs: Sequence[Tensor],
        shape: Sequence[int],
        *,
        name: str = "",
        mode: str = "",
        parameters: Sequence[int] = (),
        dtype: str | None = None,
        scale: float | None = None,
        weights: bytes = b"",
    ) -> Tensor:
        """Add an operator and its output; data type and scale are the first input's if not said."""
        number = len(self._tensors)
        tensor = Tensor(
            number=number,
            name=name or f"{kind.lower()}{number}",
            dtype=inputs[0].dtype if dtype is None else dtype,
            shape=tuple(int(size) for size in shape),
            scale=inputs[0].scale if scale is None else scale,
        )
        operator = _Operator(
            type=kind,
            name=tensor.name,
            mode=mode,
            parameters=tuple(parameters),
            inputs=tuple(each.number for each in inputs),
            output=number,
            weights=weights,
        )
        self._tensors.append(tensor)
        self._operators.append(operator)
        return tensor


def _counted(parts: Iterable[bytes]) -> list[bytes]:
    items = list(parts)
    return [struct.pack("<I", len(items)), *items]


def _text(value: str) -> bytes:
    return struct.pack("<B", len(value)) + value.encode("ascii")


def _tensor_bytes(tensor: Tensor) -> bytes:
    number, _ = DTYPES[tensor.dtype]
    dims = struct.pack(f"<B{len(tensor.shape)}I", len(tensor.shape), *tensor.shape)
    return _text(tensor.name) + struct.pack("<Bf", number, tensor.scale) + dims


def _operator_bytes(operator: _Operator) -> bytes:
    names = _text(operator.type) + _text(operator.name) + _text(operator.mode)
    parameters = operator.parameters
    return b"".join(
        (
            names,
            struct.pack(f"<B{len(parameters)}i", len(parameters), *parameters),
            struct.pack(f"<B{len(operator.inputs)}I", len(operator.inputs), *operator.inputs),
            struct.pack("<BI", 1, operator.output),
            struct.pack("<I", len(operator.weights)) + operator.weights,
        )
    )
