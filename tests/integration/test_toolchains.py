import json
from pathlib import Path

import pytest

from megtrim.regions.keepset_files import find_files
from support.megtrim_cli import Project

pytestmark = [pytest.mark.chain]

BUDGET = {"artifact": "load_and_run", "toolchains": ["arm64"]}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project.of_sample(tmp_path / "project", models=("tiny-mobile",))
    config = made.read()
    del config["toolchain"]
    config["toolchains"] = [{"name": "desk", "kind": "host"}, {"name": "arm64", "kind": "zig"}]
    config["budgets"] = [{**BUDGET, "max": "10 MiB"}]
    made.write(config)
    return made


def verdict(project: Project, name: str) -> dict[str, object]:
    path = project.out / name / "final" / "verdict.json"
    data: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
    return data


def test_one_command_trims_for_both(project: Project) -> None:
    ended = project.expect("trim", timeout_s=1200)
    rows = ended.stdout.rstrip().splitlines()[-2:]
    cells = [row.split() for row in rows]
    assert [row[:2] for row in cells] == [[name, "load_and_run"] for name in ("desk", "arm64")]
    assert [row[-1] for row in cells] == ["pass", "pass"]
    found = {name: verdict(project, name) for name in ("desk", "arm64")}
    assert [len(each["budgets"]) for each in found.values()] == [0, 1]  # type: ignore[arg-type]
    targets = {each["toolchain"]["target"] for each in found.values()}  # type: ignore[index]
    assert len(targets) == 2
    keep_set = project.folder / "megtrim" / "keepset"
    assert [len(find_files(keep_set / name)) for name in found] == [1, 1]

    planned = project.run("plan")
    assert planned.stdout.count("everything is up to date") == 2

    where = (f"{project.config}#arm64", "--out", str(project.out / "arm64"))
    chosen = project.run("size", "--config", *where)
    assert (chosen.rc, "nothing was built or run" in chosen.stderr) == (0, True), chosen.stderr

    project.change(budgets=[{**BUDGET, "max": "1 KiB"}])
    ended = project.run("trim", "--committed")
    assert ended.rc == 1
    rows = ended.stdout.rstrip().splitlines()[-2:]
    assert [row.split()[-1] for row in rows] == ["pass", "fail"]
    assert "  run   build" not in ended.stderr


def test_a_choice_is_asked_for_where_one_is_needed(project: Project) -> None:
    ended = project.run("explain", "--json", "conv")

    assert ended.rc == 2
    assert f"expected --config {project.config}#desk or" in ended.stderr
