"""Trimmed by operators alone, with a real compiler: nothing runs before the build."""

import json

import pytest

from integration.conftest import MakeProject
from megtrim.core.keep.keepset_files import read_folder

pytestmark = [pytest.mark.chain]


def test_a_model_without_scenarios_is_trimmed_and_run(
    make_project: MakeProject, shared_out: object
) -> None:
    project = make_project("tiny-mobile")
    (model,) = project.read()["models"]
    model = {key: value for key, value in model.items() if key != "scenarios"}
    project.change(trim={"level": "operator"}, models=[model], budgets=[])
    project.out = project.folder / "out"
    project.expect("trim", "--reuse", str(shared_out))
    verdict = project.verdict()
    keep = read_folder(project.folder / "megtrim/keepset")
    sizes = {row["variant"]: row["size_bytes"] for row in verdict["artifacts"][0]["sizes"]}

    assert verdict["verdict"] == "pass"
    assert [each["id"] for each in verdict["scenarios"]] == ["tiny-mobile/generated@any"]
    assert [each.id for each in keep.scenarios] == ["tiny-mobile/generated@any"]
    assert not keep.regions()
    assert keep.operators is not None
    assert list(sizes) == ["plain", "reduced"]
    assert sizes["reduced"] < 0.9 * sizes["plain"]

    # What was committed makes the same program, and no run is needed for it.
    again = project.run("plan", "--committed", "--json")
    assert again.rc == 0, again.stderr
    assert json.loads(again.stdout)


def test_where_nothing_can_run_nothing_is_proven(
    make_project: MakeProject, shared_out: object
) -> None:
    project = make_project("tiny-mobile")
    (model,) = project.read()["models"]
    model = {key: value for key, value in model.items() if key != "scenarios"}
    classes = [{"name": "any"}, {"name": "phone"}]
    devices = [{"name": "here", "class": "any"}]
    project.change(
        trim={"level": "operator"}, models=[model], budgets=[], classes=classes, devices=devices
    )
    project.out = project.folder / "out"
    project.run("trim", "--reuse", str(shared_out))
    verdict = project.verdict()
    idle = {check["id"]: check for check in verdict["checks"] if check["kind"] == "coverage"}

    assert verdict["verdict"] == "inconclusive"
    assert list(idle) == ["coverage:tiny-mobile/generated@phone"]
    assert "nothing ran: no device is of class phone" in str(idle)
