"""One more model compiles the files that declare a changed tag.

In a folder of results of its own: what is compiled depends on what was built there before.
"""

import json
import re
from pathlib import Path

import pytest

from support.megtrim_cli import Project

pytestmark = [pytest.mark.chain]

REDUCE = "reduce/reduced"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project.of_sample(tmp_path / "project", models=("tiny-mobile",))
    made.change(toolchain={"kind": "host"}, budgets=[])
    ended = made.run("trim")
    assert ended.rc == 0, ended.stderr
    return made


def add_model(project: Project) -> None:
    both = Project.of_sample(project.folder / "other", models=("tiny-mobile", "tiny-vgg")).read()
    project.change(models=[dict(m, scenarios=m["scenarios"][:1]) for m in both["models"]])


def rebuilt(project: Project) -> list[str]:
    manifest = json.loads(project.file(REDUCE, "manifest.json").read_text(encoding="utf-8"))
    reported: list[str] = manifest["result"]["build"]["rebuilt"]
    return reported


def declaring(project: Project, changed: set[str]) -> set[str]:
    root = project.folder / "engine"
    words = re.compile("|".join(rf"MIDOUT_DECL\({name}\)|#if.*\b{name}\b" for name in changed))
    return {
        str(path.relative_to(root))
        for path in (root / "src").rglob("*.cpp")
        if words.search(path.read_text(encoding="utf-8"))
    }


def test_one_more_model_compiles_what_declares_a_changed_tag(project: Project) -> None:
    first, units = rebuilt(project), project.verdict()["rebuild"]["units"]
    before = headers(project)
    add_model(project)
    assert project.run("stage header", "--accept").rc == 0
    after = headers(project)
    changed = {name for name in after if after[name] != before[name]}
    ended = project.run("trim")
    reported = rebuilt(project)

    assert len(first) == units > 40
    assert "src/kernels/pooling/plain.cpp" in first
    assert ended.rc == 0, ended.stderr
    assert 0 < len(changed) < 6
    assert set(reported) == declaring(project, changed)
    assert len(reported) < 6
    assert project.verdict()["rebuild"] == {"compiled": len(reported), "units": units}


def headers(project: Project) -> dict[str, bytes]:
    newest = max(project.out.glob("header/*/manifest.json"), key=lambda path: path.stat().st_mtime)
    files = newest.parent.joinpath("include").rglob("*.h")
    return {path.stem: path.read_bytes() for path in files}
