"""A size check where functions are trimmed from the plain build: one build, and devices verify it.

The device is this machine, taken for a board on a runner, whose owner lets programs run.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from integration.conftest import MakeProject
from integration.test_evidence import CHECK, Team, checks
from megtrim.elf.symbol_names import readable
from megtrim.size.baseline import load_sizes
from megtrim.util.process import CompletedCommand

pytestmark = [pytest.mark.chain]

MODEL = "tiny-mobile"


def builds(trimmed: CompletedCommand) -> set[str]:
    """Return the tasks that compile or trace, of those that `trim --json` lists."""
    done = json.loads(trimmed.stdout)["done"]
    return {task for task in done if task.startswith(("build/", "profile/", "reduce/region"))}


def ended(evidence: dict[str, Any]) -> tuple[str, str]:
    """Return how the one scenario of a device job ended, and what is said of it."""
    (found,) = evidence["results"]
    return found["status"], found["text"]


def test_a_function_trap_on_the_board_is_named(make_project: MakeProject) -> None:
    """As the build job names it. With base: plain the committed list needs one build alone."""
    it = Team(make_project(MODEL))
    config = it.project.read()
    config["trim"] = {"level": "function", "base": "plain"}
    it.project.write(config)
    it.trim()
    (whole,) = it.keep.texts().values()
    planted = next(line for line in whole.splitlines() if "sample" in line and "execute" in line)
    it.keep.drop_lines(lambda line: line.rstrip("\n") == planted)

    trimmed = it.trim("--committed")
    evidence = it.run(it.pack("--committed"), "evidence")
    verdict = it.join("--evidence", "evidence")

    name = readable(planted.split('"')[1].partition(" ")[2])
    function = f"it trapped: the function {name} is not kept, for the"
    said = f"{function} keep set does not list it"
    assert builds(trimmed) == {"build/plain"}
    (scenario,) = verdict["scenarios"]
    assert scenario["text"].startswith(f"{function} committed keep set does not list it")
    assert ended(evidence) == ("trap", said)
    assert checks(verdict)[CHECK]["status"] == "fail"
    assert said in checks(verdict)[CHECK]["text"]
    assert it.gate() == 1


def test_a_quick_check_is_proven_on_the_board(make_project: MakeProject) -> None:
    """Nothing is committed, whatever level is configured; sizes are compared with quick ones."""
    it = Team(make_project(MODEL))
    it.keep.remove()
    trimmed = it.trim("--quick")
    jobs = it.jobs("--quick")
    evidence = it.run(it.pack("--quick"), "evidence")
    verdict = it.join("--evidence", "evidence")

    sizes = it.folder / "results/sizes.json"
    assert builds(trimmed) == {"build/plain"}
    assert it.keep.texts() == {}
    assert [entry["artifact"] for entry in jobs["device"]["include"]] == ["megtrim-evidence-any-1"]
    assert ended(evidence)[0] == "pass"
    assert verdict["verdict"] == "pass"
    assert "the quick way, from the plain build alone" in verdict["headline"]
    assert it.gate() == 0

    assert load_sizes(sizes, shown="").quick
    again = it.trim("--quick", "--baseline", str(sizes))
    rows = json.loads(again.stdout)["done"]["size/artifacts"]["result"]["artifacts"]
    grown = {row["variant"]: row["growth_bytes"] for row in rows}
    # Another test's full trim is next to them.
    assert (grown["plain"], grown["reduced"]) == (0, 0)
    refused = it.project.run("trim", "--baseline", str(sizes))
    assert refused.rc == 2
    assert f"{sizes}: found sizes of a quick trim, expected those of a full one" in refused.stderr
