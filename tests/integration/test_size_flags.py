"""Switches and means against size, with real compilers: smaller, and the outputs stay equal."""

import json
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from integration.conftest import MakeProject
from support.megtrim_cli import Project

# Clang and lld accept all of them; the unit tests show what zig and g++ accept.
pytestmark = [pytest.mark.chain]


def _trim(project: Project, **trim: str) -> None:
    project.change(trim=trim)
    project.expect("trim")


def _folder(project: Project, task: str) -> Path:
    return project.file(task, "result").parent


def _sections(program: Path) -> set[str]:
    with program.open("rb") as stream:
        return {section.name for section in ELFFile(stream).iter_sections()}


@pytest.mark.clang
def test_size_is_smaller_and_gives_the_same_outputs(make_project: MakeProject) -> None:
    """Less than four fifths of the recipe's bytes; the recipe's own results stay what they were."""
    project = make_project("tiny-mobile", toolchain="clang-linux-arm64")
    _trim(project)
    recipe, plain = _folder(project, "reduce/reduced"), _folder(project, "build/plain")
    _trim(project, optimize="size")
    verdict, sized = project.verdict(), _folder(project, "reduce/reduced")
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
    assert _folder(project, "build/plain") == plain
    assert _folder(project, "reduce/reduced") == recipe


def test_one_switch_alone_is_proven_like_any_build(make_project: MakeProject) -> None:
    trim = {"minimum_size": False, "switches": {"rtti": False}}
    project = make_project("tiny-mobile", trim=trim)
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
    project = make_project("tiny-mobile", trim={"switches": {"flatbuffers": False}})
    refused = project.run("trim")

    assert refused.rc == 2
    assert "trim.switches.flatbuffers: the engine at" in refused.stderr
    assert "has no option MGB_WITH_FLATBUFFERS" in refused.stderr
    assert "  run   " not in refused.stderr
