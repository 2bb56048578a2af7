"""What makes it smaller still, with real compilers: the second level, switches and means.

Functions that no scenario ran are linked out, and named; outputs stay equal.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

from integration.conftest import MakeProject
from megtrim.core.build_spec import Variant
from megtrim.core.keep.keepset_files import read_folder
from support.megtrim_cli import Project

pytestmark = [pytest.mark.chain]

MODEL = "tiny-mobile"
SCENARIO = f"{MODEL}/default@any"


@pytest.fixture(scope="module")
def trimmed(make_project: MakeProject, shared_out: Path) -> Project:
    project = make_project(MODEL)
    project.change(trim=project.read()["trim"] | {"level": "function"})
    project.out = project.folder / "out"
    project.expect("trim", "--reuse", str(shared_out))
    return project


def test_both_levels_stand_side_by_side(trimmed: Project) -> None:
    verdict = trimmed.verdict()
    sizes = {row["variant"]: row["size_bytes"] for row in verdict["artifacts"][0]["sizes"]}
    (functions,) = verdict["functions"]

    assert verdict["verdict"] == "pass"
    assert list(sizes) == [Variant.PLAIN, Variant.PROFILE, Variant.REGION, Variant.REDUCED]
    assert sizes[Variant.REDUCED] < 0.95 * sizes[Variant.REGION]
    assert functions["kept"] < 0.75 * functions["held"]
    assert verdict["trim"]["level"] == "function"


def test_the_keep_set_says_who_needs_a_function(trimmed: Project) -> None:
    keep = read_folder(trimmed.folder / "megtrim/keepset")
    (record,) = keep.scenarios

    assert record.regions
    assert record.link_sha256 is not None
    assert keep.functions()["main"] == (SCENARIO,)
    reported = trimmed.run("explain", "main", "--json")
    assert json.loads(reported.stdout) == {"main": {"function": "main", "needed by": [SCENARIO]}}


def test_the_committed_keep_set_makes_the_same_program(trimmed: Project, tmp_path: Path) -> None:
    """Nothing runs before it is linked, and equal lists make equal bytes."""
    shipped = trimmed.file("reduce/reduced", "bin/load_and_run").read_bytes()
    fresh = Project(trimmed.folder)
    fresh.out = tmp_path / "fresh"

    fresh.expect("trim", "--committed")
    made = {path.parent.parent.name for path in fresh.out.glob("*/*/manifest.json")}
    assert "profile" not in made
    assert any(path.read_bytes() == shipped for path in fresh.out.glob("reduce/*/bin/load_and_run"))


def test_a_linker_that_cannot_is_reported_after_the_first_build(trimmed: Project) -> None:
    """Not an hour later, when the last one is linked without its functions."""
    project = Project(trimmed.folder)
    project.out = trimmed.folder / "by-gold"
    cmake = {"cmake": {"CMAKE_EXE_LINKER_FLAGS": "-fuse-ld=gold"}}
    with project.changed(engine=project.read()["engine"] | cmake):
        ended = project.run("trim")

    assert ended.rc == 2
    assert "cannot leave functions out: it prints 'GNU gold" in ended.stderr
    assert [path.name for path in (project.out / "work").iterdir()] == [
        path.name for path in (project.out / "work").glob("*-plain")
    ]


def test_the_cold_halves_that_gcc_splits_off_go_with_crash_ids_too(
    trimmed: Project, shared_out: Path, tmp_path: Path
) -> None:
    """They have no name that others use, so GNU ld drops the stubs that were meant for them."""
    ids = Project(trimmed.folder)
    ids.out = tmp_path / "out"
    with trimmed.changed(trim={"level": "function", "base": "plain", "crash_ids": True}):
        ids.expect("trim", "--quick", "--reuse", str(shared_out))
    (listed,) = ids.out.glob("reduce/*/dropped-load_and_run.txt")
    (functions,) = ids.verdict()["functions"]

    assert ".cold\n" in listed.read_text(encoding="utf-8")
    assert ids.verdict()["verdict"] == "pass"
    assert functions["kept"] < 0.75 * functions["held"]


def test_a_pattern_that_matches_nothing_is_reported_with_its_line(trimmed: Project) -> None:
    with trimmed.changed(trim=trimmed.read()["trim"] | {"keep": ["sample::no_such_function"]}):
        ended = trimmed.run("trim")

    assert ended.rc == 2
    assert "sample::no_such_function" in ended.stderr


def _ask(project: Project, *words: str) -> Any:
    verb, *rest = words
    ended = project.expect(f"size {verb}", *rest, "--json")
    return json.loads(ended.stdout)


def test_a_trimmed_program_says_why_it_has_a_function(trimmed: Project) -> None:
    found = _ask(trimmed, "why", "sample::read_model")

    assert found["kept_by"] == [{"rule": "ran in a scenario", "by": [SCENARIO], "functions": 1}]
    assert (found["chain"][0], found["root"]) == ("_start", "the entry point")
    assert found["chain"][-1].startswith("sample::read_model(")
    assert found["retained_bytes"] >= found["size_bytes"] > 0


def test_a_function_that_was_left_out_is_shown_with_those_who_would_call_it(
    trimmed: Project,
) -> None:
    listed = trimmed.file("reduce/reduced", "dropped-load_and_run.txt").read_text(encoding="utf-8")
    left_out = listed.split()

    answers = [_ask(trimmed, "why", name) for name in left_out[:8]]
    called = next(each for each in answers if each["functions"][0]["called_by_left_out"])
    explained = trimmed.expect("explain", called["functions"][0]["linkage_name"]).stdout

    assert {each["state"] for each in answers} == {"left out"}
    assert all(each["size_bytes"] > 0 for each in answers)
    assert "kept: no\n  why: no scenario runs it, so it is left out\n" in explained
    assert "called directly by functions that are left out as well" in explained


def test_a_function_that_stays_although_it_did_not_run_is_explained_by_its_rule(
    trimmed: Project,
) -> None:
    answer = trimmed.expect("explain", "_start").stdout

    assert "kept: yes\n  why: no recorder can observe it\n" in answer


def test_what_is_not_up_to_date_is_not_asked(trimmed: Project) -> None:
    ended = trimmed.run("size why", "main", "--out", str(trimmed.folder / "elsewhere"))

    assert ended.rc == 2
    assert "is not up to date" in ended.stderr


def test_a_region_says_why_it_is_there(trimmed: Project) -> None:
    (record,) = read_folder(trimmed.folder / "megtrim/keepset").scenarios

    found = _ask(trimmed, "why", str(record.regions[0]))
    tag = _ask(trimmed, "why", record.regions[0].tag)

    assert found["kept_by"] == [{"rule": "scenarios that run it", "by": [SCENARIO]}]
    assert found["places"]
    assert {str(record.regions[0])} <= {each["name"] for each in tag["regions"]}


def test_functions_have_prices(trimmed: Project) -> None:
    """A trim with them is two more links; nothing is compiled or run."""
    rows = _ask(trimmed, "prices")["prices"]["function"]
    assert all(each["margin_bytes"] >= each["own_bytes"] for each in rows)

    with trimmed.changed(trim=trimmed.read()["trim"] | {"prices": True}):
        ended = trimmed.expect("trim")
        verdict = json.loads((trimmed.folder / "out/final/verdict.json").read_text())

    kinds = {each["kind"] for each in verdict["artifacts"][0]["prices"]["prices"]}
    assert kinds == {"model", "scenario", "operator", "function"}
    assert "run   build/" not in ended.stderr


def test_neighbours_of_both_levels_stand_side_by_side(trimmed: Project) -> None:
    trimmed.expect("trim", "--neighbours")
    verdict = json.loads((trimmed.out / "final/verdict.json").read_text(encoding="utf-8"))
    rows = {row["name"]: row["levels"] for row in verdict["neighbours"]}
    needs = {level["level"]: level["needs"] for level in rows["fake-first"]}

    assert [(level["level"], level["outcome"]) for level in rows["iter-1"]] == [
        ("region", "same"),
        ("function", "same"),
    ]
    assert [level["outcome"] for level in rows["fake-first"]] == ["trapped", "trapped"]
    assert any("sample_executor<" in need for need in needs["region"])
    assert needs["function"] == ["sample::Executor::fake_run()"]


def _trim(project: Project, **trim: str) -> None:
    project.change(trim=trim)
    project.expect("trim")


def _sections(program: Path) -> set[str]:
    with program.open("rb") as stream:
        return {section.name for section in ELFFile(stream).iter_sections()}


@pytest.mark.clang
def test_size_is_smaller_and_gives_the_same_outputs(make_project: MakeProject) -> None:
    """Less than four fifths of the recipe's bytes; the recipe's own results stay what they were."""
    project = make_project(MODEL, toolchain="clang-linux-arm64")
    project.out = project.folder / "out"  # no other worker configures its trees
    _trim(project)
    recipe = project.file("reduce/reduced", "")
    plain = project.file("build/plain", "")
    _trim(project, optimize="size")
    verdict = project.verdict()
    sized = project.file("reduce/reduced", "")
    (records,) = project.out.glob("work/*clang*-reduced/build/compile_commands.json")
    commands = [entry["command"] for entry in json.loads(records.read_text(encoding="utf-8"))]
    kernels = [each for each in commands if "/src/kernels/" in each.split()[-1]]
    page = project.file("report/report", "index.html").read_text(encoding="utf-8")
    programs = [folder / "bin/load_and_run" for folder in (recipe, sized)]
    _trim(project, optimize="none")

    assert verdict["verdict"] == "pass"
    assert all(o["equal"] for s in verdict["scenarios"] for o in s["outputs"])
    assert programs[1].stat().st_size < 0.8 * programs[0].stat().st_size
    assert [".eh_frame_hdr" in _sections(each) for each in programs] == [True, False]
    assert len(kernels) > 15
    assert [each for each in kernels if " -Oz " in each] == []
    assert all(" -Oz " in each for each in commands if each not in kernels)
    assert all(" -flto=full " in each for each in commands)
    assert [each["name"] for each in verdict["trim"]["means"] if each["why_not"]] == ["relocations"]
    assert "API level shows what the loader supports" in page
    assert project.file("build/plain", "") == plain
    assert project.file("reduce/reduced", "") == recipe


@pytest.mark.clang
@pytest.mark.parametrize(
    ("code", "level", "largest"), [("-marm", "function", 0.7), ("-mthumb", "deferred", 0.75)]
)
def test_a_board_with_32_bit_arm_linux_is_trimmed_for(
    make_project: MakeProject, tmp_path: Path, code: str, level: str, largest: float
) -> None:
    """Armv7 with hard floats, as Debian's armhf, run by qemu."""
    project = make_project(
        MODEL,
        toolchain="clang-linux-armhf",
        trim={"level": level, "base": "plain"},
        engine={
            "kind": "sample",
            "source": "engine",
            "cmake": {"CMAKE_CXX_FLAGS_RELEASE": f"-O2 {code}"},
        },
    )
    project.out = tmp_path / "out"
    project.expect("trim", "--quick")
    verdict = project.verdict()
    sizes = {row["variant"]: row["size_bytes"] for row in verdict["artifacts"][0]["sizes"]}
    with project.file("reduce/reduced", "bin/load_and_run").open("rb") as stream:
        machine = ELFFile(stream).get_machine_arch()

    assert (verdict["verdict"], machine) == ("pass", "ARM")
    assert all(o["equal"] for s in verdict["scenarios"] for o in s["outputs"])
    assert sizes[Variant.REDUCED] < largest * sizes[Variant.PLAIN]
    deferral = [each["status"] for each in verdict["checks"] if each["kind"] == "deferral"]
    assert deferral == (["pass"] if level == "deferred" else [])


def test_one_switch_alone_is_proven_like_any_build(make_project: MakeProject) -> None:
    trim = {"minimum_size": False, "switches": {"rtti": False}}
    project = make_project(MODEL, trim=trim)
    project.expect("trim")
    verdict = project.verdict()

    assert verdict["verdict"] == "pass"
    assert verdict["trim"]["switched_off"] == ["rtti"]
    assert all(o["equal"] for s in verdict["scenarios"] for o in s["outputs"])
    log = project.file("verify/tiny-mobile/default@any", "reduced.log").read_text("utf-8")
    assert "iter" in log


def test_what_the_engine_cannot_switch_is_refused_before_any_build(
    make_project: MakeProject,
) -> None:
    """Its models are its own, with no reader that could be left out."""
    project = make_project(MODEL, trim={"switches": {"flatbuffers": False}})
    refused = project.run("trim")

    assert refused.rc == 2
    assert "trim.switches.flatbuffers: the engine at" in refused.stderr
    assert "has no option MGB_WITH_FLATBUFFERS" in refused.stderr
    assert "  run   " not in refused.stderr
