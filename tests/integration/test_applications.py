"""Three ways to an application, on the sample engine: in its tree, linked, with its shared object.

One project has all of them and shares its builds, so the tests cost three builds of the engine. It
is trimmed by functions; one application loads the shared object while it runs.
"""

import json
import shutil
from pathlib import Path

import pytest

from integration.conftest import MakeProject
from integration.links import TRAPPED
from integration.planted_uses import ARM64, CLASSIFY, KEPT, PRINTED, expect_no_silent_use, plant
from integration.sample_builds import build_c_consumer
from megtrim.core.checks.invocation import Options
from megtrim.core.keep.keepset_files import read_folder
from megtrim.libs.elf.layout import parse_build_id
from megtrim.libs.util.process import CompletedCommand
from support.megtrim_cli import Project, read_verdict

pytestmark = [pytest.mark.chain, pytest.mark.clang]

IN_TREE = """
add_executable(in-tree src/in_tree.cpp $<TARGET_OBJECTS:sample_engine_objects>)
target_include_directories(in-tree PRIVATE src/public)
target_compile_options(in-tree PRIVATE $<TARGET_PROPERTY:load_and_run,COMPILE_OPTIONS>)
target_link_libraries(in-tree PRIVATE Threads::Threads)
target_link_options(in-tree PRIVATE $<TARGET_PROPERTY:load_and_run,LINK_OPTIONS>)
"""
KEEP_SET = "app/megtrim/keepset"
WRITTEN = [*PRINTED, "threads={threads}", "write={outputs}"]


@pytest.fixture(scope="module")
def project(make_project: MakeProject) -> Project:
    """Its first trim writes the keep set into the source of an application, as the example's."""
    made = make_project("tiny-mobile", toolchain="clang-linux-arm64")
    plant(made)
    engine = made.folder / "engine"
    shutil.copy(CLASSIFY / "main.cpp", engine / "src/in_tree.cpp")
    with (engine / "CMakeLists.txt").open("a", encoding="utf-8") as cmake:
        cmake.write(IN_TREE)
    shutil.rmtree(made.folder / "app/megtrim")
    config = made.read()
    config["keep_set"] = KEEP_SET
    config["trim"] |= {"level": "function", "crash_ids": True, "exports": [*KEPT]}
    config["applications"] = [
        {"name": "in-tree"},
        {"name": "sample-classify", "source": "app"},
        {"name": "sample-classify-shared", "source": "app", "library": "shared"},
        {"name": "loader", "source": "app", "library": "shared"},
    ]
    inputs = config["models"][0]["scenarios"][0]["inputs"]
    config["models"][0]["scenarios"] = [
        {"name": scenario, "application": program, "args": args, "inputs": inputs}
        for scenario, program, args in (
            ("tree", "in-tree", PRINTED),
            ("static", "sample-classify", WRITTEN),
            ("shared", "sample-classify-shared", WRITTEN),
            ("loaded", "loader", PRINTED),
        )
    ]
    names = [each["name"] for each in config["applications"]]
    config["artifacts"] = [*names, "libsample_engine.so"]
    config["budgets"] = [{"artifact": "sample-classify", "max": "200 KiB"}]
    made.write(config)
    made.expect("trim")
    return made


def test_three_ways_in(project: Project) -> None:
    verdict = project.verdict()
    found = {
        artifact["name"]: {row["variant"]: row["size_bytes"] for row in artifact["sizes"]}
        for artifact in verdict["artifacts"]
    }

    assert [each["status"] for each in verdict["scenarios"]] == ["pass"] * 4
    assert {
        each["scenario"]: " ".join(output["name"] for output in each["outputs"])
        for each in verdict["scenarios"]
    } == {
        **dict.fromkeys(("tree", "loaded"), "standard output"),
        **dict.fromkeys(("static", "shared"), "softmax29.npy"),
    }
    for name in ("in-tree", "sample-classify", "libsample_engine.so"):
        assert found[name]["reduced"] < 0.6 * found[name]["plain"], name
    # The program that loads the shared object holds nothing of the engine: it gains a build id.
    shared = found["sample-classify-shared"]
    assert shared["plain"] < shared["reduced"] < 40_000
    shipped = project.file("reduce/reduced", "bin")
    assert all(parse_build_id((shipped / each).read_bytes()) for each in found)
    assert [row["status"] for row in verdict["budgets"]] == ["pass"]
    keep = read_folder(project.folder / KEEP_SET)
    assert {record.arguments[0] for record in keep.scenarios} == set(found) - {
        "libsample_engine.so"
    }
    assert not (project.folder / "app/build").exists()


