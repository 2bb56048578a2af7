"""A project that no one here wrote: zlib-ng, in a program of ten lines, trimmed by commands.

A second program calls any of its functions, so that what was left out can be called. One plain
build serves both levels.
"""

import json
import re
import signal
from pathlib import Path

import pytest
import yaml

from integration.sample_builds import run
from megtrim.core import stages
from megtrim.core.build_spec import REST_SUFFIX
from megtrim.core.chain.graph import PLAIN
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.size.why import TrimResults, explain_left_out, open_trim
from megtrim.core.functions.linker_script import not_kept
from megtrim.core.proof.trap_diagnosis import SymbolizingLink, named_program
from support.crates import Crate, copy_part
from support.megtrim_cli import read_verdict, run_megtrim

ZLIB_NG = Crate(
    name="libz-sys",
    version="1.1.33",
    sha256="fee3f59f4321dab0c78d828942e7aa09d0bd8ad6e78a501977e6bf3d02938045",
)
"""The sha256 stood in the registry's index, as its client read it, on 2026-11-29."""
LISTS = """\
cmake_minimum_required(VERSION 3.15)
project(NAME C)
add_executable(NAME NAME.c)
target_include_directories(NAME PRIVATE ${MEGTRIM_ENGINE_INCLUDE} ${MEGTRIM_ENGINE_BUILD})
target_compile_options(NAME PRIVATE ${MEGTRIM_ENGINE_COMPILE_OPTIONS})
target_link_libraries(NAME PRIVATE ${MEGTRIM_ENGINE_LIBRARIES})
target_link_options(NAME PRIVATE ${MEGTRIM_ENGINE_LINK_OPTIONS})
"""
USES = Path(__file__).with_name("probes") / "zlib_uses.c"
PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include "zlib-ng.h"
static unsigned char given[1 << 20], made[1 << 21];
int main(int count, char** words) {
  size_t size = fread(given, 1, sizeof given, stdin), whole = sizeof made;
  int unpacks = count > 1 && strcmp(words[1], "unpack") == 0;
  int level = count > 1 ? atoi(words[1]) : 6;
  int end = unpacks ? zng_uncompress(made, &whole, given, size)
                    : zng_compress2(made, &whole, given, size, level);
  if (end != Z_OK) {
    fprintf(stderr, "at %ld: no packed data (%d)\\n", (long)time(NULL), end);
    return 3;
  }
  if (count > 3) mkdir(words[3], 0755);
  FILE* to = count > 2 ? fopen(words[2], "wb") : stdout;
  return to == NULL || fwrite(made, 1, whole, to) != whole || fclose(to);
}
"""
CONFIG = {
    "version": 1,
    "engine": {
        "kind": "cmake",
        "source": "zlib-ng",
        "target": "libz-ng.a",
        "cmake": {"BUILD_TESTING": False, "BUILD_SHARED_LIBS": False},
    },
    "toolchain": {"kind": "host"},
    "applications": [{"name": "pack", "source": "pack"}, {"name": "uses", "source": "uses"}],
    "scenarios": [
        {"name": "binary", "program": "pack", "stdin": "text.txt"},
        {
            "name": "file",
            "program": "pack",
            "args": ["1", "{outputs}/made/packed", "{outputs}/made"],
            "stdin": "text.txt",
        },
        {
            "name": "wrong",
            "program": "pack",
            "args": ["unpack"],
            "stdin": "text.txt",
            "status": 3,
            "stderr": "compared",
            "vary": ["[0-9]+:"],
        },
        {"name": "usual", "program": "uses", "args": ["usual"]},
    ],
}
TRAPS = (128 + signal.SIGILL, 128 + signal.SIGTRAP)
ON_ARM = ("qemu-arm", "-L", "/usr/arm-linux-gnueabihf")
LARGEST_SHARES = {"function": 0.5, "deferred": 0.55}
MOST_WITHOUT = 5
"""Uses of functions that the usual run needs as well, or that need no function that is left out."""
WORDS = re.compile(r"\b(engines?|models?|regions?|MegEngine|midout|load_and_run)\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sources(tmp_path_factory.mktemp("any-program"))


def write_sources(folder: Path) -> Path:
    copy_part(ZLIB_NG.fetch() / "src/zlib-ng", folder / "zlib-ng")
    for name, text in (("pack", PROGRAM), ("uses", USES.read_text(encoding="utf-8"))):
        (folder / name).mkdir()
        lists = LISTS.replace("NAME", name)
        (folder / name / "CMakeLists.txt").write_text(lists, encoding="utf-8")
        (folder / name / f"{name}.c").write_text(text, encoding="utf-8")
    lines = (f"line {number} of {number * number}\n" for number in range(5000))
    (folder / "text.txt").write_text("".join(lines), encoding="utf-8")
    return folder


def trim(project: Path, level: str, **others: object) -> tuple[str, Path]:
    """Return what was printed, and the program."""
    measured: dict[str, object] = {"memory": {"max": "64 MiB"}, "work": {}}
    config = CONFIG | {"trim": {"level": level}} | (others or measured)
    (project / "megtrim.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    ended = run_megtrim("trim", "--accept", cwd=project)
    assert ended.rc == 0, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr, project / "megtrim-out/final/bin/pack"


@pytest.mark.chain
@pytest.mark.parametrize("level", ["function", "deferred"])
def test_a_program_of_anyone_is_trimmed(project: Path, level: str) -> None:
    said, program = trim(project, level)
    final = project / "megtrim-out/final"
    verdict = json.loads((final / "verdict.json").read_text(encoding="utf-8"))

    assert verdict["verdict"] == "pass"
    statuses = {each["id"]: each["status"] for each in verdict["scenarios"]}
    scenarios = ("binary@any", "file@any", "wrong@any", "usual@any")
    assert statuses == dict.fromkeys(scenarios, "pass")
    outputs = {
        each["id"]: [row["name"] for row in each["outputs"]] for each in verdict["scenarios"]
    }
    assert outputs["file@any"] == ["made/packed"]
    assert outputs["wrong@any"] == ["standard error"]
    peaks = {check["id"]: check["status"] for check in verdict["checks"] if check["kind"] == "size"}
    assert peaks == {f"size:{each}/reduced peak memory": "pass" for each in scenarios}
    works = {row["artifact"]: row["work"] for row in verdict["budgets"] if row["measure"] == "work"}
    # For the emulated CPU, the others may choose functions that only a companion file has.
    counted = scenarios if level == "deferred" else ("wrong@any",)
    assert all(works[each]["instructions"] > 0 for each in counted)
    plain, trimmed = (size["size_bytes"] for size in verdict["artifacts"][0]["sizes"])
    assert trimmed < LARGEST_SHARES[level] * plain
    # What no scenario does is lost by one level, and kept by the other in a second file.
    packed = project / "packed"
    text = (project / "text.txt").read_bytes()
    assert run("sh", "-c", f"{program} <{project}/text.txt >{packed}").ok
    unpacked = run("sh", "-c", f"{program} unpack <{packed} >{project}/unpacked")
    assert unpacked.ok is (level == "deferred")
    if level == "deferred":
        assert (project / "unpacked").read_bytes() == text
        assert program.with_name(f"{program.name}{REST_SUFFIX}").exists()
    expect_words(said, final)


def expect_words(said: str, final: Path) -> None:
    """Nothing speaks of what this project does not have."""
    page = (final / "index.html").read_text(encoding="utf-8")
    shown = re.sub(r"<(script|style)[^>]*>.*?</\1>|role=\"region\"", "", page, flags=re.DOTALL)
    for text in (said, shown, (final / "report.md").read_text(encoding="utf-8")):
        expect_no_words(text)


def expect_no_words(said: str) -> None:
    kept = re.sub(r"CPU model|engine\.[a-z]+", "", said)  # a device's fact, and keys of the file
    assert WORDS.findall(kept) == []


@pytest.mark.chain
def test_each_use_of_what_was_left_out_ends_in_a_named_trap(project: Path) -> None:
    """None goes on in silence: each ends at a function that is named, and ``explain`` knows it."""
    _, pack = trim(project, "function")
    shipped = pack.with_name("uses")
    finished = open_trim(make_options(project))
    plain = finished.session.done[PLAIN].file("bin/uses")
    named = named_program("uses", stages.able(finished.session))
    assert named is not None

    ended = {use: run_use(use, plain, shipped) for use in run(str(plain)).stdout.split()}
    trapped = [use for use, how in ended.items() if how == "trap"]
    others = {use: how for use, how in ended.items() if how != "trap"}
    assert {*others.values()} <= {"equal"}
    assert len(others) <= MOST_WITHOUT
    assert len(trapped) >= 40
    explained = {use: explain_trap(use, named, finished) for use in trapped}
    assert explained == {use: (use, "left out") for use in trapped}
    lacking = trapped[0]
    for words, status, shown in (
        (("explain", lacking), 0, f"{lacking} in uses\n  kept: no\n"),
        (("explain", "nothing"), 2, "and the build has none either"),
        (("explain", "usual@any"), 0, "functions: "),
        (("probe", "uses", "--", lacking), 1, f"the function {lacking} is not kept"),
        (("size", "prices"), 0, "scenario "),
    ):
        said = run_megtrim(*words, cwd=project)
        text = said.stdout + said.stderr
        assert (said.rc, shown in text) == (status, True), text
        expect_no_words(text)

    _, pack = trim(project, "deferred")
    with_rest = {use: run_use(use, plain, pack.with_name("uses")) for use in ended}
    assert with_rest == dict.fromkeys(ended, "equal")


@pytest.mark.chain
def test_whole_runs_of_a_program_are_timed(project: Path) -> None:
    """As they are proven: with a companion file, standard input, files and an exit status."""
    perf = {"trimming": True, "other_load": "any", "threshold": "50%", "inconclusive": "warn"}
    trim(project, "deferred", perf=perf)
    words = ("--rounds", "12", "--scenario", "file", "--scenario", "wrong")
    asked = ("perf", "run", *words, "--experiment", "baseline", "--experiment", "trimming")
    ended = run_megtrim(*asked, cwd=project)
    # A machine that is shared may leave an answer open, or call one slower.
    assert ended.rc in (0, 1), ended.stdout + ended.stderr
    page = Path(ended.stdout.rpartition("report: ")[2].splitlines()[0])
    expect_words(ended.stdout + ended.stderr, page.parent)
    again = run_megtrim(*asked, "--json", cwd=project)
    assert "everything is up to date" in again.stderr

    performance = read_verdict(again)["performance"]
    rows = [*performance["rows"], *performance["trimming"]]
    assert [row["scenario"] for row in rows] == ["file@any", "wrong@any"] * 2
    assert {row["status"] for row in rows} <= {"measured", "inconclusive", "regressed"}, rows
    assert all(row["whole"] for row in rows)
    alone = [each for row in performance["rows"] for each in row["times"]]
    both = [each["time"] for row in performance["trimming"] for each in row["variants"]]
    assert len(both) == 4
    for time in (*alone, *both):
        assert time["stage"] == "whole-run"
        assert time["median_ms"] > 0
        assert time["processes"] >= 12
    assert "whole run (ms)" in ended.stdout


@pytest.mark.clang
def test_a_program_of_anyone_defers_on_32_bit_arm(tmp_path: Path) -> None:
    """Thumb code, under qemu: with its companion file it does all that plain does, without it each
    use of what was deferred is a named trap.
    """
    project = write_sources(tmp_path / "project")
    cmake = {"BUILD_TESTING": False, "BUILD_SHARED_LIBS": False, "CMAKE_C_FLAGS": "-mthumb"}
    engine = {"kind": "cmake", "source": "zlib-ng", "target": "libz-ng.a", "cmake": cmake}
    toolchain = {"kind": "clang-linux-armhf"}
    _, pack = trim(project, "deferred", engine=engine, toolchain=toolchain)
    finished = open_trim(make_options(project))
    plain = finished.session.done[PLAIN].file("bin/uses")
    uses = run(*ON_ARM, str(plain)).stdout.split()
    shipped = pack.with_name("uses")
    rest = shipped.with_name(f"uses{REST_SUFFIX}")

    whole = {use: run_use(use, plain, shipped, *ON_ARM) for use in uses}
    rest.unlink()
    alone = [run(*ON_ARM, str(shipped), use) for use in uses]

    assert whole == dict.fromkeys(uses, "equal")
    assert len(uses) >= 60
    said = re.compile(rf"megtrim: the code at 0x[0-9a-f]{{8}} is in {rest}, which is not there\n")
    trapped = [each for each in alone if not each.ok]
    assert {each.rc for each in trapped} == {128 + signal.SIGTRAP}
    assert all(said.match(each.stderr) for each in trapped)
    assert len(trapped) >= 60


def make_options(project: Path) -> Options:
    return Options(
        config=project / "megtrim.yaml",
        out=project / "megtrim-out",
        engine=None,
        jobs=None,
        quiet=True,
    )


def run_use(use: str, plain: Path, trimmed: Path, *emulator: str) -> str:
    before = run(*emulator, str(plain), use)
    after = run(*emulator, str(trimmed), use)
    assert before.ok
    if (after.rc, after.stdout, after.stderr) == (0, before.stdout, before.stderr):
        return "equal"
    if after.rc in TRAPS and after.stdout == "":
        return "trap"
    return f"{after.rc}: {after.stdout}{after.stderr}"


def explain_trap(use: str, named: SymbolizingLink, finished: TrimResults) -> tuple[str, str]:
    """Return the function that this use lacks, and what is said of it."""
    function = not_kept(run(str(named.program), use).stderr, named.dropped)
    assert function is not None
    found = explain_left_out(function, "uses", finished)
    return function, found["state"] if found else ""
