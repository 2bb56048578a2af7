"""The chain on the sample engine, with real compilers and qemu, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import junitparser
import pytest

from integration.conftest import MakeProject
from megtrim.elf.layout import parse_build_id
from megtrim.midout.keepset_folder import read_folder
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
    """Build, profile, reduce, verify, weigh, report: green, smaller, and equal to the last bit."""
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
    """What is up to date is not done again, and that is said."""
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
    """Builds stay; the trace and what follows are planned again, with the reason."""
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
    """One, two and three models: keep sets and sizes only grow."""
    keeps, sizes = [], []
    for count in (1, 2, 3):
        project = make_project(*MODELS[:count], name=f"of-{count}")
        ended = project.run("trim")
        assert ended.rc == 0, ended.stderr
        keeps.append(set(read_folder(project.folder / "megtrim/keepset").regions()))
        sizes.append(_sizes(project)["reduced"])

    assert keeps[0] < keeps[1] < keeps[2]
    assert sizes[0] < sizes[1] < sizes[2]


def test_an_untraced_run_traps_and_is_named(make_project: MakeProject) -> None:
    """A probe with another flag exits 1 and names model, arguments and regions."""
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
    """A model that was left out traps on a build for another one."""
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


def test_a_scenario_is_not_probed_with_other_arguments(make_project: MakeProject) -> None:
    """Under the name of a traced scenario, other arguments are refused before running."""
    project = make_project("tiny-vgg")
    ended = project.run("probe", "tiny-vgg/default@any", "--", "--cpu", "--iter", "9")

    assert ended.rc == 2
    assert "runs with what it was traced with" in ended.stderr


def test_a_difference_in_an_output_fails(make_project: MakeProject) -> None:
    """A reduced build that computes something else is caught, and said to differ."""
    project = make_project("tiny-mobile")
    source = project.folder / "engine/src/load_and_run/outputs.cpp"
    text = source.read_text(encoding="utf-8")
    source.write_text(_with_planted_difference(text), encoding="utf-8")
    ended = project.run("trim")
    verdict = project.verdict()

    assert ended.rc == 1, ended.stderr
    assert verdict["verdict"] == "fail"
    assert [s["status"] for s in verdict["scenarios"]] == ["parity"]
    failed = [check["kind"] for check in verdict["checks"] if check["status"] == "fail"]
    assert failed == ["parity"]


def _with_planted_difference(text: str) -> str:
    """Flip one bit of every tensor that the minimum-size build writes."""
    written = "out.append(tensor.as<char>(), tensor.bytes());"
    assert text.count(f"return {written}") == 1
    planted = f"""{written}
#if SAMPLE_NO_EXCEPTIONS
    out.back() ^= 1;
#endif
    return out;"""
    return text.replace(f"return {written}", planted)


def test_a_broken_budget_fails_and_reaches_junit(make_project: MakeProject) -> None:
    """The gate exits 1; JUnit has a failure that its reader counts."""
    project = make_project("tiny-mobile")
    config = project.read()
    config["budgets"] = [{"artifact": "load_and_run", "max": "1 KiB"}]
    project.write(config)
    ended = project.run("trim")
    verdict = project.verdict()
    suites = junitparser.JUnitXml.fromfile(str(project.file("report/report", "junit.xml")))

    assert ended.rc == 1
    assert verdict["verdict"] == "fail"
    assert [b["status"] for b in verdict["budgets"]] == ["fail"]
    assert (suites.failures, suites.errors) == (1, 0)


def test_a_shrunken_trace_waits_for_a_person(make_project: MakeProject) -> None:
    """A scenario that lost regions against the committed keep set fails until it is accepted."""
    project = make_project("tiny-mobile")
    project.run("trim")
    keep = project.folder / "megtrim/keepset/tiny-mobile/default@any.json"
    whole = keep.read_text(encoding="utf-8")
    keep.write_text(_with_extra_region(whole), encoding="utf-8")
    refused = project.run("stage header")
    accepted = project.run("stage header", "--accept")

    assert refused.rc == 1
    assert "no longer runs aaa_gone<7>" in refused.stderr
    assert accepted.rc == 0
    assert keep.read_text(encoding="utf-8") == whole


def _with_extra_region(text: str) -> str:
    line = ' "region aaa_gone<7>": ["tiny-mobile/default@any"],\n'
    assert text.startswith("{\n")
    return text.replace("{\n", "{\n" + line, 1)


def test_both_layouts_make_the_same_program(make_project: MakeProject) -> None:
    """Regions scoped by tag or all in one header: the reduced program is equal byte for byte."""
    digests = {}
    for layout in ("scoped", "upstream"):
        project = make_project("tiny-mobile", name=layout)
        config = project.read()
        config["trim"]["layout"] = layout
        project.write(config)
        assert project.run("trim").rc == 0
        digests[layout] = project.file("reduce/reduced", "bin/load_and_run").read_bytes()

    assert digests["scoped"] == digests["upstream"]


def test_an_engine_that_does_not_compile_is_a_product_failure(make_project: MakeProject) -> None:
    """Exit 1, and the first error is shown with its file."""
    project = make_project("tiny-mobile")
    broken = project.folder / "engine/src/opr/pooling.cpp"
    broken.write_text(broken.read_text("utf-8") + "\nint broken( {\n", encoding="utf-8")
    ended = project.run("trim")

    assert ended.rc == 1
    assert "the engine does not compile" in ended.stderr
    assert "pooling.cpp" in ended.stderr
    assert "error:" in ended.stderr
    assert project.verdict()["verdict"] == "fail"
    assert any("pooling.cpp" in check["text"] for check in project.verdict()["checks"])


def test_results_do_not_depend_on_the_folder(tmp_path: Path) -> None:
    """Two runs in different folders: equal header, keep set, JUnit (times aside), program."""
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
