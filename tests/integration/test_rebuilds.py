"""One more model compiles the files that declare a changed tag: predicted, then counted.

In a folder of results of its own: what is compiled depends on what was built there before.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from support.keep_folder import KeepFolder
from support.megtrim_cli import Project

pytestmark = [pytest.mark.chain]

REDUCE = "reduce/reduced"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """The sample engine, trimmed for one model by this machine's compiler."""
    made = Project.of_sample(tmp_path / "project", models=("tiny-mobile",))
    config = made.read()
    config["toolchain"] = {"kind": "host"}
    config["budgets"] = []
    made.write(config)
    ended = made.run("trim")
    assert ended.rc == 0, ended.stderr
    return made


def add_model(project: Project) -> None:
    """Add a second model of the same kind, with its plain scenario."""
    both = Project.of_sample(project.folder / "other", models=("tiny-mobile", "tiny-vgg")).read()
    config = project.read()
    config["models"] = [dict(m, scenarios=m["scenarios"][:1]) for m in both["models"]]
    project.write(config)


def rebuilt(project: Project) -> dict[str, Any]:
    """Return what the stage `reduce` says of its build."""
    manifest = json.loads(project.file(REDUCE, "manifest.json").read_text(encoding="utf-8"))
    reported: dict[str, Any] = manifest["result"]["build"]["rebuilt"]
    return reported


def why(project: Project, *arguments: str) -> str:
    """Return what a plan says of the reduced build."""
    steps = json.loads(project.run("plan", "--json", *arguments).stdout)
    return next(str(step["why"]) for step in steps if step["task"] == REDUCE)


def declaring(project: Project, changed: set[str]) -> set[str]:
    """Return the sources whose text declares one of the tags or names one of the macros."""
    root = project.folder / "engine"
    words = re.compile("|".join(rf"MIDOUT_DECL\({name}\)|#if.*\b{name}\b" for name in changed))
    return {
        str(path.relative_to(root))
        for path in (root / "src").rglob("*.cpp")
        if words.search(path.read_text(encoding="utf-8"))
    }


def test_one_more_model_compiles_what_declares_a_changed_tag(project: Project) -> None:
    """The plan names the files, the build compiles just these, and the verdict shows both."""
    before = headers(project)
    add_model(project)
    assert project.run("stage header", "--accept").rc == 0
    after = headers(project)
    changed = {name for name in after if after[name] != before[name]}
    foretold = why(project)
    ended = project.run("trim")
    reported = rebuilt(project)
    verdict = project.verdict()

    assert ended.rc == 0, ended.stderr
    assert 0 < len(changed) < 6
    assert set(reported["files"]) == declaring(project, changed)
    assert reported["predicted"] == reported["compiled"] == len(reported["files"]) < 6
    assert foretold.endswith(
        f"{reported['compiled']} files are compiled: {', '.join(reported['files'])}"
    )
    assert verdict["rebuild"] == {
        "predicted": reported["predicted"],
        "compiled": reported["compiled"],
        "units": verdict["rebuild"]["units"],
    }
    assert verdict["rebuild"]["units"] > 40


def test_what_a_plan_predicts(project: Project) -> None:
    """A first build compiles everything; then nothing, what a changed line needs, or maybe all."""
    first = rebuilt(project)
    units = project.verdict()["rebuild"]["units"]

    assert (first["predicted"], first["compiled"]) == (None, units)
    assert "src/kernels/pooling/plain.cpp" in first["files"]
    assert first["cpu_s"] > 0

    # A committed keep set shows what a pull request costs before the header is made.
    assert why(project, "--committed").endswith("no file is compiled")
    keep = KeepFolder(project.folder / "megtrim/keepset")
    assert keep.drop_lines(lambda line: '"region sample_pooling<' in line)
    assert why(project, "--committed").endswith("1 file is compiled: src/kernels/pooling/plain.cpp")

    config = project.read()
    config["trim"] = {"minimum_size": False}
    project.write(config)
    assert why(project).endswith("all files may be compiled")


def headers(project: Project) -> dict[str, bytes]:
    """Return the generated files of the newest header; asking for the report would build, too."""
    newest = max(project.out.glob("header/*/manifest.json"), key=lambda path: path.stat().st_mtime)
    files = newest.parent.joinpath("include").rglob("*.h")
    return {path.stem: path.read_bytes() for path in files}
