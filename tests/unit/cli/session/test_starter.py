"""From model files to a configuration: what cannot be generated is said, and nothing is lost."""

from pathlib import Path

import numpy as np
import pytest

from megtrim.cli.session import starter
from megtrim.cli.session.starter import find_missing, plan_starter, write_files
from megtrim.config.load import load_config
from megtrim.models.facts import ModelFacts, Parameters, Variable
from megtrim.util.errors import InputError


def facts(*inputs: Variable) -> ModelFacts:
    return ModelFacts(
        format="sample v1",
        engine_version="",
        operators=(),
        dtypes=(),
        elemwise_modes=(),
        inputs=inputs,
        outputs=(),
        graph_hash=0,
        parameters=Parameters(tensors=0, size_bytes=0),
    )


def test_an_input_without_a_shape_is_left_to_the_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    takes = (
        Variable(name="a[0]", dtype="Float32", shape=(2, 3)),
        Variable(name="a(0)", dtype="Uint8", shape=(4,)),
        Variable(name="free", dtype="Float32", shape=None),
    )
    monkeypatch.setattr(starter, "read_model", lambda _: facts(*takes))
    (tmp_path / "m.sample").touch()

    new = plan_starter([tmp_path / "m.sample"], tmp_path / "megtrim.yaml")
    write_files(new.files)

    model = f"of {tmp_path}/m.sample"
    free = f"the input free Float32 {model} cannot be generated"
    assert new.lines == (
        f"wrote {tmp_path}/m.a-0.npy, for the input a[0] Float32 (2, 3) {model}",
        f"wrote {tmp_path}/m.a-0-2.npy, for the input a(0) Uint8 (4) {model}",
        f"warning: {free}: add its file to inputs yourself",
        f"wrote {tmp_path}/megtrim.yaml and {tmp_path}/megtrim/models, for the sample engine",
    )
    (scenario,) = load_config(tmp_path / "megtrim.yaml").config.models[0].scenarios
    assert scenario.inputs == {"a[0]": Path("m.a-0.npy"), "a(0)": Path("m.a-0-2.npy")}
    assert np.load(tmp_path / "m.a-0-2.npy").tolist() == [0, 1, 2, 3]


def test_what_is_there_is_written_again_by_no_one(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("equal", encoding="utf-8")
    texts = {tmp_path / "a": "equal", tmp_path / "b": "new", tmp_path / "c": ""}

    assert find_missing(texts, hint="") == {tmp_path / "b": "new", tmp_path / "c": ""}
    with pytest.raises(InputError, match="a exists and differs") as caught:
        find_missing({tmp_path / "b": "new", tmp_path / "a": "new"}, hint="remove it")
    assert caught.value.hint == "remove it"
