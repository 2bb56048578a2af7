"""Trimming by the committed keep set: nothing is traced, and the verdict is the same."""

import json
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import MakeProject
from megtrim.util.process import CompletedCommand
from support.megtrim_cli import KeepFolder, Project

pytestmark = [pytest.mark.chain]

MODEL = "tiny-mobile"
SCENARIO = f"{MODEL}/default@any"


@pytest.fixture
def traced(make_project: MakeProject) -> Project:
    project = make_project(MODEL)
    project.expect("trim")
    return project


def _keep_set(project: Project) -> KeepFolder:
    return KeepFolder(project.folder / "megtrim" / "keepset")


def _trim(project: Project, *arguments: str) -> tuple[CompletedCommand, dict[str, Any]]:
    ended = project.run("trim", "--committed", "--json", *arguments)
    folder = Path(json.loads(ended.stdout)["done"]["verdict/verdict"]["folder"])
    return ended, json.loads((folder / "verdict.json").read_text(encoding="utf-8"))


def _made(project: Project) -> set[str]:
    found = (json.loads(path.read_text("utf-8")) for path in project.out.glob("*/*/manifest.json"))
    return {f"{data['stage']}/{data['name']}" for data in found}


def _elsewhere(project: Project, out: Path) -> Project:
    other = Project(project.folder)
    other.out = out
    return other


def test_the_committed_keep_set_makes_the_same_program(traced: Project, tmp_path: Path) -> None:
    """No profile build and no trace; also from a folder of results that is spelled with ``..``."""
    reduced = traced.file("reduce/reduced", "bin/load_and_run").read_bytes()
    (tmp_path / "companion").mkdir()
    fresh = _elsewhere(traced, tmp_path / "companion" / ".." / "fresh")
    before = _keep_set(traced).texts()

    first, verdict = _trim(fresh)
    second = fresh.run("trim", "--committed")

    assert first.rc == 0, first.stderr
    assert _made(fresh) == {
        "build/plain",
        "header/keepset",
        "reduce/reduced",
        f"verify/{SCENARIO}",
        "size/artifacts",
        "verdict/verdict",
        "report/report",
    }
    found = next(fresh.out.glob("reduce/*/bin/load_and_run"))
    assert found.read_bytes() == reduced
    assert _keep_set(traced).texts() == before
    assert "everything is up to date" in second.stderr

    kept = len(_keep_set(traced).read().regions())
    assert verdict["verdict"] == "pass"
    assert (verdict["regions"]["held"], verdict["regions"]["kept"]) == (0, kept)
    assert verdict["headline"].endswith(f", {kept} regions kept")
    assert [row["variant"] for row in verdict["artifacts"][0]["sizes"]] == ["plain", "reduced"]
    assert [(s["id"], s["status"], s["regions"]) for s in verdict["scenarios"]] == [
        (SCENARIO, "pass", kept)
    ]
    left = {path.name: path.read_text(encoding="utf-8") for path in (fresh.out / "final").iterdir()}
    assert set(left) == {"verdict.json", "junit.xml", "report.md", "index.html", "sizes.json"}
    assert json.loads(left["verdict.json"]) == verdict


def test_a_probe_makes_the_profile_build_where_it_traps(traced: Project) -> None:
    model = traced.folder / "engine/models/tiny-quant.sample"
    data = traced.folder / "engine/models/tiny-quant.data.npy"
    probe = (str(model), "--input", f"data={data}", "--", "--cpu")

    ended = traced.run("probe", "--committed", *probe)

    assert ended.rc == 1
    assert ended.stdout.startswith("trap: it trapped")
    assert "\n  region     " in ended.stdout
    assert ended.stderr.index("reduce/reduced") < ended.stderr.index("build/profile")


def test_growth_is_reported_for_every_file_that_the_baseline_holds(
    traced: Project, tmp_path: Path
) -> None:
    """With or without a budget; the command line's baseline wins over the configured one."""
    _, first = _trim(traced)
    sizes = {row["variant"]: row["size_bytes"] for row in first["artifacts"][0]["sizes"]}
    before = {"plain": sizes["plain"] + 100, "reduced": sizes["reduced"] - 2_048}
    baseline = tmp_path / "sizes.json"
    source = "main at 1a2b3c4d5e6f, the merge base"
    document = {"version": 2, "artifacts": {"load_and_run": before}, "source": source}
    baseline.write_text(json.dumps(document), encoding="utf-8")
    traced.change(budgets=[{"artifact": "load_and_run", "growth": "1 KiB"}], baseline="gone.json")

    ended, verdict = _trim(traced, "--baseline", str(baseline))

    assert ended.rc == 1, ended.stderr
    assert verdict["baseline"] == source
    rows = verdict["artifacts"][0]["sizes"]
    assert [(row["variant"], row["growth_bytes"]) for row in rows] == [
        ("plain", -100),
        ("reduced", 2_048),
    ]
    [budget] = verdict["budgets"]
    assert (budget["used_bytes"], budget["status"]) == (2_048, "fail")
    folder = Path(json.loads(ended.stdout)["done"]["report/report"]["folder"])
    assert "main at 1a2b3c4d5e6f" in (folder / "report.md").read_text(encoding="utf-8")
    assert "main at 1a2b3c4d5e6f" in (folder / "index.html").read_text(encoding="utf-8")


def test_a_run_without_a_verdict_says_why(tmp_path: Path) -> None:
    project = Project.of_sample(tmp_path, models=(MODEL,))
    final = project.out / "final"

    ended = project.run("trim", "--committed", "--no-gate")

    assert ended.rc == 2
    assert {path.name for path in final.iterdir()} == {"ending.json", "junit.xml"}
    assert json.loads((final / "ending.json").read_text(encoding="utf-8")) == {
        "version": 2,
        "config": "megtrim.yaml",
        "exit": 2,
        "message": "megtrim/keepset: there is no keep set, which --committed trims by",
        "hint": "make it, and commit it: megtrim trim --config megtrim.yaml --out out --accept",
    }
    assert project.run("trim", "--committed").rc == 2
    assert not final.exists()
