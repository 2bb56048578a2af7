"""What is near a scenario of the sample engine, run on plain and on what was trimmed."""

import json
from typing import Any

import pytest

from integration.conftest import MakeProject

pytestmark = [pytest.mark.chain]

TASK = "neighbours/tiny-mobile/default@any"


def _rows(stdout: str) -> dict[str, dict[str, Any]]:
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
    project = make_project("tiny-mobile")
    ended = project.run("trim", "--neighbours")
    final = project.out / "final"
    verdict = json.loads((final / "verdict.json").read_text(encoding="utf-8"))
    row = next(row for row in verdict["neighbours"] if row["name"] == "enable-nchw44")

    assert ended.rc == 0
    assert any("sample_blocking<" in need for need in row["levels"][0]["needs"])
    assert 'id="neighbours"' in (final / "index.html").read_text(encoding="utf-8")
    assert "enable-nchw44" in (final / "report.md").read_text(encoding="utf-8")


def test_both_levels_stand_side_by_side(make_project: MakeProject) -> None:
    project = make_project("tiny-mobile")
    project.change(trim={"level": "function"})
    ended = project.run("trim", "--neighbours")
    verdict = json.loads((project.out / "final/verdict.json").read_text(encoding="utf-8"))
    rows = {row["name"]: row["levels"] for row in verdict["neighbours"]}
    needs = {level["level"]: level["needs"] for level in rows["fake-first"]}

    assert ended.rc == 0, ended.stderr
    assert [(level["level"], level["outcome"]) for level in rows["iter-1"]] == [
        *(("region", "same"), ("function", "same"))
    ]
    assert [level["outcome"] for level in rows["fake-first"]] == ["trapped", "trapped"]
    assert any("sample_executor<" in need for need in needs["region"])
    assert needs["function"] == ["sample::Executor::fake_run()"]
