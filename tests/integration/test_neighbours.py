"""What is near a scenario of the sample engine, run on plain and on what was trimmed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from integration.conftest import MakeProject
from support.megtrim_cli import Project

pytestmark = [pytest.mark.chain]

TASK = "neighbours/tiny-mobile/default@any"


def _asking(project: Project, neighbours: object) -> None:
    config = project.read()
    config["budgets"] = [{"artifact": "load_and_run", "neighbours": neighbours}]
    project.write(config)


def _rows(stdout: str) -> dict[str, dict[str, Any]]:
    """Return each neighbour's outcome on each level, from what --json prints."""
    rows = json.loads(stdout)["done"][TASK]["result"]["neighbours"]
    return {
        row["name"]: {level["level"]: level["outcome"] for level in row["levels"]} for row in rows
    }


def test_what_trimming_costs_is_shown(make_project: MakeProject) -> None:
    """Numbers that never mattered to a kernel work; other kernels, threads and words trap."""
    project = make_project("tiny-mobile")
    ended = project.run("verify", "--neighbours", "--json")
    again = project.run("verify", "--neighbours")
    rows = _rows(ended.stdout)

    assert ended.rc == 0, ended.stderr
    works = [name for name, levels in rows.items() if levels == {"region": "same"}]
    traps = [name for name, levels in rows.items() if levels == {"region": "trapped"}]
    assert {"iter-1", "iter-3", "iter-12", "warm-up-0", "warm-up-3", "other-values"} <= set(works)
    assert {"threads-2", "enable-nchw44", "no-model", "unknown-flag"} <= set(traps)
    assert rows["larger-input"] == {}  # its shapes are fixed, on plain as well
    assert again.rc == 0
    assert "everything is up to date" in again.stderr
    assert again.stdout.splitlines()[0] == "tiny-mobile/default@any"
    last = next(line for line in again.stdout.splitlines() if "of those that apply" in line)
    assert last.split()[-3:] == [str(len(works)), "of", str(len([r for r in rows.values() if r]))]


def test_a_trap_is_named(make_project: MakeProject) -> None:
    """By the regions of the same run on the profile build that are missing in the keep set."""
    project = make_project("tiny-mobile")
    _asking(project, ["enable-nchw44"])
    ended = project.run("trim", "--neighbours")
    verdict = project.verdict()
    row = next(row for row in verdict["neighbours"] if row["name"] == "enable-nchw44")

    assert ended.rc == 1
    assert any("sample_blocking<" in need for need in row["levels"][0]["needs"])
    page = project.file("report/report", "index.html").read_text(encoding="utf-8")
    assert 'id="neighbours"' in page
    assert "enable-nchw44" in project.file("report/report", "report.md").read_text("utf-8")


def test_a_budget_of_neighbours_is_a_gate(make_project: MakeProject) -> None:
    """It alone has them run; one that is not kept exits 1, a name that is none exits 2."""
    project = make_project("tiny-mobile")
    unasked = project.run("trim")
    _asking(project, ["iter-1", "threads-1", "other-values"])
    wrong = project.run("trim")
    _asking(project, ["iter-1", "other-values"])
    kept = project.run("trim", "--committed")
    checks = {check["id"]: check for check in project.verdict()["checks"]}
    _asking(project, "all")
    broken = project.run("trim", "--committed")

    assert unasked.rc == 0, unasked.stderr
    assert "  run   neighbours/" not in unasked.stderr
    assert wrong.rc == 2
    assert "no scenario has a neighbour 'threads-1'" in wrong.stderr
    assert "  run   " not in wrong.stderr
    assert kept.rc == 0, kept.stderr
    assert checks["neighbours:load_and_run"]["status"] == "pass"
    assert checks["neighbours:load_and_run"]["text"] == "2 of 2 neighbours work: as asked for"
    assert broken.rc == 1
    assert "fail: neighbours:load_and_run" in broken.stdout


def test_both_levels_stand_side_by_side(make_project: MakeProject) -> None:
    """With functions trimmed, the build by regions is tried as well; each names what it lacked."""
    project = make_project("tiny-mobile")
    _asking(project, ["iter-1", "fake-first"])
    config = project.read()
    config["trim"] = {"level": "function"}
    project.write(config)
    ended = project.run("trim")
    rows = {row["name"]: row["levels"] for row in project.verdict()["neighbours"]}
    needs = {level["level"]: level["needs"] for level in rows["fake-first"]}

    assert ended.rc == 1, ended.stderr
    assert [(level["level"], level["outcome"]) for level in rows["iter-1"]] == [
        *(("region", "same"), ("function", "same")),
    ]
    assert [level["outcome"] for level in rows["fake-first"]] == ["trapped", "trapped"]
    assert any("sample_executor<" in need for need in needs["region"])
    assert needs["function"] == ["sample::Executor::fake_run()"]
