"""Attempts on the store: what lies there is damaged, exchanged, painted over or too old.

What is made again is as good as what is refused, if the program that is handed out is the good one.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import junitparser
import pytest

from attacks.arena import ARTIFACT, OTHER, OWNER, PROGRAM, SCENARIO, Arena
from attacks.tampering import edit, flip, put_program, swap
from megtrim.process import Command, ProcessRunner
from support.megtrim_cli import ROOT

pytestmark = [pytest.mark.chain]

NUMBER, NO_NUMBER = "465134378", "465134379"
"""A number in the name of a region that ran, and one that stands in none."""


def expect_good(arena: Arena, *more: str) -> Path:
    """Trim; the good program is handed out, and the verdict on it is a pass. Return its folder."""
    ended = arena.trim(*more)
    folder = arena.result("reduce/reduced", *more)

    assert (ended.rc, arena.gate()) == (0, 0), ended.stderr
    assert (folder / PROGRAM).read_bytes() == arena.good_program()
    return folder


def expect_red(arena: Arena, *more: str) -> None:
    """Trim; every judge says so, and JUnit counts a failure."""
    ended = arena.trim(*more)
    codes = {
        "trim": ended.rc,
        "gate": arena.gate(),
        "verdict": arena.stage("stage verdict", *more).rc,
        "report": arena.stage("report", *more).rc,
    }
    suites = junitparser.JUnitXml.fromfile(str(arena.project.out / "final/junit.xml"))

    assert codes == dict.fromkeys(codes, 1)
    assert arena.verdict()["verdict"] == "fail"
    assert "verdict: pass" not in ended.stdout
    assert suites.failures > 0


def program_of(arena: Arena) -> Path:
    """Return the one reduced program of the store."""
    return arena.only("reduce", "reduced") / PROGRAM


def as_a_pass(manifest: dict[str, Any]) -> None:
    manifest["result"]["outcome"] |= {"status": "pass", "text": "outputs equal"}


def halves(arena: Arena, stage: str, name: str) -> tuple[Path, Path]:
    """Return the folders of a task that the honest and the bad engine left, in this order."""
    good = {path.name for path in arena.kept("honest").glob(f"out/{stage}/*")}
    found = arena.stored(stage, name)
    (honest,) = (each for each in found if each.name in good)
    (bad,) = (each for each in found if each.name not in good)
    return honest, bad


def test_a_bit_of_the_reduced_program_flips(arena: Arena) -> None:
    """Its size does not show it."""
    arena.start("honest")
    flip(program_of(arena))

    expect_good(arena)


def test_a_bit_of_the_reduced_program_flips_before_a_verification(arena: Arena) -> None:
    """What passes is what is handed out."""
    arena.start("honest")
    flip(program_of(arena))
    arena.stage("verify", "--again")

    expect_good(arena)


def test_another_program_of_the_same_size_is_put_in_its_place(arena: Arena) -> None:
    """It would pass by the verification of the good one."""
    bad = arena.bad_program()
    arena.start("honest")
    put_program(program_of(arena), bad)

    expect_good(arena)


def test_a_link_leads_to_another_program(arena: Arena) -> None:
    """Whose size is that of the good one."""
    bad = arena.bad_program()
    arena.start("honest")
    program = program_of(arena)
    other = arena.folder / "other"
    shutil.copy(program, other)
    put_program(other, bad)
    program.unlink()
    program.symlink_to(other)

    assert not (expect_good(arena) / PROGRAM).is_symlink()


def test_plain_is_replaced_by_reduced(arena: Arena) -> None:
    """Then both would agree."""
    bad = arena.bad_program()
    arena.start("bad")
    for plain in arena.stored("build", "plain"):
        put_program(plain / PROGRAM, bad)
    arena.stage("verify", "--again")

    expect_red(arena)


def test_a_trace_loses_a_region(arena: Arena) -> None:
    """The keep set is made from it, where none is committed yet that could be held against it."""
    arena.start("honest")
    honest = arena.keep.texts()
    swap(arena.only("profile", SCENARIO) / "trace.txt", NUMBER, NO_NUMBER)
    shutil.rmtree(arena.project.out / "header")
    arena.keep.remove()

    expect_good(arena)
    assert arena.keep.texts() == honest


def test_the_stored_keep_set_loses_a_region(arena: Arena) -> None:
    """A trap would be explained by it, and what is committed held against it."""
    arena.start("honest")
    keep = arena.only("header", "keepset") / "keepset.json"
    honest = keep.read_bytes()
    swap(keep, NUMBER, NO_NUMBER)

    expect_good(arena)
    assert keep.read_bytes() == honest


def test_a_stored_header_loses_a_region(arena: Arena) -> None:
    """The reduced build is made from it."""
    arena.start("honest")
    header = arena.only("header", "keepset")
    swap(header / "include/megtrim/tags/sample_pooling.h", NUMBER, NO_NUMBER)
    shutil.rmtree(arena.project.out / "reduce")

    expect_good(arena)


def test_measured_sizes_shrink(arena: Arena) -> None:
    """They are the next baseline, and the verdict shows them."""
    arena.start("honest")
    honest = (arena.project.out / "final/sizes.json").read_bytes()
    size = program_of(arena).stat().st_size
    swap(arena.only("size", "artifacts") / "sizes.json", str(size), "9" + str(size)[1:])

    expect_good(arena)
    assert (arena.project.out / "final/sizes.json").read_bytes() == honest


def test_a_red_verdict_is_painted_green(arena: Arena) -> None:
    """Both words have four letters."""
    arena.start("bad")
    folder = arena.result("verdict/verdict")
    swap(folder / "verdict.json", '"fail"', '"pass"')

    expect_red(arena)


def test_a_result_in_a_manifest_is_painted_green(arena: Arena) -> None:
    """A manifest is not held to anything but itself."""
    arena.start("bad")
    for name in (SCENARIO, OTHER):
        edit(halves(arena, "verify", name)[1] / "manifest.json", as_a_pass)

    expect_red(arena)


def test_a_verdicts_exit_status_is_painted_green(arena: Arena) -> None:
    """While its document stays as it is."""
    arena.start("bad")
    folder = arena.result("verdict/verdict")
    edit(folder / "manifest.json", lambda data: data["result"].update({"verdict": "pass"}))

    expect_red(arena)


def test_a_manifest_forgets_its_files(arena: Arena) -> None:
    """What is not listed cannot be held to its digest."""
    bad = arena.bad_program()
    arena.start("honest")
    program = program_of(arena)
    put_program(program, bad)
    manifest = program.parents[1] / "manifest.json"
    edit(manifest, lambda data: data["files"].pop(PROGRAM))

    expect_good(arena)


def test_a_manifest_adopts_another_program(arena: Arena) -> None:
    """Then its verification is another one."""
    bad = arena.bad_program()
    arena.start("honest")
    program = program_of(arena)
    program.write_bytes(bad)
    facts = {"sha256": hashlib.sha256(bad).hexdigest(), "bytes": len(bad)}
    edit(
        program.parents[1] / "manifest.json",
        lambda data: data["files"].update({PROGRAM: facts}),
    )
    if arena.trim().rc == 0:
        expect_good(arena)
    else:
        expect_red(arena)


def test_a_pass_of_another_key_is_renamed(arena: Arena) -> None:
    """A folder's name identifies its inputs, and so does its manifest."""
    arena.start("bad")
    for name in (SCENARIO, OTHER):
        honest, bad = halves(arena, "verify", name)
        shutil.rmtree(bad)
        honest.rename(bad)

    expect_red(arena)


