"""Attempts on the store: what lies there is damaged, exchanged, painted over or too old.

What is made again is as good as what is refused, if the program that is handed out is the good one.
"""

import hashlib
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attacks.arena import ARTIFACT, OTHER, OWNER, PROGRAM, SCENARIO, Arena
from attacks.tampering import edit, flip, put_program, swap
from megtrim.libs.util.process import Command, ProcessRunner
from support.megtrim_cli import ROOT

pytestmark = [pytest.mark.chain]

Tamper = Callable[[Arena], object]
NUMBER = "465134378"
NO_NUMBER = "465134379"
"""A number in the name of a region that ran, and one that stands in none."""


def expect_good(arena: Arena, *more: str) -> Path:
    ended = arena.trim(*more)
    folder = arena.result("reduce/reduced", *more)

    assert (ended.rc, arena.gate()) == (0, 0), ended.stderr
    assert (folder / PROGRAM).read_bytes() == arena.good_program()
    return folder


def program_of(arena: Arena) -> Path:
    return arena.only("reduce", "reduced") / PROGRAM


def as_a_pass(manifest: dict[str, Any]) -> None:
    manifest["result"]["outcome"] |= {"status": "pass", "text": "outputs equal"}


def halves(arena: Arena, stage: str, name: str) -> tuple[Path, Path]:
    good = {path.name for path in arena.kept("honest").glob(f"out/{stage}/*")}
    found = arena.stored(stage, name)
    (honest,) = (each for each in found if each.name in good)
    (bad,) = (each for each in found if each.name not in good)
    return honest, bad


def flip_before_verification(arena: Arena) -> None:
    flip(program_of(arena))
    arena.stage("verify", "--again")


def put_bad_program(arena: Arena) -> None:
    put_program(program_of(arena), arena.bad_program())


def forget_program(arena: Arena) -> None:
    put_bad_program(arena)
    manifest = program_of(arena).parents[1] / "manifest.json"
    edit(manifest, lambda data: data["files"].pop(PROGRAM))


def lose_region_of_header(arena: Arena) -> None:
    header = arena.only("header", "keepset")
    swap(header / "include/megtrim/tags/sample_pooling.h", NUMBER, NO_NUMBER)
    shutil.rmtree(arena.project.out / "reduce")


def copy_build(arena: Arena) -> None:
    folder = arena.only("reduce", "reduced")
    shutil.rmtree(folder)
    shutil.copytree(arena.only("build", "plain"), folder)


def leave_header(arena: Arena) -> None:
    tags = arena.only("header", "keepset") / "include/megtrim/tags"
    for folder in (tags, tags.parents[1], tags.parents[2]):
        (folder / "midout_extra.h").write_text("#error stray\n", encoding="utf-8")
    shutil.rmtree(arena.project.out / "reduce")


GOOD: dict[str, Tamper] = {
    "a_bit_of_the_reduced_program_flips": lambda arena: flip(program_of(arena)),
    "a_bit_of_the_reduced_program_flips_before_a_verification": flip_before_verification,
    "another_program_of_the_same_size_is_put_in_its_place": put_bad_program,
    "a_manifest_forgets_its_files": forget_program,
    "a_stored_header_loses_a_region": lose_region_of_header,
    "a_stage_stands_in_for_another": copy_build,
    "a_stray_header_lies_in_the_store": leave_header,
    "a_file_is_lost": lambda arena: program_of(arena).unlink(),
}
"""What is done to honest results; the good program is handed out all the same."""


def replace_plain(arena: Arena) -> None:
    for plain in arena.stored("build", "plain"):
        put_program(plain / PROGRAM, arena.bad_program())
    arena.stage("verify", "--again")


def paint_verdict_manifest(arena: Arena) -> None:
    manifest = arena.result("verdict/verdict") / "manifest.json"
    edit(manifest, lambda data: data["result"].update({"verdict": "pass"}))


def exchange_verifications(change: Callable[[Path, Path], object]) -> Tamper:
    """Change what the store has of both scenarios: the good result, and the bad one."""
    return lambda arena: [change(*halves(arena, "verify", name)) for name in (SCENARIO, OTHER)]


def rename_pass(honest: Path, bad: Path) -> None:
    shutil.rmtree(bad)
    honest.rename(bad)


def link_pass(honest: Path, bad: Path) -> None:
    shutil.rmtree(bad)
    bad.symlink_to(honest)


RED: dict[str, Tamper] = {
    "plain_is_replaced_by_reduced": replace_plain,
    "a_red_verdict_is_painted_green": lambda arena: swap(
        arena.result("verdict/verdict") / "verdict.json", '"fail"', '"pass"'
    ),
    "a_verdicts_exit_status_is_painted_green": paint_verdict_manifest,
    "a_result_in_a_manifest_is_painted_green": exchange_verifications(
        lambda _, bad: edit(bad / "manifest.json", as_a_pass)
    ),
    "a_pass_of_another_key_is_renamed": exchange_verifications(rename_pass),
    "a_folder_is_a_link_to_another": exchange_verifications(link_pass),
}
"""What is done to the results of the bad engine, which are red all the same."""
ATTEMPTS = GOOD | RED


@pytest.mark.parametrize("attempt", GOOD)
def test_attempt_on_good(arena: Arena, attempt: str) -> None:
    arena.bad_program()
    arena.start("honest")
    GOOD[attempt](arena)

    expect_good(arena)


