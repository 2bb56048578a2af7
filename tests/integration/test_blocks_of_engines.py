"""Engines of which functions are cut by blocks, from their plain builds, by a real compiler."""

from pathlib import Path

import pytest

from attacks.test_blocks import needs_compiler
from support.megtrim_cli import Project
from support.miniature import Generation, make_miniature

pytestmark = needs_compiler

MODEL = "tiny-mobile"


def make(folder: Path, kind: str) -> Project:
    project = Project.of_sample(folder, models=(MODEL,))
    project.change(
        toolchain={"kind": "clang-linux-arm64"},
        trim={"level": "blocks", "base": "plain"},
        budgets=[],
    )
    if kind == "megengine":
        make_miniature(folder / "tree", Generation.LITE)
        # A model of the sample engine, which MegEngine's reader does not know.
        (model,) = project.read()["models"]
        model["strip_info"] = f"{model['file']}.json"
        project.change(
            engine={"kind": kind, "source": "tree", "target": "load_and_run"}, models=[model]
        )
    return project


@pytest.mark.parametrize("kind", ["sample", "megengine"])
def test_an_engine_is_cut_from_its_plain_build(tmp_path: Path, kind: str) -> None:
    project = make(tmp_path, kind)
    project.expect("trim")
    verdict = project.verdict()
    sizes = {row["variant"]: row["size_bytes"] for row in verdict["artifacts"][0]["sizes"]}
    (made,) = (each for each in verdict["checks"] if "only the blocks that ran" in str(each))
    project.expect("trim", "--committed")
    other = project.expect("probe", MODEL, "--", "--cpu", "--iter", "2", "--record-comp-seq")

    assert verdict["verdict"] == "pass"
    assert all(each["equal"] for row in verdict["scenarios"] for each in row["outputs"])
    assert sizes["reduced"] * 2 < sizes["plain"]
    assert made
    assert "without, it trapped: " in other.stderr + other.stdout
