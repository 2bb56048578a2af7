"""The program that dumps in the user's Python, with a stand-in for the engine's package."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from megtrim.engines.megengine import dump_driver

SUPPORT = Path(__file__).parents[3] / "support"
DATA = Path(__file__).parents[3] / "data"
MODEL = DATA / "models" / "resnet18-s.v2.mge"
SCRIPT = """\
import weights
from megengine.jit import trace

assert __name__ == "megtrim_dump"

@trace(symbolic=True, capture_as_const=True)
def traced(data):
    return data * weights.FACTOR

def makes():
    return traced

def wrong():
    return 7
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a script and the module that it imports; what was imported is forgotten."""
    (tmp_path / "net.py").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "weights.py").write_text("FACTOR = 3\n", encoding="utf-8")
    monkeypatch.setattr(sys, "path", ["first", str(SUPPORT / "standin_megengine"), *sys.path])
    monkeypatch.setenv("STANDIN_MODEL", str(MODEL))
    monkeypatch.setenv("STANDIN_JSON", str(DATA / "strip-info" / "resnet18-s.v2.mge.json"))
    monkeypatch.setenv("STANDIN_ASKED", str(tmp_path / "asked.json"))
    yield tmp_path
    for name in ("megengine", "megengine.jit", "weights"):
        sys.modules.pop(name, None)


def dump(folder: Path, function: str, options: str = "{}") -> int:
    """Call the driver as its command line does."""
    script, model, strip_info, report = (
        str(folder / name) for name in ("net.py", "net.mge", "net.json", "report")
    )
    return dump_driver.main(script, function, model, strip_info, report, options)


@pytest.mark.parametrize("function", ["traced", "makes"])
def test_a_model_and_a_report_are_written(folder: Path, function: str) -> None:
    """By a traced function, or one that returns it; modules next to the script are found."""
    assert dump(folder, function, '{"enable_nchw44": true}') == 0

    assert (folder / "net.mge").read_bytes() == MODEL.read_bytes()
    assert json.loads((folder / "asked.json").read_text("utf-8")) == {"enable_nchw44": True}
    assert json.loads((folder / "report").read_text("utf-8")) == {
        "megengine": "1.13.0-standin",
        "python": ".".join(map(str, sys.version_info[:3])),
    }


@pytest.mark.parametrize("function", ["wrong", "none_such"])
def test_what_cannot_be_dumped_has_a_status_of_its_own(folder: Path, function: str) -> None:
    """And leaves neither a model nor a report."""
    assert dump(folder, function) == dump_driver.NO_FUNCTION
    assert not (folder / "net.mge").exists()
    assert not (folder / "report").exists()


def test_a_missing_package_has_a_status_of_its_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the interpreter's own words; the script does not run."""
    monkeypatch.setattr(sys, "path", ["first"])

    assert dump(folder, "traced") == dump_driver.NO_PACKAGE
    assert "megengine" in capsys.readouterr().err
    assert "weights" not in sys.modules