def test_an_untraced_run_of_an_application_is_named(project: Project) -> None:
    model = project.folder / "engine/models/tiny-mobile.sample"
    data = project.folder / "engine/models/tiny-mobile.data.npy"
    probe = (str(model), "--input", f"data={data}", "--application")
    region = "void midout::left_out<midout::Region<midout::tags::sample_thread_pool, "
    for program, more, function in (
        ("sample-classify", "nchw44=yes", "sample_engine::Model::use_nchw44()"),
        ("sample-classify-shared", "nchw44=yes", "sample::Graph::block_channels()"),
        # It takes the signal of the trap, and aborts.
        ("loader", "threads", region),
    ):
        same = project.run("probe", *probe, program, "--", *PRINTED)
        other = project.run("probe", *probe, program, "--", *PRINTED, more)

        assert same.rc == 0, same.stderr
        assert other.rc == 1
        assert other.stdout.startswith(f"trap: the function {function}")
        assert " is not kept" in other.stdout
    without = project.run("probe", *probe[:-1], "--", "--cpu")
    assert without.rc == 2
    assert "no scenario runs load_and_run, so it is not built" in without.stderr


def test_no_use_of_what_was_left_out_of_a_shared_object_is_silent(
    project: Project, tmp_path: Path
) -> None:
    options = Options(config=project.config, out=project.out, quiet=True)
    crash = expect_no_silent_use(project, ARM64, tmp_path, options=options)
    (tmp_path / "tombstone").write_bytes(crash)
    answer = project.expect("explain", "--crash", str(tmp_path / "tombstone")).stdout
    assert "certain: True" in answer
    assert "program: libsample_engine.so" in answer


def test_what_is_near_a_scenario_of_a_shared_object(project: Project) -> None:
    verdict = read_verdict(project.expect("trim", "--neighbours", "--json"))
    levels = {
        (row["name"], level["level"]): level
        for row in verdict["neighbours"]
        for level in row["levels"]
        if row["scenario"] == "tiny-mobile/shared@any"
    }

    for level in ("region", "function"):
        assert levels["other-values", level]["outcome"] == "same"
        assert levels["threads-2", level]["outcome"] == "trapped"
        assert levels["threads-2", level]["needs"]


@pytest.mark.devices
def test_a_shared_object_travels_to_a_phone(project: Project) -> None:
    sysroot = "/usr/aarch64-linux-gnu"
    phone = {"name": "phone", "kind": "virtual-phone", "class": "any", "sysroot": sysroot}
    with project.changed(classes=[{"name": "any", "qemu_cpu": "max"}], devices=[phone]):
        project.expect("verify")


def test_a_program_in_c_loads_the_shared_object(project: Project, tmp_path: Path) -> None:
    """For arm64, from an export, by its CMake package; with the outputs of the whole engine.

    What no scenario ran is gone: with two threads it traps.
    """
    project.expect("export", str(tmp_path / "trimmed"))
    program = build_c_consumer(tmp_path / "trimmed", tmp_path / "consumer")
    library = tmp_path / "trimmed/lib/libsample_engine.so"
    trimmed = library.stat().st_size
    first = run_on_arm64(program, project)
    untraced = run_on_arm64(program, project, "threads=2")
    shutil.copy(project.file("build/plain", "bin/libsample_engine.so"), library)
    second = run_on_arm64(program, project)

    assert first.ok, first.stderr
    assert first.stdout.startswith("softmax29: ")
    assert first.stdout == second.stdout
    assert (untraced.rc, untraced.stdout) == (TRAPPED[ARM64.machine], "")
    assert trimmed < 0.6 * library.stat().st_size


def run_on_arm64(program: Path, project: Project, *more: str) -> CompletedCommand:
    models = project.folder / "engine/models"
    model = models / "tiny-mobile.sample"
    data = models / "tiny-mobile.data.npy"
    return ARM64.emulate(program, str(model), f"data={data}", *more)


def test_a_changed_application_is_built_again_and_nothing_else(project: Project) -> None:
    """The last test: the project is another one afterwards."""
    source = project.folder / "app/main.cpp"
    text = source.read_text(encoding="utf-8")
    assert text.count('" %zu (%.6f)"') == 1
    source.write_text(text.replace('" %zu (%.6f)"', '" %zu: %.4f"'), encoding="utf-8")
    steps = {s["task"]: s for s in json.loads(project.run("plan", "--json").stdout)}

    assert steps["build/plain"]["state"] == "run"
    # Changed, or new where another test's project built last: they share their results.
    assert "application sample-classify " in steps["build/plain"]["why"]
    project.expect("trim", "--accept")
