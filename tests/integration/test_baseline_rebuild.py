"""The merge base is built for its sizes where no run has stored them."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

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
    shutil.copytree(SAMPLE, folder)
    config = yaml.safe_load((folder / "megtrim.yaml").read_text(encoding="utf-8"))
    config["toolchain"] = {"kind": "host"}
    project = Project(folder)
    project.write(config)
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
    config = project.read()
    config["models"] = config["models"][:1]
    project.write(config)
    shutil.rmtree(project.folder / "megtrim" / "keepset")

    done = rebuild(project)

    assert done.rc == 0, done.stderr
    found = load_sizes(shared_out / "baseline" / "sizes.json", shown="")
    assert (found.quick, found.source) == (True, "main at 1a2b3c4d5e6f, the merge base, rebuilt")
    assert 0 < found.sizes["load_and_run", "reduced"] < found.sizes["load_and_run", "plain"]
    assert "build/profile" not in done.stderr
    assert not (project.folder / "megtrim" / "keepset").exists()


def test_a_merge_base_without_a_keep_set_leaves_what_is_known(tmp_path: Path) -> None:
    project = checkout(tmp_path / "base", tmp_path / "out")
    shutil.rmtree(project.folder / "megtrim" / "keepset")

    done = rebuild(project)

    assert done.rc == 0, done.stderr
    left = json.loads((tmp_path / "out" / "baseline" / "sizes.json").read_text(encoding="utf-8"))
    assert left["artifacts"] == {"load_and_run": {"plain": 7, "reduced": 3}}
    assert left["source"].startswith("the known; the merge base cannot be rebuilt (")
    assert "megtrim/keepset: there is no keep set" in left["source"]
    assert "\nlast-known\n" in (project.folder / "outputs").read_text(encoding="utf-8")
