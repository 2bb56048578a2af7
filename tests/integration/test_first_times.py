"""What a keep set has for the first time is added to it: no step that is printed fails."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from support.megtrim_cli import SAMPLE, KeepFolder, Project, run_megtrim

pytestmark = [pytest.mark.chain]


def type_next(project: Project, printed: str) -> str:
    """Type the command that a line `next:` names; return what it prints."""
    (line,) = (each for each in printed.splitlines() if each.startswith("next: "))
    word, *words = shlex.split(line.removeprefix("next: "))
    assert word == "megtrim"
    ended = run_megtrim(*words, cwd=project.folder)
    assert ended.rc == 0, ended.stderr
    return ended.stderr


def test_a_model_and_a_level_are_added_without_a_word_of_a_person(tmp_path: Path) -> None:
    """Each passes at once, and the committed keep set holds it then."""
    project = Project(tmp_path)
    (tmp_path / "models").mkdir()
    for name in ("mobile", "quant"):
        shutil.copy(SAMPLE / f"models/tiny-{name}.sample", tmp_path / f"models/{name}.sample")
    assert run_megtrim("init", "models/mobile.sample", cwd=tmp_path).rc == 0
    project.write(project.read() | {"toolchain": {"kind": "host"}})
    keep = KeepFolder(tmp_path / "megtrim/keepset")
    first = run_megtrim("trim", cwd=tmp_path)
    assert first.rc == 0, first.stderr
    before = keep.texts()

    added = run_megtrim("init", "--add", "models/quant.sample", cwd=tmp_path)
    assert added.rc == 0, added.stderr
    said = type_next(project, added.stdout)
    assert "updated" in said
    assert before.items() < keep.texts().items()

    project.write(project.read() | {"trim": {"level": "function"}})
    function = run_megtrim("trim", cwd=tmp_path)
    assert function.rc == 0, function.stderr
    assert all(record.functions for record in keep.read().scenarios)
    again = run_megtrim("trim", "--committed", cwd=tmp_path)
    assert again.rc == 0, again.stderr
    assert run_megtrim("check", cwd=tmp_path).rc == 0
