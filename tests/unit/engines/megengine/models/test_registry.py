import os
import re
from pathlib import Path

import pytest
import xxhash

from megtrim.engines.megengine.models.registry import ELEMWISE_MODES, REGISTERED, by_id, by_name


def engine_id(name: str) -> int:
    return xxhash.xxh64_intdigest(name.encode(), seed=20160701)


@pytest.mark.parametrize(
    ("registered", "name"),
    [
        ("PoolingV1", "PoolingForward"),
        ("MatrixMulV2", "MatrixMul"),
        ("ConvBiasForwardV4", "ConvBiasForward"),
        ("ConvBiasForward", "ConvBiasForward"),
        ("ConvolutionV2", "ConvolutionForward"),
        ("Convolution", "ConvolutionForward"),
        ("Softmax", "SoftmaxForward"),
        ("ReshapeV1", "Reshape"),
        ("opr::Loop", "Loop"),
    ],
)
def test_registered_name_gives_its_class(registered: str, name: str) -> None:
    found = by_name(registered)

    assert found is not None
    assert found.name == name


@pytest.mark.parametrize("text", ["PoolingV1\0", "PoolingV3\0", "Pooling\0", "Pooling"])
def test_hash_of_any_version_gives_the_class(text: str) -> None:
    """Other versions of the engine registered other versions; the oldest hashed neither."""
    found = by_id(engine_id(text))

    assert found is not None
    assert found.name == "PoolingForward"


def test_what_the_table_knows_of_a_type() -> None:
    found = by_id(0x327BF927970E4459)

    assert found is not None
    assert found.name == "ConvBiasForward"
    assert found.dtypes == ("Byte",)
    assert by_name("FrobnicateV1") is None
    assert by_name("") is None
    assert by_id(0) is None
    assert REGISTERED["TopK"].dtypes == ("Byte", "Int32")
    assert REGISTERED["GetVarShapeV1"].dtypes == ("Int32",)
    assert REGISTERED["Elemwise"].dtypes == ()


def test_modes_are_in_the_engines_order() -> None:
    """A file stores the index, so the order is the meaning."""
    assert len(ELEMWISE_MODES) == 86
    assert ELEMWISE_MODES[0] == "RELU"
    assert ELEMWISE_MODES[16] == "ADD"
    assert ELEMWISE_MODES[37] == "FUSE_ADD_RELU"
    assert ELEMWISE_MODES[85] == "SIGN"


@pytest.mark.engine
def test_table_holds_what_the_engine_registers() -> None:
    register = re.compile(r"^(?:MGB_SEREG|SERGE_OPR_V2)\w*\(\s*([A-Z]\w+)\s*,", re.MULTILINE)
    texts = (
        path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(Path(os.environ["MEGTRIM_ENGINE"], "src").rglob("*.sereg*.h"))
    )
    names = {name for text in texts for name in register.findall(text)}
    # A loop registers the operators of its inner graph, which no dump of today holds.
    names -= {"LoopGrad", "Loop"}

    assert len(names) > 150
    assert sorted(name for name in names if by_name(name) is None) == []
