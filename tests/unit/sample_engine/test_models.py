import json
from pathlib import Path

import numpy as np
import pytest

from megtrim.engines.models.operators import parse_operator_json
from megtrim.engines.models.reader import operator_info
from megtrim.engines.sample_models import parse_sample_model
from unit.sample_engine.engine_scripts import ENGINE, write_models

NAMES = ("tiny-mobile", "tiny-quant", "tiny-vgg")


def test_writing_them_again_gives_equal_bytes(tmp_path: Path) -> None:
    write_models.write_all(tmp_path)
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    kinds = (".sample", ".json", ".npy")
    committed = {p.name: p.read_bytes() for p in (ENGINE / "models").iterdir() if p.suffix in kinds}
    assert sorted(written) == sorted(committed)
    assert written == committed


@pytest.mark.parametrize("name", NAMES)
def test_the_operator_json_says_what_the_model_holds_and_its_input_varies(name: str) -> None:
    """A constant input would prove nothing, and neither would one of another shape."""
    path = ENGINE / "models" / f"{name}.sample"
    facts = parse_sample_model(path.read_bytes(), source=path.name)
    (declared,) = parse_operator_json(
        (ENGINE / f"models/{name}.sample.json").read_bytes(), source=""
    )
    assert operator_info(facts, source=path.name) == declared
    data = np.load(ENGINE / "models" / f"{name}.data.npy")
    assert data.dtype == np.float32
    assert data.shape == write_models.INPUT_SHAPES[name]
    assert -1 <= data.min() < -0.9
    assert 0.9 < data.max() <= 1


def test_models_share_some_operators_and_not_others() -> None:
    """So that trimming for one of them is not trimming for another."""
    needs = {
        name: json.loads((ENGINE / f"models/{name}.sample.json").read_text()) for name in NAMES
    }
    assert needs["tiny-vgg"]["elemwise_modes"] == ["ADD"]
    assert needs["tiny-mobile"]["elemwise_modes"] == ["ADD", "FUSE_ADD_RELU"]
    assert "TypeCvt" in needs["tiny-quant"]["opr_types"]
    assert "TypeCvt" not in needs["tiny-vgg"]["opr_types"]
    assert needs["tiny-quant"]["dtypes"] == ["Float32", "QuantizedS32", "QuantizedS8"]
