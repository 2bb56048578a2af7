import json
from pathlib import Path

import pytest

from megtrim.util.process import Command, ProcessRunner
from virtual_phone import spec
from virtual_phone.spec import PhoneSpec

MODULE = "import sys\ndef main(): print(sys.flags.isolated, *sys.argv[1:], sep='|')\n"


def test_the_supervisor_gets_the_whole_spec() -> None:
    asked = PhoneSpec(
        name="a b",
        folder="/tmp/x",
        root="/root",
        emulator="",
        path="/bin",
        properties={"ro.product.model": "P'6\n"},
    )
    *_, module, argument = asked.argv()

    assert module == "virtual_phone.supervisor"
    assert PhoneSpec(**json.loads(argument)) == asked


def test_a_modules_main_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "tried.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "tried.py").write_text("raise SystemExit(9)", encoding="utf-8")
    monkeypatch.setattr(spec, "_SOURCES", str(tmp_path / "sources"))
    monkeypatch.chdir(tmp_path)
    argv = spec.own_program("tried", "a b", "")
    outcome = ProcessRunner({"PYTHONPATH": str(tmp_path)}).run(Command(argv=argv, timeout_s=60))

    assert (outcome.rc, outcome.stdout) == (0, "1|a b|\n"), outcome.stderr
