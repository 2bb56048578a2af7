import json
import struct

import numpy as np

from megtrim.core.model_facts import Parameters, Variable
from megtrim.engines.sample_models import parse_sample_model
from unit.sample_engine.engine_scripts import ENGINE, ModelWriter, Noise, sample_writer


def _small() -> ModelWriter:
    writer = ModelWriter()
    data = writer.input("x", (1, 2))
    weight = writer.weight(np.array([[3.0], [4.0]], np.float32))
    writer.output(writer.elemwise("RELU", writer.matmul(data, weight)))
    return writer


def test_the_hash_is_fnv_1a() -> None:
    """Against the values that the hash's own authors publish."""
    assert sample_writer.fnv1a(b"") == 0xCBF29CE484222325
    assert sample_writer.fnv1a(b"a") == 0xAF63DC4C8601EC8C
    assert sample_writer.fnv1a(b"foobar") == 0x85944171F73967E8


def test_the_bytes_of_a_model() -> None:
    """Magic, version and hash; of a tensor name, type, scale and shape; operators at the end."""
    data = _small().model()
    magic, version, stated = struct.unpack_from("<8sIQ", data)
    assert (magic, version) == (b"SAMPLENN", 1)
    assert stated == sample_writer.fnv1a(data[20:])
    expected = struct.pack("<IB1sBfBII", 4, 1, b"x", 0, 1.0, 2, 1, 2)
    assert data[20 : 20 + len(expected)] == expected
    names = b"\x08Elemwise" + bytes([9]) + b"elemwise3" + b"\x04RELU"
    links = struct.pack("<BBIBII", 0, 1, 2, 1, 3, 0)
    assert data.endswith(names + links + struct.pack("<II", 1, 3))


def test_the_reader_reads_what_the_writer_wrote() -> None:
    writer = _small()
    facts = parse_sample_model(writer.model(), source="m")
    assert facts.operators == (("Elemwise", 1), ("Input", 1), ("MatrixMul", 1), ("Weight", 1))
    assert facts.elemwise_modes == ("RELU",)
    assert facts.inputs == (Variable(name="x", dtype="Float32", shape=(1, 2)),)
    assert facts.outputs == (Variable(name="elemwise3", dtype="Float32", shape=(1, 1)),)
    assert facts.parameters == Parameters(tensors=1, size_bytes=8)
    assert facts.graph_hash == json.loads(writer.operator_json())["hash"]


def test_integers_multiply_into_wider_ones_and_a_convolution_knows_its_output() -> None:
    writer = ModelWriter()
    data = writer.input("x", (2, 3), "QuantizedS8", 0.5)
    weight = writer.weight(np.ones((3, 4), np.int8), "QuantizedS8", 0.25)
    product = writer.matmul(data, weight)
    assert (product.dtype, product.scale, product.shape) == ("QuantizedS32", 0.125, (2, 4))
    image = writer.input("y", (1, 4, 9, 7))
    kernel = writer.weight(np.zeros((8, 1, 3, 3), np.float32))
    assert writer.conv(image, kernel, stride=2, pad=1, groups=4).shape == (1, 8, 5, 4)


def test_noise_is_the_same_everywhere() -> None:
    """Its numbers are fixed: models are made of them, and their bytes must not change."""
    noise = Noise(1)
    first = noise.uniform(4)
    second = noise.uniform(4)
    assert first.tolist() == Noise(1).uniform(4).tolist()
    assert first.tolist() != second.tolist()
    assert first.tolist() != Noise(2).uniform(4).tolist()


def test_the_list_of_modes_is_that_of_the_code() -> None:
    header = (ENGINE / "src/kernels/elemwise/elemwise.h").read_text(encoding="utf-8")
    listed = (ENGINE / "src/elemwise_modes.txt").read_text(encoding="utf-8").splitlines()[1:]
    pairs = [part.split(")")[0].split(", ") for part in header.split("cb(")[1:]]
    assert [" ".join(pair) for pair in pairs] == listed
    assert [int(line.split()[1]) for line in listed] == list(range(33))
