"""The merge base is built for its sizes where no run has stored them."""

import shutil
from pathlib import Path

import pytest

from megtrim.github.baselines import Base
from megtrim.size.baseline import dump_sizes, load_sizes
from megtrim.size.budgets import Baseline
from megtrim.size.growth.inputs import ORDERS, Cause
from megtrim.util.process import CompletedCommand
from megtrim.util.strict_json import dump
from support.megtrim_cli import SAMPLE, Project, run_megtrim

pytestmark = pytest.mark.chain

KNOWN = {("load_and_run", "plain"): 7, ("load_and_run", "reduced"): 3}
COMMIT = "1a2b3c4d5e6f" + "0" * 28


def checkout(folder: Path, out: Path, *, quick: bool = False) -> Project:
    project = Project(shutil.copytree(SAMPLE, folder))
    project.change(toolchain={"kind": "host"})
    project.out = out
    left = out / "baseline"
    left.mkdir(parents=True, exist_ok=True)
    base = Base(sha=COMMIT, branch="main", what="the merge base")
    (left / "wanted.json").write_text(dump(base), encoding="utf-8")
    known = dump_sizes(Baseline(sizes=KNOWN, source="the known", quick=quick))
    (left / "sizes.json").write_text(known, encoding="utf-8")
    return project


def rebuild(project: Project) -> CompletedCommand:
    where = ("--config", str(project.config), "--out", str(project.out))
    env = {"GITHUB_OUTPUT": str(project.folder / "outputs")}
    return run_megtrim("ci", "github", "baseline", "rebuild", *where, cwd=project.folder, env=env)


def test_plain_and_reduced_are_built_from_what_is_committed(
    tmp_path: Path, shared_out: Path
) -> None:
    project = checkout(tmp_path / "base", shared_out)
    project.change(budgets=[{"artifact": "load_and_run", "max": "1 KiB"}])

    done = rebuild(project)

    assert done.rc == 0, done.stderr
    found = load_sizes(shared_out / "baseline" / "sizes.json", shown="")
    assert found.source == "main at 1a2b3c4d5e6f, the merge base, rebuilt"
    assert sorted(found.sizes) == [("load_and_run", "plain"), ("load_and_run", "reduced")]
    assert 0 < found.sizes["load_and_run", "reduced"] < found.sizes["load_and_run", "plain"]
    assert "\nrebuilt\n" in (project.folder / "outputs").read_text(encoding="utf-8")
    assert "build/profile" not in done.stderr
    assert found.parts.keys() == {("load_and_run", "reduced")}
    assert found.made_from.made_from.keys() == {*Cause, ORDERS}


def test_a_quick_baseline_needs_no_keep_set(tmp_path: Path, shared_out: Path) -> None:
    project = checkout(tmp_path / "base", shared_out, quick=True)
    project.change(models=project.read()["models"][:1])
    shutil.rmtree(project.folder / "megtrim" / "keepset")

    done = rebuild(project)

    assert done.rc == 0, done.stderr
    found = load_sizes(shared_out / "baseline" / "sizes.json", shown="")
    assert (found.quick, found.source) == (True, "main at 1a2b3c4d5e6f, the merge base, rebuilt")
    assert 0 < found.sizes["load_and_run", "reduced"] < found.sizes["load_and_run", "plain"]
    assert "build/profile" not in done.stderr
    assert not (project.folder / "megtrim" / "keepset").exists()