def test_a_pass_of_another_scenario_is_copied(arena: Arena) -> None:
    """One scenario is red, the other is good."""
    arena.start("trapping")
    passed = arena.result(f"verify/{OTHER}", "--committed")
    trapped = arena.result(f"verify/{SCENARIO}", "--committed")
    shutil.rmtree(trapped)
    shutil.copytree(passed, trapped)

    expect_red(arena, "--committed")


def test_a_stage_stands_in_for_another(arena: Arena) -> None:
    """The plain program passes everything but its budget."""
    arena.start("honest")
    folder = arena.only("reduce", "reduced")
    shutil.rmtree(folder)
    shutil.copytree(arena.only("build", "plain"), folder)

    expect_good(arena)


def test_good_and_bad_reduced_builds_change_places(arena: Arena) -> None:
    """Each then lies under the other's key."""
    bad = arena.bad_program()
    arena.start("bad")
    honest_folder, bad_folder = halves(arena, "reduce", "reduced")
    aside = honest_folder.with_name("aside")
    honest_folder.rename(aside)
    bad_folder.rename(honest_folder)
    aside.rename(bad_folder)

    expect_red(arena)
    assert (arena.result("reduce/reduced") / PROGRAM).read_bytes() == bad
    arena.make_good()
    expect_good(arena)


