"""The chain on the sample engine, with real compilers and qemu, as a user runs it."""

import json
from pathlib import Path

import junitparser
import pytest

from integration.conftest import MakeProject
from megtrim.elf.layout import parse_build_id
from megtrim.regions.keepset_files import read_folder
from support.megtrim_cli import Project

pytestmark = [pytest.mark.chain]

MODELS = ("tiny-vgg", "tiny-mobile", "tiny-quant")


def _sizes(project: Project) -> dict[str, int]:
    artifact = project.verdict()["artifacts"][0]
    return {row["variant"]: row["size_bytes"] for row in artifact["sizes"]}


@pytest.mark.parametrize(
    "toolchain",
    [
        pytest.param("zig"),
        pytest.param("host"),
        pytest.param("clang-linux-arm64", marks=pytest.mark.clang),
    ],
)
def test_one_command_trims_and_proves(make_project: MakeProject, toolchain: str) -> None:
    project = make_project(toolchain=toolchain)
    ended = project.run("trim")
    verdict = project.verdict()
    sizes = _sizes(project)

    assert ended.rc == 0, ended.stderr
    assert verdict["verdict"] == "pass"
    assert [s["status"] for s in verdict["scenarios"]] == ["pass"] * 4
    assert all(o["equal"] for s in verdict["scenarios"] for o in s["outputs"])
    assert all(s["outputs"] for s in verdict["scenarios"])
    assert sizes["reduced"] < 0.6 * sizes["plain"] < sizes["plain"] < sizes["profile"]
    assert 0 < verdict["regions"]["kept"] < verdict["regions"]["held"]
    assert "reduced" in ended.stdout
    assert "index.html" in ended.stdout
    plain, shipped = (
        project.file(task, "bin/load_and_run").read_bytes()
        for task in ("build/plain", "reduce/reduced")
    )
    assert (parse_build_id(plain), len(parse_build_id(shipped))) == ("", 40)


def test_a_second_run_does_nothing(make_project: MakeProject) -> None:
    project = make_project("tiny-mobile")
    first = project.run("trim")
    second = project.run("trim")
    plan = project.run("plan", "--why")

    assert (first.rc, second.rc) == (0, 0), first.stderr + second.stderr
    assert "everything is up to date" in second.stderr
    assert "  run   " not in second.stderr
    assert plan.stdout.splitlines()[-1] == "everything is up to date"
    assert second.stdout == first.stdout


def test_a_changed_argument_redoes_what_depends_on_it(make_project: MakeProject) -> None:
    project = make_project("tiny-mobile")
    project.run("trim")
    config = project.read()
    config["models"][0]["scenarios"][0]["args"] = ["--cpu", "--iter", "3"]
    project.write(config)
    steps = {s["task"]: s for s in json.loads(project.run("plan", "--json").stdout)}

    assert steps["build/plain"]["state"] == "done"
    assert steps["build/profile"]["state"] == "done"
    assert steps["profile/tiny-mobile/default@any"]["state"] == "run"
    assert "arguments changed" in steps["profile/tiny-mobile/default@any"]["why"]
    assert steps["header/keepset"]["state"] == "waits"
    assert project.run("trim").rc == 1  # the committed keep set is of other arguments
    assert project.run("trim", "--accept").rc == 0


def test_more_models_keep_more(make_project: MakeProject) -> None:
    keeps, sizes = [], []
    for count in (1, 2, 3):
        project = make_project(*MODELS[:count], name=f"of-{count}")
        project.expect("trim")
        keeps.append(set(read_folder(project.folder / "megtrim/keepset").regions()))
        sizes.append(_sizes(project)["reduced"])

    assert keeps[0] < keeps[1] < keeps[2]
    assert sizes[0] < sizes[1] < sizes[2]


def test_an_untraced_run_traps_and_is_named(make_project: MakeProject) -> None:
    project = make_project("tiny-vgg")
    project.run("trim")
    data = project.folder / "engine/models/tiny-vgg.data.npy"
    arguments = ("tiny-vgg", "--input", f"data={data}", "--")
    same = project.run("probe", *arguments, "--cpu", "--iter", "2")
    other = project.run("probe", *arguments, "--cpu", "--enable-nchw44")

    assert same.rc == 0, same.stderr
    assert same.stdout.startswith("pass:")
    assert other.rc == 1
    assert other.stdout.startswith("trap: it trapped")
    assert "model      tiny-vgg" in other.stdout
    assert "arguments  --cpu --enable-nchw44" in other.stdout
    regions = [line for line in other.stdout.splitlines() if line.startswith("  region ")]
    assert any("nchw44" in line for line in regions)


