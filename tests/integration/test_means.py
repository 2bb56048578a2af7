"""The means against size on the sample engine: smaller, equal outputs, and none where none is asked.

Clang and lld take all of them; what zig takes is told in the unit tests.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from support.megtrim_cli import Project

pytestmark = [pytest.mark.chain, pytest.mark.clang]

_SECTION = re.compile(r"\.eh_frame_hdr\b")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """One model, trimmed by the recipe."""
    made = Project.of_sample(tmp_path_factory.mktemp("means") / "project", models=("tiny-mobile",))
    _trim(made, {})
    return made


def _trim(project: Project, trim: dict[str, object]) -> None:
    config = project.read()
    config["toolchain"] = {"kind": "clang-linux-arm64"}
    config["trim"] = trim
    config["budgets"] = []
    project.write(config)
    ended = project.run("trim")
    assert ended.rc == 0, ended.stderr


def _reduced(project: Project) -> int:
    sizes = project.verdict()["artifacts"][0]["sizes"]
    return next(int(row["size_bytes"]) for row in sizes if row["variant"] == "reduced")


def _commands(project: Project) -> list[str]:
    (records,) = project.out.glob("work/*-reduced/build/compile_commands.json")
    return [entry["command"] for entry in json.loads(records.read_text(encoding="utf-8"))]


def test_size_is_smaller_and_gives_the_same_outputs(project: Project) -> None:
    """Less than four fifths of the recipe's bytes; what is used and what not is said."""
    recipe, plain = _reduced(project), _key(project, "build/plain")
    _trim(project, {"optimize": "size"})
    verdict, commands = project.verdict(), _commands(project)
    kernels = [each for each in commands if "/src/kernels/" in each.split()[-1]]
    headers = _headers(project.file("reduce/reduced", "bin/load_and_run"))
    page = project.file("report/report", "index.html").read_text(encoding="utf-8")

    assert verdict["verdict"] == "pass"
    assert all(o["equal"] for s in verdict["scenarios"] for o in s["outputs"])
    assert _reduced(project) < 0.8 * recipe
    assert _key(project, "build/plain") == plain
    assert {each["name"] for each in verdict["trim"]["means"] if each["why_not"]} == {"relocations"}
    assert len(kernels) > 15
    assert [each for each in kernels if " -Oz " in each] == []
    assert all(" -Oz " in each for each in commands if each not in kernels)
    assert all(" -flto=full " in each for each in commands)
    assert not headers
    assert "only Android says by a level" in page


def test_the_recipe_comes_back_as_it_was(project: Project) -> None:
    """Without a means nothing of it is left, neither in the build nor in its key."""
    before = _key(project, "reduce/reduced")
    _trim(project, {"optimize": "size", "means": {"small_code": "none", "lto": "none"}})
    between = _key(project, "reduce/reduced")
    _trim(project, {"optimize": "none"})

    assert len({before, between, _key(project, "reduce/reduced")}) == 3
    assert not [each for each in _commands(project) if re.search(" -(Oz|flto|fno-unwind)", each)]
