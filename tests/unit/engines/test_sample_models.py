import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.core.model_facts import Variable
from megtrim.engines.sample_models import parse_sample_model
from megtrim.libs.util.errors import InputError
from unit.sample_engine.engine_scripts import ENGINE, sample_writer, write_models

SAMPLE = (ENGINE / "models/tiny-quant.sample").read_bytes()
_WEIGHT = write_models.Noise(3).integers(8, 3, 3, 3).tobytes()
"""The first of its weights."""


def _sealed(body: bytes) -> bytes:
    return b"SAMPLENN" + struct.pack("<IQ", 1, sample_writer.fnv1a(body)) + body


def _message(data: bytes) -> str:
    with pytest.raises(InputError) as caught:
        parse_sample_model(data, source="m.sample")
    return caught.value.message


def test_a_model_gives_its_facts() -> None:
    facts = parse_sample_model(SAMPLE, source="m.sample")
    assert facts.format == "sample v1"
    assert dict(facts.operators)["ConvBias"] == 3
    assert facts.elemwise_modes == ("ADD",)
    assert facts.inputs == (Variable(name="data", dtype="Float32", shape=(1, 3, 24, 24)),)
    assert [(v.name, v.shape) for v in facts.outputs] == [("softmax17", (1, 10))]
    assert facts.graph_hash == struct.unpack_from("<Q", SAMPLE, 12)[0]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        pytest.param(b"", "ends too early", id="empty"),
        pytest.param(b"SAMPLENX" + SAMPLE[8:], "is not a sample model of version 1", id="magic"),
        pytest.param(
            SAMPLE[:8] + b"\2" + SAMPLE[9:], "is not a sample model of version 1", id="version"
        ),
        pytest.param(SAMPLE[:-1], "does not match its own hash", id="cut off"),
        pytest.param(
            SAMPLE[:500] + b"\xff" + SAMPLE[501:], "does not match its own hash", id="bit"
        ),
        pytest.param(_sealed(SAMPLE[20:-1]), "ends too early", id="early end"),
        pytest.param(_sealed(SAMPLE[20:] + b"\0"), "has bytes after its end", id="late end"),
        pytest.param(_sealed(b"\xff\xff\xff\xff"), "announces 4294967295 entries", id="count"),
    ],
)
def test_what_is_no_whole_model_is_refused(data: bytes, found: str) -> None:
    message = _message(data)
    assert message.startswith(f"m.sample: {found} (at byte ")


def _one_operator(kind: bytes, mode: bytes = b"") -> bytes:
    tensor = b"\1x" + struct.pack("<BfBI", 0, 1.0, 1, 1)
    texts = b"".join(bytes([len(text)]) + text for text in (kind, b"x", mode))
    operator = texts + struct.pack("<BBBII", 0, 0, 1, 0, 0)
    one = struct.pack("<I", 1)
    return _sealed(one + tensor + one + operator + one + struct.pack("<I", 0))


def test_only_values_of_weights_are_not_of_the_graph() -> None:
    """Nor is the hash that covers them, as it must."""

    def digest(at: int, change: int) -> str:
        body = bytearray(SAMPLE[20:])
        body[at] ^= change
        return parse_sample_model(_sealed(bytes(body)), source="m").graph_sha256

    whole = parse_sample_model(SAMPLE, source="m").graph_sha256
    weights = [SAMPLE.index(_WEIGHT) - 20, SAMPLE.rindex(_WEIGHT) - 20 + len(_WEIGHT) - 1]
    scale = SAMPLE.index(struct.pack("<f", 0.02)) - 20

    assert [digest(at, 1) == whole for at in weights] == [True, True]
    assert digest(scale, 1) != whole


def test_names_are_identifiers_and_outputs_exist() -> None:
    """Operators and modes end up in compiled code, so nothing else may pass for one."""
    assert parse_sample_model(_one_operator(b"Fine"), source="m").operators == (("Fine", 1),)
    assert "a name that is not an identifier" in _message(_one_operator(b"X{};class Y"))
    assert "a name that is not an identifier" in _message(_one_operator(b""))
    assert "a name that is not an identifier" in _message(_one_operator(b"Elemwise", b"ADD)"))
    data = _one_operator(b"Input")
    assert "names a tensor that it does not contain" in _message(_sealed(data[20:-4] + b"\1\0\0\0"))


@given(st.data())
def test_damage_never_ends_in_anything_but_an_input_error(data: st.DataObject) -> None:
    body = bytearray(SAMPLE[20:])
    for _ in range(data.draw(st.integers(1, 4))):
        # Most of the file are weights, where everything is allowed: aim at the front.
        body[data.draw(st.integers(0, 900))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(body)))
    sealed = _sealed(bytes(body[: cut or None]))
    try:
        facts = parse_sample_model(sealed, source="m.sample")
    except InputError as error:
        assert error.message.startswith("m.sample: ")
    else:
        assert facts.operators
