import json
from pathlib import Path

import pytest

from megtrim.core.model_facts import UnknownFormat
from megtrim.engines.megengine.models.reader import MgeModels
from megtrim.libs.util.errors import InputError
from unit.engines.megengine.models.flatbuild import mge_v2

DATA = Path(__file__).parents[4] / "data"
MODEL = DATA / "models" / "resnet18-s.mge"
JSON = DATA / "strip-info" / "resnet18-s.mge.json"


def written(folder: Path, name: str = "net.json", **changes: object) -> Path:
    content = {**json.loads(JSON.read_text(encoding="utf-8")), **changes}
    (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder / name


def test_needs_without_json_are_read_from_the_model() -> None:
    assert MgeModels().load_needs(MODEL, ()) == MgeModels().load_needs(MODEL, (JSON,))


def test_several_json_files_cover_the_model_together(tmp_path: Path) -> None:
    first = written(tmp_path, "a.json", hash=1, elemwise_modes=["ADD"])
    second = written(tmp_path, "b.json", elemwise_modes=["FUSE_ADD_RELU"])

    infos, warnings = MgeModels().load_needs(MODEL, (first, second))

    assert [info.elemwise_modes for info in infos] == [("ADD",), ("FUSE_ADD_RELU",)]
    assert warnings == ()


def test_json_without_an_operator_is_refused_and_another_hash_warned_of(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"net\.json:1: does not list .*: operators ConvBias"):
        MgeModels().load_needs(MODEL, (written(tmp_path, opr_types=["Elemwise"]),))
    _, (warning,) = MgeModels().load_needs(MODEL, (written(tmp_path, hash=5),))
    assert "graph hash 5 is not that of" in warning


def test_unknown_operators_are_left_to_the_json(tmp_path: Path) -> None:
    model = tmp_path / "new.mge"
    model.write_bytes(mge_v2({2: [{0: "FrobnicateV7"}]}))

    infos, warnings = MgeModels().load_needs(model, (JSON,))

    assert len(infos) == 1
    unknown = f"{model}: megtrim does not know FrobnicateV7"
    assert warnings == (f"{unknown}: {JSON} cannot be checked for it, and is trusted",)
    with pytest.raises(InputError, match="FrobnicateV7"):
        MgeModels().load_needs(model, ())


def test_json_of_an_unreadable_model_is_trusted(tmp_path: Path) -> None:
    model = tmp_path / "secret.mge"
    model.write_bytes(bytes(range(200)))

    infos, warnings = MgeModels().load_needs(model, (JSON,))

    assert len(infos) == 1
    assert len(warnings) == 1
    assert warnings[0].startswith(f"{model}: not a .mge model: it begins with ")
    assert warnings[0].endswith(f": {JSON} cannot be checked, and is trusted")
    with pytest.raises(UnknownFormat):
        MgeModels().load_needs(model, ())


def test_damaged_and_missing_files_are_named(tmp_path: Path) -> None:
    model = tmp_path / "cut.mge"
    model.write_bytes(MODEL.read_bytes()[:5000])

    with pytest.raises(InputError, match="truncated"):
        MgeModels().load_needs(model, (JSON,))
    missing = tmp_path / "no.such"

    for model, files in ((missing, ()), (MODEL, (missing,))):
        with pytest.raises(InputError, match=r"no\.such: cannot be read: No such file or dir"):
            MgeModels().load_needs(model, files)