def test_another_model_traps(make_project: MakeProject) -> None:
    project = make_project("tiny-mobile")
    project.run("trim")
    other = project.folder / "engine/models/tiny-quant.sample"
    data = project.folder / "engine/models/tiny-quant.data.npy"
    ended = project.run("probe", str(other), "--input", f"data={data}", "--", "--cpu")

    assert ended.rc == 1
    assert ended.stdout.startswith("trap:")


def test_a_damaged_model_is_no_trap(make_project: MakeProject) -> None:
    """A minimum-size build traps on any error; the difference shows that nothing is missing."""
    project = make_project("tiny-vgg")
    project.run("trim")
    whole = (project.folder / "engine/models/tiny-vgg.sample").read_bytes()
    damaged = project.folder / "damaged.sample"
    damaged.write_bytes(whole[: len(whole) // 2])
    ended = project.run("probe", str(damaged), "--", "--cpu")

    assert ended.rc == 1
    assert ended.stdout.startswith("engine-error:")
    assert "and the profile build fails too" in ended.stdout
    assert "region  " not in ended.stdout


def test_both_layouts_make_the_same_program(make_project: MakeProject) -> None:
    digests = {}
    for layout in ("scoped", "upstream"):
        project = make_project("tiny-mobile", name=layout)
        config = project.read()
        config["trim"]["layout"] = layout
        project.write(config)
        assert project.run("trim").rc == 0
        digests[layout] = project.file("reduce/reduced", "bin/load_and_run").read_bytes()

    assert digests["scoped"] == digests["upstream"]


def test_results_do_not_depend_on_the_folder(tmp_path: Path) -> None:
    found = []
    for name in ("here", "there/far/away"):
        project = Project.of_sample(tmp_path / name / "project", models=("tiny-mobile",))
        assert project.run("trim").rc == 0
        found.append(
            {
                "keep set": project.file("header/keepset", "keepset.json").read_bytes(),
                "macros": project.file("header/keepset", "include/bin_reduce.h").read_bytes(),
                "midout.h": project.file("header/keepset", "include/midout.h").read_bytes(),
                "program": project.file("reduce/reduced", "bin/load_and_run").read_bytes(),
                "junit": _without_times(project.file("report/report", "junit.xml")),
            }
        )

    assert found[0] == found[1]


def _without_times(path: Path) -> str:
    suites = junitparser.JUnitXml.fromfile(str(path))
    for suite in suites:
        suite.time = 0
        for case in suite:
            case.time = 0
    suites.time = 0
    return str(suites.tostring())  # type: ignore[no-untyped-call]


def test_a_verification_that_only_took_another_time_makes_nothing_again(
    make_project: MakeProject, tmp_path: Path, shared_out: Path
) -> None:
    project = make_project("tiny-mobile")
    # Another worker's project of the same model must not verify in between.
    project.out = tmp_path / "out"
    assert project.run("stage reduce", "--reuse", str(shared_out)).rc == 0
    assert project.run("trim").rc == 0

    assert project.run("verify", "--again").rc == 0
    ended = project.expect("trim")
    assert "everything is up to date: nothing was built or run" in ended.stderr


ODD: tuple[dict[str, object], ...] = (
    {"result": {}},
    {"result": None},
    {"result": {"verdict": "x"}},
    {"files": {}},
    {"files": {"../../x": {"sha256": "0", "bytes": 0}}},
    {"inputs": {"a": 3}},
    {"key": ["x"]},
    {"name": {"a": 1}},
)


def test_an_odd_manifest_is_made_again(
    make_project: MakeProject, tmp_path: Path, shared_out: Path
) -> None:
    """Of every stage, whatever is odd about it: never our own bug, never another verdict."""
    project = make_project("tiny-mobile")
    project.out = tmp_path / "out"
    assert project.run("stage reduce", "--reuse", str(shared_out)).rc == 0
    assert project.run("trim").rc == 0
    for turn in range(2):
        manifests = sorted(project.out.glob("*/*/manifest.json"))
        for at, path in enumerate(manifests):
            data = json.loads(path.read_text(encoding="utf-8"))
            path.write_text(json.dumps(data | ODD[(at + 3 * turn) % len(ODD)]), encoding="utf-8")
        ended = project.expect("trim")
        for path in manifests:
            if path.parts[-3] != "report":  # another, where other files were compiled meanwhile
                assert f"{path.parent} was damaged: its manifest is not" in ended.stderr
        assert project.verdict()["verdict"] == "pass"