@pytest.mark.parametrize("attempt", RED)
def test_attempt_on_bad(arena: Arena, attempt: str) -> None:
    arena.start("bad")
    RED[attempt](arena)

    arena.expect_all_red()


def test_a_link_leads_to_another_program(arena: Arena) -> None:
    bad = arena.bad_program()
    arena.start("honest")
    program = program_of(arena)
    other = arena.folder / "other"
    shutil.copy(program, other)
    put_program(other, bad)
    program.unlink()
    program.symlink_to(other)

    assert not (expect_good(arena) / PROGRAM).is_symlink()


def test_a_trace_loses_a_region(arena: Arena) -> None:
    arena.start("honest")
    honest = arena.keep.texts()
    swap(arena.only("profile", SCENARIO) / "trace.txt", NUMBER, NO_NUMBER)
    shutil.rmtree(arena.project.out / "header")
    arena.keep.remove()

    expect_good(arena)
    assert arena.keep.texts() == honest


def test_a_joined_cache_is_emptied(arena: Arena) -> None:
    arena.start("honest")
    config = arena.project.read()
    config["trim"] = {**config["trim"], "caches": "joined"}
    for model in config["models"]:
        for scenario in model["scenarios"]:
            scenario["fast_run"] = True
    arena.project.write(config)
    arena.project.expect("trim", "--accept")
    joined = arena.only("profile", f"{SCENARIO.partition('@')[2]}#joined") / "algo.cache"
    honest = joined.read_bytes()
    joined.write_text("sample algorithm cache v1\n", encoding="utf-8")

    arena.project.expect("trim")

    assert joined.read_bytes() == honest
    assert len(honest.splitlines()) > 1


def test_the_stored_keep_set_loses_a_region(arena: Arena) -> None:
    arena.start("honest")
    keep = arena.only("header", "keepset") / "keepset.json"
    honest = keep.read_bytes()
    swap(keep, NUMBER, NO_NUMBER)

    expect_good(arena)
    assert keep.read_bytes() == honest


def test_measured_sizes_shrink(arena: Arena) -> None:
    arena.start("honest")
    honest = (arena.project.out / "final/sizes.json").read_bytes()
    size = program_of(arena).stat().st_size
    swap(arena.only("size", "artifacts") / "sizes.json", str(size), "9" + str(size)[1:])

    expect_good(arena)
    assert (arena.project.out / "final/sizes.json").read_bytes() == honest


def test_a_manifest_adopts_another_program(arena: Arena) -> None:
    bad = arena.bad_program()
    arena.start("honest")
    program = program_of(arena)
    program.write_bytes(bad)
    facts = {"sha256": hashlib.sha256(bad).hexdigest(), "bytes": len(bad)}
    edit(program.parents[1] / "manifest.json", lambda data: data["files"].update({PROGRAM: facts}))
    if arena.trim().rc == 0:
        expect_good(arena)
    else:
        arena.expect_all_red()


def test_a_pass_of_another_scenario_is_copied(arena: Arena) -> None:
    arena.start("trapping")
    passed = arena.result(f"verify/{OTHER}", "--committed")
    trapped = arena.result(f"verify/{SCENARIO}", "--committed")
    shutil.rmtree(trapped)
    shutil.copytree(passed, trapped)

    arena.expect_all_red("--committed")


def test_good_and_bad_reduced_builds_change_places(arena: Arena) -> None:
    bad = arena.bad_program()
    arena.start("bad")
    honest_folder, bad_folder = halves(arena, "reduce", "reduced")
    aside = honest_folder.with_name("aside")
    honest_folder.rename(aside)
    bad_folder.rename(honest_folder)
    aside.rename(bad_folder)

    arena.expect_all_red()
    assert (arena.result("reduce/reduced") / PROGRAM).read_bytes() == bad
    arena.make_good()
    expect_good(arena)


def test_a_flaky_engine_fails_when_it_is_verified_again(arena: Arena) -> None:
    arena.start("honest")
    arena.make_flaky()

    assert arena.stage("verify", "--again").rc == 1
    assert arena.gate() != 0
    assert arena.stage("stage verdict").rc == 1
    arena.expect_all_red()
    arena.make_steady()
    arena.expect_all_red()
    assert arena.stage("verify", "--again").rc == 0
    assert arena.stage("stage verdict").rc == 0
    expect_good(arena)


def test_a_final_report_outlives_a_run_that_could_not_start(arena: Arena) -> None:
    arena.start("honest")
    arena.project.config.write_text("version: 1\n", encoding="utf-8")

    arena.expect_refused()


def older(arena: Arena) -> Path:
    source = arena.root / "older"
    if not source.exists():
        shutil.copytree(ROOT / "ci", source, ignore=shutil.ignore_patterns("__pycache__"))
        judge = source / "megtrim/libs/programs/arrays.py"
        text = judge.read_text(encoding="utf-8")
        asks = "if plain.data == reduced.data:"
        assert asks in text
        judge.write_text(text.replace(asks, "if True:"), encoding="utf-8")
    return source


def run_older(arena: Arena, verb: str, *words: str) -> int:
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
    arena.start("honest")
    arena.make_bad()

    assert run_older(arena, "trim") == 0
    arena.expect_all_red()


def test_the_work_tree_holds_another_object(arena: Arena) -> None:
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
    assert arena.verdict()["verdict"] == ("fail" if bad else "pass")
    assert ARTIFACT in ended.stdout
