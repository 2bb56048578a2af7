"""A dump in the user's Python: what is asked of it, and what is read back before it counts."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from megtrim.engines.megengine import dump_driver
from megtrim.engines.megengine.dump import DumpSpec, run
from megtrim.errors import InputError, MegtrimError, ProductFailure
from megtrim.process import ProcessRunner

DATA = Path(__file__).parents[3] / "data"
MODEL = DATA / "models" / "resnet18-s.v2.mge"
STRIP_INFO = DATA / "strip-info" / "resnet18-s.v2.mge.json"
REPORT = '{"megengine": "1.13.0", "python": "3.10.1"}'


class Python:
    """A program that leaves files as the engine's dump would, or fails."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "python"
        self.asked = folder / "asked"
        self.out = folder / "out"
        self.out.mkdir()

    def plays(self, text: str) -> None:
        self.path.write_text(
            f'#!/bin/sh\nprintf "%s\\n" "$@" > {self.asked}\n{text}\n', encoding="utf-8"
        )
        self.path.chmod(0o755)

    def leaves(
        self, model: Path = MODEL, strip_info: Path = STRIP_INFO, report: str = REPORT
    ) -> None:
        self.plays(f'cp {model} "$4"; cp {strip_info} "$5"; printf \'%s\' \'{report}\' > "$6"')


@pytest.fixture
def python(tmp_path: Path) -> Python:
    return Python(tmp_path)


def spec(python: Python) -> DumpSpec:
    return DumpSpec(
        script=Path("nets/net.py"),
        function="traced",
        options={"enable_nchw44": True, "dump_format": "FBS"},
        python=str(python.path),
    )


def dump(python: Python) -> None:
    run(spec(python), ProcessRunner(os.environ), python.out)


def test_a_dump_is_asked_for_and_read_back(python: Python) -> None:
    """Its options in one order; the versions are those of its Python."""
    python.leaves()
    result = run(spec(python), ProcessRunner(os.environ), python.out)

    driver, script, function, model, strip_info, _, options = python.asked.read_text().splitlines()
    assert Path(driver).read_bytes() == Path(dump_driver.__file__).read_bytes()
    assert (script, function) == ("nets/net.py", "traced")
    assert (Path(model), Path(strip_info)) == (result.model, result.strip_info)
    assert json.loads(options) == {"dump_format": "FBS", "enable_nchw44": True}
    assert options.index("dump_format") < options.index("enable_nchw44")
    assert result.facts.operators
    assert result.tools == {"megengine": "1.13.0", "python": "3.10.1"}


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        (
            f"echo 'No module named megengine' >&2; exit {dump_driver.NO_PACKAGE}",
            "has no Python package of the engine: No module named megengine",
            "--python",
        ),
        (
            f"exit {dump_driver.NO_FUNCTION}",
            "traced neither is nor returns a traced function",
            "capture_as_const",
        ),
        ("seq 20 >&2; exit 1", "the dump exited with 1:\n  9\n", "fix the script"),
        ("exit 7", "the dump exited with 7:\n  it exited with 7", "fix the script"),
    ],
)
def test_a_script_that_fails_is_bad_input(python: Python, text: str, said: str, hint: str) -> None:
    """With the end of what it printed."""
    python.plays(text)
    with pytest.raises(InputError) as caught:
        dump(python)

    assert said in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": Path("/dev/null")}, "wrote no model"),
        ({"strip_info": Path("/dev/null")}, "wrote no operator JSON"),
        ({"model": STRIP_INFO}, "its files are not usable: model.mge"),
        ({"strip_info": MODEL}, "its files are not usable: model.json"),
        ({"report": "{}"}, "did not finish: it left no report"),
        ({"report": "[]"}, "did not finish: it left no report"),
        ({"report": "{" * 99}, "did not finish: it left no report"),
    ],
)
def test_a_dump_that_says_it_is_done_is_not_believed(
    python: Python, changes: dict[str, object], said: str
) -> None:
    """Its files are read before anyone uses them."""
    python.leaves(**changes)  # type: ignore[arg-type]
    with pytest.raises(ProductFailure) as caught:
        dump(python)

    assert said in caught.value.message
    assert str(python.out) not in caught.value.message


def test_a_python_that_is_not_there_is_named(python: Python) -> None:
    """Nothing is left but the driver."""
    assert shutil.which(str(python.path)) is None
    with pytest.raises(MegtrimError, match="python"):
        dump(python)
