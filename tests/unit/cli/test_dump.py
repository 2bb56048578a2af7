"""``megtrim dump`` with a stand-in for the engine's Python package; the real one was never run.

What is the real engine's here is the models and their operator JSON.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import pytest

from megtrim.cli.dump import parse_options
from megtrim.errors import InputError
from unit.cli.support import MODELS, Answer, Shell

STANDIN = Path(__file__).parents[2] / "support" / "standin_megengine"
STRIP_INFO = MODELS.parent / "strip-info"
SCRIPT = """\
import weights
from megengine.jit import trace

def traced():
    @trace(symbolic=True, capture_as_const=True)
    def infer(data):
        return data * weights.FACTOR
    infer(1)
    print("a word of the script's own")
    return infer

ready = traced()
number = 7
def wrong():
    return 7
def broken():
    raise RuntimeError("no such layer: conv9")
"""


@pytest.fixture
def scripts(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A folder with a script that imports a neighbour, and a Python that has the stand-in."""
    (shell.folder / "nets").mkdir()
    (shell.folder / "nets/net.py").write_text(SCRIPT, encoding="utf-8")
    (shell.folder / "nets/weights.py").write_text("FACTOR = 3\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(STANDIN))
    monkeypatch.setenv("STANDIN_ASKED", str(shell.folder / "asked.json"))
    _record(monkeypatch, "resnet18-s.v2.mge")
    return shell


def _record(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("STANDIN_MODEL", str(MODELS / name))
    monkeypatch.setenv("STANDIN_JSON", str(STRIP_INFO / f"{name}.json"))


def dump(shell: Shell, *words: str, function: str = "traced") -> Answer:
    return shell("dump", f"nets/net.py:{function}", "--output", "models/net.mge", *words)


@pytest.mark.parametrize("name", ["resnet18-s.mge", "resnet18-s.v2.mge", "mobilenet-s.mge"])
def test_a_dump_leaves_model_json_and_manifest(
    scripts: Shell, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Of either format; the manifest has what it was made from, and digests of all."""
    _record(monkeypatch, name)

    answer = dump(scripts, "--option", "enable-nchw44", "--option", "dump_format=FBS")

    assert answer.status == 0, answer.err
    model = scripts.folder / "models/net.mge"
    assert model.read_bytes() == (MODELS / name).read_bytes()
    strip_info = scripts.folder / "models/net.mge.json"
    manifest = json.loads((scripts.folder / "models/net.mge.manifest.json").read_text("utf-8"))
    script = (scripts.folder / "nets/net.py").read_bytes()
    assert manifest["version"] == 1
    assert manifest["script"] == {
        "name": "net.py",
        "sha256": hashlib.sha256(script).hexdigest(),
    }
    assert (manifest["function"], manifest["options"]) == (
        "traced",
        {"dump_format": "FBS", "enable_nchw44": True},
    )
    assert manifest["tools"] == {
        "megengine": "1.13.0-standin",
        "python": ".".join(str(part) for part in sys.version_info[:3]),
    }
    assert manifest["files"] == {
        path.name: {
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "bytes": path.stat().st_size,
        }
        for path in (model, strip_info)
    }
    assert manifest["model"]["format"] == ("mge v2" if "v2" in name else "mge v1")
    assert sorted(path.name for path in model.parent.iterdir()) == [
        *("net.mge", "net.mge.json", "net.mge.manifest.json")
    ]
    assert answer.out.splitlines()[-1] == "wrote models/net.mge"
    assert manifest["files"]["net.mge"]["sha256"] in answer.out
    asked = json.loads((scripts.folder / "asked.json").read_text("utf-8"))
    assert asked == {"enable_nchw44": True, "dump_format": "FBS"}


def test_a_traced_function_itself_will_do(scripts: Shell) -> None:
    """It need not be made by another one. --json prints the manifest."""
    answer = dump(scripts, "--json", function="ready")

    assert answer.status == 0, answer.err
    written = (scripts.folder / "models/net.mge.manifest.json").read_text("utf-8")
    assert answer.out == written


def test_without_the_package_it_says_how_to_get_it(
    scripts: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not on PyPI; nothing is written."""
    monkeypatch.delenv("PYTHONPATH")

    answer = dump(scripts)

    assert answer.status == 2
    assert answer.err.startswith(f"megtrim: {sys.executable} has no Python package of the engine")
    assert "No module named 'megengine'" in answer.err
    assert "build it from the engine's tree (scripts/whl)" in answer.err
    assert not (scripts.folder / "models").exists()


@pytest.mark.parametrize(
    ("function", "words", "reported"),
    [
        ("broken", (), "RuntimeError: no such layer: conv9"),
        ("number", (), "net.py: number neither is nor returns a traced function"),
        ("wrong", (), "net.py: wrong neither is nor returns a traced function"),
        ("absent", (), "net.py: absent neither is nor returns a traced function"),
        ("traced", ("--option", "enable_nchw45"), "unknown optimize options: ['enable_nchw45']"),
        ("traced", ("--python", "/no/such/python"), "there is no program '/no/such/python'"),
        ("a b", (), "found 'nets/net.py:a b', expected SCRIPT:FUNCTION"),
    ],
)
def test_what_a_user_gets_wrong(
    scripts: Shell, function: str, words: tuple[str, ...], reported: str
) -> None:
    """One message, and the script's own words where it has some."""
    answer = dump(scripts, *words, function=function)

    assert answer.status == 2
    assert reported in answer.err
    assert not (scripts.folder / "models").exists()


def test_a_script_that_is_not_there(scripts: Shell) -> None:
    """Or no script at all."""
    gone = scripts("dump", "gone.py:traced", "--output", "x.mge")
    bare = scripts("dump", "net.py", "--output", "x.mge")

    assert (gone.status, bare.status) == (2, 2)
    assert "gone.py: no such file, expected a Python script" in gone.err
    assert "found 'net.py', expected SCRIPT:FUNCTION" in bare.err


@pytest.mark.parametrize(
    ("fault", "reported"),
    [
        ("no json", "succeeded, but wrote no operator JSON"),
        ("no model", "succeeded, but wrote no model"),
        ("cut model", "its files are not usable: model.mge: "),
        ("lacking json", "its files are not usable: model.json"),
        ("ends at once", "did not finish: it left no report"),
    ],
)
def test_a_dump_that_says_it_is_done_is_not_believed(
    scripts: Shell, monkeypatch: pytest.MonkeyPatch, fault: str, reported: str
) -> None:
    """A former model stays as it was, with its manifest."""
    assert dump(scripts).status == 0
    before = {path: path.read_bytes() for path in (scripts.folder / "models").iterdir()}
    monkeypatch.setenv("STANDIN_FAULT", fault)

    answer = dump(scripts)

    assert answer.status == 1
    assert reported in answer.err
    assert "Traceback" not in answer.err
    assert {path: path.read_bytes() for path in (scripts.folder / "models").iterdir()} == before


def test_options_are_pythons() -> None:
    """A name alone is true; numbers are numbers; all else is text; dashes are as good."""
    words = ("a", "--b-c", "d=false", "e=True", "f=3", "g=1e-4", "h=FBS", "i=", "j=#rand(0,1)",
             "k=nan", "l=1e999", "m=[1]", "n=8.14.0",
             f"o={'1' * 400}")  # fmt: skip

    assert parse_options(words) == {
        "a": True, "b_c": True, "d": False, "e": True, "f": 3, "g": 1e-4, "h": "FBS", "i": "",
        "j": "#rand(0,1)", "k": "nan", "l": "1e999", "m": "[1]", "n": "8.14.0",
        "o": "1" * 400,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("1a",), "--option: found '1a', expected NAME or NAME=VALUE"),
        (("=x",), "--option: found '=x', expected NAME or NAME=VALUE"),
        (("strip-info-file=x",), "--option: strip_info_file is set by megtrim itself"),
        (("file=x",), "--option: file is set by megtrim itself"),
        (("append",), "--option: append is set by megtrim itself"),
        (("append_json",), "--option: append_json is set by megtrim itself"),
        (("a-b", "a_b=1"), "--option: found a_b a second time, expected each option once"),
    ],
)
def test_options_that_cannot_be_given(words: tuple[str, ...], reported: str) -> None:
    """What megtrim says itself, what stands twice, and what is no name."""
    with pytest.raises(InputError) as caught:
        parse_options(words)

    assert caught.value.message == reported