def test_a_folder_is_a_link_to_another(arena: Arena) -> None:
    """Which has the good manifest of another key."""
    arena.start("bad")
    for name in (SCENARIO, OTHER):
        honest, bad = halves(arena, "verify", name)
        shutil.rmtree(bad)
        bad.symlink_to(honest)

    expect_red(arena)


def test_a_stray_header_lies_in_the_store(arena: Arena) -> None:
    """No manifest names it."""
    arena.start("honest")
    tags = arena.only("header", "keepset") / "include/megtrim/tags"
    for folder in (tags, tags.parents[1], tags.parents[2]):
        (folder / "midout_extra.h").write_text("#error stray\n", encoding="utf-8")
    shutil.rmtree(arena.project.out / "reduce")

    expect_good(arena)


def test_a_file_is_lost(arena: Arena) -> None:
    """A manifest alone is no program."""
    arena.start("honest")
    program_of(arena).unlink()

    expect_good(arena)


def test_a_flaky_engine_fails_when_it_is_verified_again(arena: Arena) -> None:
    """All of them are red, until it is verified again and passes."""
    arena.start("honest")
    arena.make_flaky()

    assert arena.stage("verify", "--again").rc == 1
    assert arena.gate() != 0
    assert arena.stage("stage verdict").rc == 1
    expect_red(arena)
    arena.make_steady()
    expect_red(arena)
    assert arena.stage("verify", "--again").rc == 0
    assert arena.stage("stage verdict").rc == 0
    expect_good(arena)


def test_a_final_report_outlives_a_run_that_could_not_start(arena: Arena) -> None:
    """What the last run has not said, no earlier one says for it."""
    arena.start("honest")
    arena.project.config.write_text("version: 1\n", encoding="utf-8")

    assert arena.trim().rc == 2
    assert arena.gate() != 0


def older(arena: Arena) -> Path:
    """Return where a megtrim lies that took every two outputs for equal."""
    source = arena.root / "older"
    if not source.exists():
        shutil.copytree(ROOT / "ci", source, ignore=shutil.ignore_patterns("__pycache__"))
        judge = source / "megtrim/load_and_run/dump.py"
        text = judge.read_text(encoding="utf-8")
        asks = "if plain.data == reduced.data:"
        assert asks in text
        judge.write_text(text.replace(asks, "if True:"), encoding="utf-8")
    return source


def run_older(arena: Arena, verb: str, *words: str) -> int:
    """Run that one on the project; what knows no project gets what it needs instead."""
    where: tuple[str, ...] = ()
    if verb not in ("ci evidence run", "ci evidence join"):
        where = ("--config", str(arena.project.config), "--out", str(arena.project.out))
    if verb == "ci evidence run":
        bundle = (arena.folder / "bundle/bundle.json").read_bytes()
        where = ("--sha256", hashlib.sha256(bundle).hexdigest())
    argv = (sys.executable, "-m", "megtrim", *verb.split(), *where, *words)
    env = {"PYTHONPATH": str(older(arena)), **OWNER}
    command = Command(argv=argv, timeout_s=600, cwd=arena.folder, env=env)
    return ProcessRunner(os.environ).run(command).rc


def test_an_older_megtrim_that_compared_nothing_shares_the_store(arena: Arena) -> None:
    """What it took for a pass is none for the newer one."""
    arena.start("honest")
    arena.make_bad()

    assert run_older(arena, "trim") == 0
    expect_red(arena)


def test_the_work_tree_holds_another_object(arena: Arena) -> None:
    """It is newer than its source, so nothing compiles it again."""
    results = arena.kept("bad") / "out"
    arena.start("honest")
    (other,), (own,) = (
        out.glob("work/*-reduced/**/outputs.cpp.o") for out in (results, arena.project.out)
    )
    own.write_bytes(other.read_bytes())
    shutil.rmtree(arena.project.out / "reduce")
    ended = arena.trim()
    bad = (arena.only("reduce", "reduced") / PROGRAM).read_bytes() != arena.good_program()

    assert (ended.rc, arena.gate()) == ((1, 1) if bad else (0, 0))
    assert json.loads((arena.project.out / "final/verdict.json").read_text("utf-8"))["verdict"] == (
        "fail" if bad else "pass"
    )
    assert ARTIFACT in ended.stdout
