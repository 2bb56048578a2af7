"""Write the three example models, their inputs and operator JSON into ``models/``.

    python write_models.py [FOLDER]

They share some kernels and not others: ``tiny-vgg`` (plain convolutions), ``tiny-mobile``
(depthwise and 1 x 1 convolutions), ``tiny-quant`` (8-bit integers). Weights are noise of a fixed
seed, so the bytes are always the same; the outputs mean nothing, but they depend on every layer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sample_writer import ModelWriter, Tensor

Floats = NDArray[np.float32]

_STEP = 0x9E3779B97F4A7C15
_MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


class Noise:
    """Uniform noise by SplitMix64: unlike NumPy's generators, the same in every version."""

    def __init__(self, seed: int) -> None:
        self._drawn = seed << 32

    def uniform(self, *shape: int) -> Floats:
        """Return numbers between -1 and 1."""
        count = int(np.prod(shape))
        index = np.arange(1, count + 1, dtype=np.uint64) + np.uint64(self._drawn)
        self._drawn += count
        value = index * np.uint64(_STEP)
        for shift, factor in zip((30, 27), _MIX, strict=True):
            value = (value ^ (value >> np.uint64(shift))) * np.uint64(factor)
        value ^= value >> np.uint64(31)
        unit = (value >> np.uint64(40)).astype(np.float32) / np.float32(1 << 24)
        return (2 * unit - 1).reshape(shape).astype(np.float32)

    def filters(self, out: int, each: int, size: int) -> Floats:
        """Return convolution filters that keep the size of values about the same."""
        return self.uniform(out, each, size, size) * np.float32((3.0 / (each * size * size)) ** 0.5)

    def matrix(self, rows: int, columns: int) -> Floats:
        return self.uniform(rows, columns) * np.float32((3.0 / rows) ** 0.5)

    def integers(self, *shape: int) -> NDArray[np.int8]:
        return np.round(self.uniform(*shape) * 100).astype(np.int8)


class _Layers:
    """Layers with weights of noise."""

    def __init__(self, writer: ModelWriter, noise: Noise) -> None:
        self.writer = writer
        self.noise = noise

    def conv(
        self,
        image: Tensor,
        out: int,
        size: int,
        *,
        stride: int = 1,
        activation: str = "RELU",
        depthwise: bool = False,
    ) -> Tensor:
        groups = image.shape[1] if depthwise else 1
        kernel = self.writer.weight(self.noise.filters(out, image.shape[1] // groups, size))
        bias = self.writer.weight(self.noise.uniform(out) * np.float32(0.1))
        return self.writer.conv(
            image,
            kernel,
            bias,
            stride=stride,
            pad=size // 2,
            groups=groups,
            activation=activation,
        )

    def quantised_conv(
        self, image: Tensor, out: int, size: int, *, stride: int, scale: float
    ) -> Tensor:
        each = image.shape[1]
        kernel = self.writer.weight(
            self.noise.integers(out, each, size, size), "QuantizedS8", 1.0 / (each * size * 40)
        )
        sums = np.round(self.noise.uniform(out) * 200).astype(np.int32)
        bias = self.writer.weight(sums, "QuantizedS32", image.scale * kernel.scale)
        return self.writer.conv(
            image, kernel, bias, stride=stride, pad=size // 2, activation="RELU", scale=scale
        )

    def classifier(self, features: Tensor, classes: int) -> Tensor:
        count = int(np.prod(features.shape[1:]))
        flat = self.writer.reshape(features, 1, count)
        scores = self.writer.matmul(flat, self.writer.weight(self.noise.matrix(count, classes)))
        bias = self.writer.weight(self.noise.uniform(1, classes))
        return self.writer.softmax(self.writer.elemwise("ADD", scores, bias), 1)


def tiny_vgg() -> ModelWriter:
    """Plain 3 x 3 convolutions, max pooling and a matrix product, in float32."""
    writer = ModelWriter()
    layers = _Layers(writer, Noise(1))
    value = layers.conv(writer.input("data", (1, 3, 32, 32)), 8, 3)
    value = writer.pool(layers.conv(value, 16, 3), "MAX", 2, 2)
    value = writer.pool(layers.conv(value, 16, 3), "MAX", 2, 2)
    value = writer.pool(layers.conv(value, 24, 3), "MAX", 2, 2)
    writer.output(layers.classifier(value, 10))
    return writer


def tiny_mobile() -> ModelWriter:
    """Depthwise and 1 x 1 convolutions with a residual, in float32."""
    writer = ModelWriter()
    layers = _Layers(writer, Noise(2))
    value = layers.conv(writer.input("data", (1, 3, 32, 32)), 8, 3, stride=2, activation="H_SWISH")
    for out, size, stride in ((16, 3, 1), (24, 3, 2), (24, 5, 1)):
        before = value
        value = layers.conv(value, value.shape[1], size, stride=stride, depthwise=True)
        value = layers.conv(value, out, 1, activation="IDENTITY")
        if before.shape == value.shape:
            value = writer.elemwise("FUSE_ADD_RELU", value, before)
    value = writer.pool(value, "AVERAGE", value.shape[2], 1)
    writer.output(layers.classifier(value, 10))
    return writer


def tiny_quant() -> ModelWriter:
    """Convolutions and a matrix product over 8-bit integers."""
    writer = ModelWriter()
    layers = _Layers(writer, Noise(3))
    image = writer.input("data", (1, 3, 24, 24))
    value = writer.convert(image, "QuantizedS8", 1.0 / 127)
    value = layers.quantised_conv(value, 8, 3, stride=2, scale=0.01)
    before = value = layers.quantised_conv(value, 16, 3, stride=1, scale=0.01)
    value = layers.quantised_conv(value, 16, 1, stride=1, scale=0.01)
    value = writer.elemwise("ADD", value, before, scale=0.02)
    value = writer.pool(value, "MAX", 2, 2)
    flat = writer.reshape(value, 1, int(np.prod(value.shape)))
    matrix = writer.weight(layers.noise.integers(flat.shape[1], 10), "QuantizedS8", 0.0004)
    scores = writer.convert(writer.matmul(flat, matrix), "Float32")
    writer.output(writer.softmax(scores, 1))
    return writer


MODELS: dict[str, Callable[[], ModelWriter]] = {
    "tiny-vgg": tiny_vgg,
    "tiny-mobile": tiny_mobile,
    "tiny-quant": tiny_quant,
}

INPUT_SHAPES: dict[str, tuple[int, ...]] = {
    "tiny-vgg": (1, 3, 32, 32),
    "tiny-mobile": (1, 3, 32, 32),
    "tiny-quant": (1, 3, 24, 24),
}


def write_all(folder: Path) -> None:
    """Write ``NAME.sample``, ``NAME.sample.json`` and ``NAME.data.npy`` for every model."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (name, build) in enumerate(MODELS.items(), start=100):
        build().write(folder / f"{name}.sample")
        np.save(folder / f"{name}.data.npy", Noise(seed).uniform(*INPUT_SHAPES[name]))


if __name__ == "__main__":
    write_all(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "models")
