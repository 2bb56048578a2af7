from pathlib import Path

import pytest

from megtrim.models import reader
from megtrim.models.facts import UnknownFormat
from megtrim.models.reader import parse_model, read_is_flatbuffers, read_model, read_whole
from megtrim.util.errors import InputError
from unit.models.flatbuild import mge_v1, mge_v2
from unit.sample_engine.engine_scripts import ENGINE

MODEL = Path(__file__).parents[2] / "data" / "models" / "resnet18-s.mge"


def test_empty_model_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        parse_model(b"", source="net.mge")

    assert caught.value.message == "net.mge: empty, expected a model"
    assert not isinstance(caught.value, UnknownFormat)


def test_too_large_a_file_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_MODEL_BYTES", 1000)

    with pytest.raises(InputError, match="found more than 1,000 bytes, expected a model"):
        read_model(MODEL)
    monkeypatch.setattr(reader, "MAX_MODEL_BYTES", 746_364)
    assert read_model(MODEL).format == "mge v1"


OLD_FORMAT = mge_v1({}, tensors=bytes(64), old=True)
WHOLE = {
    "first": MODEL.read_bytes(),
    "oldest": OLD_FORMAT,
    "second": mge_v2({3: [{0: "a variable"}]}),
    "tested": b"mgbtest0" + bytes(4) + OLD_FORMAT,
    "sample": (ENGINE / "models" / "tiny-quant.sample").read_bytes(),
}


@pytest.mark.parametrize("data", WHOLE.values(), ids=WHOLE.keys())
def test_a_model_is_whole_or_cut_off(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "m.mge"
    path.write_bytes(data)
    read_whole(path, source="m.mge")

    for size in (0, 28, 40, len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(InputError, match=r"^m\.mge: ") as caught:
            read_whole(path, source="m.mge")
        assert not isinstance(caught.value, UnknownFormat)


@pytest.mark.parametrize("data", [b"packed", b"M", bytes(100), b"MGBX" + b"\xff" * 40])
def test_what_is_of_no_known_format_may_be_whole(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "m.mge"
    path.write_bytes(data)

    read_whole(path, source="m.mge")


@pytest.mark.parametrize(
    ("path", "format_name", "flatbuffers"),
    [
        (MODEL, "mge v1", True),
        (MODEL.with_name("resnet18-s.v2.mge"), "mge v2", True),
        (ENGINE / "models" / "tiny-quant.sample", "sample", False),
    ],
)
def test_the_first_bytes_choose_the_format(path: Path, format_name: str, flatbuffers: bool) -> None:
    assert read_model(path).format.startswith(format_name)
    assert read_is_flatbuffers(path) is flatbuffers
    with pytest.raises(InputError, match=r"^their model: "):
        read_model(Path(__file__), shown="their model")
