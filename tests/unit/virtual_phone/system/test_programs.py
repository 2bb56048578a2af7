"""Modules as programs, wherever the package was imported from."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.util.process import Command, ProcessRunner
from virtual_phone.system import programs

MODULE = "import sys\ndef main(): print(sys.flags.isolated, *sys.argv[1:], sep='|')\n"


@pytest.mark.parametrize("bare", [True, False])
def test_a_modules_main_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bare: bool) -> None:
    """With its arguments; neither the current folder nor the environment changes what it is."""
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "tried.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "tried.py").write_text("raise SystemExit(9)", encoding="utf-8")
    monkeypatch.setattr(programs, "_SOURCES", str(tmp_path / "sources"))
    monkeypatch.chdir(tmp_path)
    argv = programs.own_program("tried", "a b", "", bare=bare)
    outcome = ProcessRunner({"PYTHONPATH": str(tmp_path)}).run(Command(argv=argv, timeout_s=60))

    assert (outcome.rc, outcome.stdout) == (0, "1|a b|\n"), outcome.stderr
    assert ("-S" in argv) is bare
