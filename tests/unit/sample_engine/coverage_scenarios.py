"""Runs that together execute every region of the sample engine.

Each is a model made on the fly and the arguments it is run with, in order: later ones use the
algorithm cache that earlier ones wrote. ``{cache}`` and ``{dump}`` stand for paths, ``{data}``
for the input as a .npy file.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from unit.sample_engine.engine_scripts import ENGINE, ModelWriter, Noise

Model = Any
Value = Any

MODES = [
    line.split()[0]
    for line in (ENGINE / "src/elemwise_modes.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
TERNARY = ("FUSE_MUL_ADD3", "COND_LEQ_MOV", "CLIP")
BINARY = tuple(MODES[MODES.index("ADD") : MODES.index("FUSE_MUL_ADD3")])
UNARY = tuple(MODES[: MODES.index("ADD")])
POOLINGS = ("MAX", "AVERAGE", "AVERAGE_COUNT_EXCLUDE_PADDING")
ACTIVATIONS = ("IDENTITY", "RELU", "SIGMOID", "H_SWISH")


class CoverageScenario(NamedTuple):
    name: str
    model: Callable[[], Model]
    input_shape: tuple[int, ...]
    arguments: tuple[str, ...]


class _Maker:
    """A model in the making, with weights of noise and every result an output."""

    def __init__(self, *shape: int) -> None:
        self.writer = ModelWriter()
        self.noise = Noise(7)
        self.data = self.writer.input("data", shape)

    def weight(self, *shape: int) -> Value:
        # Above zero, so that logarithms and roots are numbers.
        return self.writer.weight(self.noise.uniform(*shape) * np.float32(0.4) + np.float32(0.5))

    def quantised(self, *shape: int) -> Value:
        return self.writer.weight(self.noise.integers(*shape), "QuantizedS8", 0.01)

    def done(self, results: list[Value]) -> Model:
        self.writer.output(*results)
        return self.writer


def elementwise() -> Model:
    make = _Maker(1, 4, 3, 3)
    write = make.writer
    x = make.writer.elemwise("SIGMOID", make.data)
    same = make.weight(1, 4, 3, 3)
    channel = make.weight(1, 4, 1, 1)
    scalar = make.weight(1)
    results = [write.elemwise(mode, x) for mode in UNARY]
    results += [write.elemwise(m, x, y) for m in BINARY for y in (same, channel, scalar)]
    results += [write.elemwise(m, x, y, y) for m in TERNARY for y in (same, scalar)]
    quantised = write.convert(x, "QuantizedS8", 0.01)
    results += [write.elemwise(m, quantised) for m in ("RELU", "ABS", "NEGATE", "H_SWISH")]
    results += [
        write.elemwise(m, quantised, quantised)
        for m in ("ADD", "SUB", "MUL", "MAX", "MIN", "FUSE_ADD_RELU")
    ]
    return make.done(results)


_WINDOWS = tuple((size, stride) for size in (2, 3, 5, 7) for stride in (1, 2))


def convolutions() -> Model:
    """Each algorithm where it is the first choice, in real numbers."""
    make = _Maker(1, 3, 16, 16)
    conv = make.writer.conv
    weight = make.weight
    results = [
        conv(make.data, weight(4, 3, size, size), stride=stride, pad=size // 2)
        for size, stride in _WINDOWS
    ]
    deep = conv(make.data, weight(16, 3, 3, 3), pad=1)
    results += [
        conv(deep, weight(16, 1, size, size), stride=stride, pad=size // 2, groups=16)
        for size, stride in _WINDOWS[2:6]
    ]
    results += [conv(deep, weight(8, 16, 1, 1), stride=stride) for stride in (1, 2)]
    results += [conv(deep, weight(16, 16, 3, 3), pad=1), conv(deep, weight(8, 16, 3, 3), pad=1)]
    # No window of known size: as a matrix product, with few and with many output channels.
    results += [
        conv(deep, weight(out, 16, 4, 4), stride=stride) for out in (4, 16) for stride in (1, 2)
    ]
    for activation in ACTIVATIONS:
        for bias in (None, weight(4)):
            results.append(conv(make.data, weight(4, 3, 3, 3), bias, activation=activation))
    return make.done(results)


def quantised_convolutions() -> Model:
    """Each algorithm where it is the first choice, in 8-bit integers."""
    make = _Maker(1, 3, 12, 12)
    conv = make.writer.conv
    weight = make.quantised
    image = make.writer.convert(make.data, "QuantizedS8", 0.01)
    results = [
        conv(image, weight(4, 3, size, size), stride=stride, pad=size // 2, scale=0.05)
        for size, stride in _WINDOWS
    ]
    deep = conv(image, weight(8, 3, 3, 3), pad=1, activation="RELU", scale=0.05)
    results += [
        conv(deep, weight(8, 1, size, size), stride=stride, pad=size // 2, groups=8, scale=0.05)
        for size, stride in _WINDOWS[2:6]
    ]
    results += [conv(deep, weight(8, 8, 1, 1), stride=stride, scale=0.1) for stride in (1, 2)]
    results += [conv(deep, weight(4, 8, 4, 4), stride=stride, scale=0.2) for stride in (1, 2)]
    return make.done(results)


def blocked() -> Model:
    """Every kernel of the blocked layout, and both changes of layout."""
    make = _Maker(1, 4, 16, 16)
    write = make.writer
    weight = make.weight
    results = [
        write.conv(make.data, weight(4, 4, size, size), stride=stride, pad=size // 2)
        for size, stride in _WINDOWS[2:]
    ]
    deep = write.elemwise("RELU", results[0])
    for size in (1, 3, 5):
        for stride in (1, 2):
            results.append(write.conv(deep, weight(4, 4, size, size), stride=stride, pad=size // 2))
            if size > 1:
                depthwise = weight(4, 1, size, size)
                results.append(write.conv(deep, depthwise, stride=stride, pad=size // 2, groups=4))
    for mode in POOLINGS:
        results += [write.pool(deep, mode, *window) for window in ((2, 2), (3, 2, 1), (4, 4))]
    # A plain image that a 1 x 1 convolution wants in blocks.
    results.append(write.conv(make.data, weight(4, 4, 1, 1)))
    return make.done(results)


def poolings() -> Model:
    make = _Maker(1, 2, 8, 8)
    write = make.writer
    windows = ((2, 2), (3, 1, 1), (3, 2, 1), (4, 4), (8, 1))
    images = (make.data, write.convert(make.data, "QuantizedS8", 0.01))
    return make.done(
        [write.pool(i, mode, *window) for i in images for mode in POOLINGS for window in windows]
    )


def products() -> Model:
    make = _Maker(12, 12)
    write = make.writer
    data = make.data
    integers = write.convert(data, "QuantizedS8", 0.01)
    results = []
    for left, weight in ((data, make.weight), (integers, make.quantised)):
        results += [
            write.matmul(left, weight(12, 1)),
            write.matmul(left, weight(12, 1), transpose=(True, False)),
            write.matmul(weight(1, 12), left),
            write.matmul(weight(1, 12), left, transpose=(False, True)),
        ]
        for transpose in ((False, False), (True, False), (False, True)):
            small = (12, 5) if transpose[0] else (5, 12)
            results.append(write.matmul(weight(*small), left, transpose=transpose))
            results.append(write.matmul(left, weight(12, 12), transpose=transpose))
    return make.done(results)


def shapes() -> Model:
    """What reduces, joins, moves or converts values."""
    make = _Maker(2, 3, 4)
    write = make.writer
    data = make.data
    quantised = write.convert(data, "QuantizedS8", 0.01)
    integers = write.convert(data, "QuantizedS32", 0.01)
    results = [
        write.reduce(data, mode, axis)
        for mode in ("SUM", "MEAN", "MAX", "MIN", "PRODUCT", "SUM_SQR")
        for axis in (1, 2)
    ]
    results += [write.reduce(integers, m, axis) for m in ("SUM", "MAX", "MIN") for axis in (1, 2)]
    results += [write.softmax(data, axis) for axis in (1, 2)]
    for value in (data, quantised, integers):
        for dtype in ("Float32", "QuantizedS8", "QuantizedS32"):
            scale = 1.0 if dtype == "Float32" else 0.02
            results.append(write.convert(value, dtype, scale))
    results += [write.concat([data, data], axis) for axis in (0, 2)]
    for value in (data, quantised):
        results.append(write.transpose(value, 2, 0, 1))
        results.append(write.transpose(write.reshape(value, 6, 4), 1, 0))
    image = write.reshape(data, 1, 2, 3, 4)
    results += [write.resize(image, mode, 5, 7) for mode in ("NEAREST", "LINEAR")]
    return make.done(results)


_FED = ("--input", "data:{data}")
_SEARCH = ("--full-run", "--fast-run-algo-policy", "{cache}", "--warmup-iter", "0", "--iter", "1")
_RECORDED = ("--fast-run-algo-policy", "{cache}")

_RUNS = (
    ("elementwise", elementwise, (1, 4, 3, 3), (*_FED, "--bin_out_dump", "{dump}", "--model-info")),
    (
        "convolutions",
        convolutions,
        (1, 3, 16, 16),
        (*_FED, "--weight-preprocess", "--fake-first", "--warmup-iter", "2"),
    ),
    (
        "quantised",
        quantised_convolutions,
        (1, 3, 12, 12),
        ("--input", "data:{{1,3,12,12}}", "--multithread", "2"),
    ),
    ("blocked", blocked, (1, 4, 16, 16), (*_FED, "--enable-nchw44")),
    ("poolings", poolings, (1, 2, 8, 8), (*_FED, "--record-comp-seq")),
    ("products", products, (12, 12), _FED),
    (
        "shapes",
        shapes,
        (2, 3, 4),
        ("--input", "data:[" + ",".join(f"{i / 8}" for i in range(24)) + "]"),
    ),
)
_SEARCHED = ("convolutions", "quantised", "products")

SCENARIOS: tuple[CoverageScenario, ...] = tuple(
    CoverageScenario(f"{name}{suffix}", model, shape, arguments)
    for name, model, shape, own in _RUNS
    for suffix, arguments in (("", own), ("-search", _SEARCH), ("-recorded", _RECORDED))
    if not suffix or name in _SEARCHED
)
