"""Functions that are deferred, from the configuration to the programs that run, by real linkers."""

import json
import os
import re
from pathlib import Path

import pytest

from attacks.test_deferred import ALL, OWN, TRAP, cut, defer, lease_sources
from integration.conftest import MakeProject
from integration.links import KINDS
from integration.sample_builds import compile_project, run
from megtrim.core.build_spec import REST_SUFFIX
from megtrim.core.chain.result_store import Store
from megtrim.libs.elf.layout import EXECUTABLE, LOADED, parse_build_id, segments
from megtrim.libs.elf.symbol_table import read_table
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.ship.crashes.lookup import look_up
from megtrim.ship.crashes.report import parse_report
from megtrim.ship.crashes.trimmed_programs import read_newest
from support.megtrim_cli import Project, run_megtrim

MODEL = "tiny-mobile"
OTHER = "tiny-quant"


@pytest.mark.parametrize("kind", KINDS[:3])
def test_each_toolchain_defers_functions(kind: str, tmp_path: Path) -> None:
    at = lease_sources(kind, tmp_path)
    linked = defer(at, "program", "first")
    made = cut(linked, "program")
    table = read_table(linked / "program")
    program = tmp_path / "program"
    rest = tmp_path / f"program{REST_SUFFIX}"
    program.write_bytes(made.first)
    program.chmod(0o755)

    alone = {way: at.run(program, way) for way in ("now", "all")}
    rest.write_bytes(made.rest)
    ways = ("now", "all", "throw", "threads", "data")
    whole = {way: at.run(program, way).stdout for way in ways}
    at.run(program, "all", MEGTRIM_REACHED=str(tmp_path / "record"))
    reached = [line.split() for line in (tmp_path / "record").read_text().splitlines()]

    assert alone["now"].stdout == whole["now"] == "now thrown\n"
    assert "is not there" in alone["all"].stderr
    assert whole["all"] == ALL
    assert whole["data"] == OWN
    assert b"own text" not in made.first
    assert whole["throw"] == "caught later 2\n"
    assert whole["threads"] == "threads 144\n"
    assert {each[0] for each in reached} == {parse_build_id(made.first)}
    names = [each.name for _, at, _ in reached for each in table.at(int(at, 16))]
    assert names == ["later_one", "later_far", "later_last"]
    callers = [each.name for *_, back in reached for each in table.at(int(back, 16) - 1)]
    assert callers == ["main"] * 3


@pytest.mark.clang
def test_an_app_may_call_a_library_that_hides_what_it_does_not_know(tmp_path: Path) -> None:
    at = lease_sources("clang-linux-arm64", tmp_path)
    name = "liblater.so"
    linked = defer(at, name, "library", shared=True, export=True)
    assert read_table(linked / name).exported == {"answer", "megtrim_rest"}


@pytest.fixture(scope="module")
def trimmed(make_project: MakeProject, shared_out: Path) -> Project:
    project = make_project(MODEL)
    project.change(trim={"level": "deferred", "base": "plain"}, keep_set="deferred")
    project.out = project.folder / "out"
    project.expect("trim", "--neighbours", "--reuse", str(shared_out))
    return project


@pytest.mark.chain
def test_scenarios_run_without_the_rest_and_with_it(trimmed: Project) -> None:
    verdict = json.loads((trimmed.out / "final/verdict.json").read_text())
    (artifact,) = verdict["artifacts"]
    reduced = artifact["sizes"][-1]
    neighbours = [row["levels"] for row in verdict["neighbours"] if row["levels"]]
    alone, whole = zip(*neighbours, strict=True)

    assert verdict["verdict"] == "pass"
    said = [check["text"] for check in verdict["checks"] if check["kind"] == "parity"]
    assert said
    assert all(text.endswith("without its companion file and with it") for text in said)
    rest = trimmed.out / f"final/bin/load_and_run{REST_SUFFIX}"
    assert reduced["forms"]["rest"] == rest.stat().st_size
    assert {level["level"] for level in alone} == {"alone"}
    assert {level["outcome"] for level in alone} == {"same", "trapped"}
    assert {level["outcome"] for level in whole} == {"same"}


@pytest.mark.chain
def test_one_models_program_runs_another_with_its_rest(trimmed: Project, tmp_path: Path) -> None:
    """Trimmed for one model, it traps on the other until the rest is delivered."""
    program = trimmed.out / "final/bin/load_and_run"
    rest = program.with_name(f"load_and_run{REST_SUFFIX}")
    away = rest.rename(tmp_path / "away")
    model = trimmed.folder / f"engine/models/{OTHER}.sample"
    argv = (str(program), str(model), "--cpu", "--iter", "1")
    command = Command(argv=argv, timeout_s=60, cwd=tmp_path)

    before = ProcessRunner(os.environ).run(command)
    away.rename(rest)
    after = ProcessRunner(os.environ).run(command)

    assert (before.rc, after.rc) == (TRAP, 0)
    assert before.stderr.endswith(f"is in {rest}, which is not there\n")


def _tombstone(program: bytes, at: int) -> str:
    """Return what Android 13 writes of a call to a deferred function, with the memory map."""
    base = 0x7200000000
    file = "/data/app/com.example/lib/x86_64/load_and_run"
    named = f"{file} (BuildId: {parse_build_id(program)})"
    loaded = [each for each in segments(program, source="p") if each.kind == LOADED]
    code = next(each for each in loaded if each.flags & EXECUTABLE)
    own = next(each for each in loaded if 0 <= at - each.address < each.memory_bytes)
    start = own.address & ~0xFFF
    lines = [
        "signal 5 (SIGTRAP), code -6 (SI_TKILL), fault addr --------",
        f"    rbp 0000007fd0001000  rsp 0000007fd0000f00  rip {base + at:016x}",
        "backtrace:",
        f"      #00 pc {at - start:016x}  [anon:.bss]",
        f"      #01 pc {code.address + 0x100:016x}  {named}",
        "memory map:",
    ]
    for each in loaded:
        first = base + (each.address & ~0xFFF)
        last = base + (each.address + each.memory_bytes | 0xFFF)
        rights = "r-x" if each.flags & EXECUTABLE else "---"
        name = named if each.size_bytes else "[anon:.bss]"
        offset = each.offset & ~0xFFF
        lines.append(f"    {first:016x}-{last:016x} {rights} {offset:x} 1000 {name}")
    return "\n".join(lines)


@pytest.mark.chain
def test_the_crash_of_a_missing_rest_is_looked_up(trimmed: Project, tmp_path: Path) -> None:
    """The program says where it was, on a stream that apps do not see; the tombstone does, too."""
    program = tmp_path / "load_and_run"
    program.write_bytes((trimmed.out / "final/bin/load_and_run").read_bytes())
    program.chmod(0o755)
    model = trimmed.folder / f"engine/models/{OTHER}.sample"
    ended = run(str(program), str(model), "--cpu", "--iter", "1")
    said = re.search(r"the code at 0x([0-9a-f]+)", ended.stderr)
    assert said is not None, ended.stderr
    at = int(said[1], 16)

    made = read_newest(Store(trimmed.out))
    text = _tombstone(program.read_bytes(), at)
    finding = look_up(parse_report(text.encode(), source="t"), made.programs)

    assert finding.text == "it is deferred, and the companion file could not be used"
    here = {each.name for each in made.programs[0].table.at(at)}
    assert {each.linkage_name for each in finding.candidates} == here & {*made.programs[0].left_out}
    assert finding.candidates


@pytest.mark.chain
def test_a_probe_runs_without_the_rest_and_with_it(trimmed: Project, tmp_path: Path) -> None:
    record = tmp_path / "record"
    model = str(trimmed.folder / f"engine/models/{OTHER}.sample")
    works = trimmed.expect("probe", model, "--", "--cpu", "--iter", "1").stdout

    said = trimmed.expect("probe", model, "--record", str(record), "--", "--cpu", "--iter", "1")

    assert works.startswith(
        "pass: it ran to its end with its companion file; without, it trapped: the func"
    )
    named, *lines = record.read_text().splitlines()
    assert named == f"run: {model} --cpu --iter 1"
    assert f"called {len(lines)} deferred functions: {record}" in said.stdout


@pytest.mark.chain
def test_a_crash_becomes_a_release_that_is_proven(trimmed: Project, tmp_path: Path) -> None:
    """The function of the report stays, and nothing else of the project has changed."""
    release = tmp_path / "1.4"
    patched = tmp_path / "1.4.1.tar.gz"
    trimmed.expect("release build", str(release))
    program = release / "bin/load_and_run"
    (release / f"bin/load_and_run{REST_SUFFIX}").rename(tmp_path / "rest")
    model = trimmed.folder / f"engine/models/{OTHER}.sample"
    ended = run(str(program), str(model), "--cpu", "--iter", "1")
    (tmp_path / "rest").rename(release / f"bin/load_and_run{REST_SUFFIX}")
    at = re.search(r"the code at 0x([0-9a-f]+)", ended.stderr)
    assert at is not None, ended.stderr
    crash = tmp_path / "tombstone"
    crash.write_text(_tombstone(program.read_bytes(), int(at[1], 16)), encoding="utf-8")

    words = ("--crash", str(crash), "--release", str(release))
    made = trimmed.expect("release patch", str(patched), *words)
    verified = run_megtrim("release", "verify", str(patched), cwd=tmp_path)
    again = run_megtrim("explain", *words[:2], "--release", str(patched), cwd=tmp_path)
    trimmed.change(trim={"level": "deferred", "base": "plain", "keep": ["of_another"]})
    other = trimmed.run("release patch", str(tmp_path / "other"), *words)
    trimmed.change(trim={"level": "deferred", "base": "plain"})

    missing = re.search(r"^trimming left out (.*) of load_and_run$", made.stdout, re.MULTILINE)
    assert missing is not None, made.stdout
    assert verified.rc == 0, verified.stderr
    assert f"patched after a crash, and keeps: {missing[1]}\n" in verified.stdout
    assert "these results cannot tell" in again.stdout  # that crash was of the release before
    assert other.rc == 2
    assert "is not the configuration that" in other.stderr
    assert not (tmp_path / "other").exists()


INSTALLS = """\
cmake_minimum_required(VERSION 3.20)
project(app LANGUAGES NONE)
find_package(MegEngineTrimmed REQUIRED)
install(PROGRAMS $<TARGET_FILE:MegEngineTrimmed::load_and_run> DESTINATION bin)
install(FILES $<TARGET_PROPERTY:MegEngineTrimmed::load_and_run,MEGTRIM_REST> DESTINATION bin)
"""


@pytest.mark.chain
def test_an_app_installs_a_release_with_its_rest(trimmed: Project, tmp_path: Path) -> None:
    release = tmp_path / "release"
    app = tmp_path / "app"
    trimmed.expect("release build", str(release))
    verified = run_megtrim("release", "verify", str(release), cwd=tmp_path)
    app.mkdir()
    (app / "CMakeLists.txt").write_text(INSTALLS, encoding="utf-8")
    settings = {"CMAKE_PREFIX_PATH": str(release), "CMAKE_INSTALL_PREFIX": str(tmp_path)}
    compile_project(app, app / "build", settings)
    installed = run("cmake", "--install", str(app / "build"))
    model = trimmed.folder / f"engine/models/{OTHER}.sample"
    done = run(str(tmp_path / "bin/load_and_run"), str(model), "--cpu", "--iter", "1")

    assert verified.rc == 0, verified.stderr
    assert installed.ok, installed.stderr
    assert done.rc == 0, done.stderr


@pytest.mark.chain
def test_what_the_field_reached_stays(trimmed: Project, tmp_path: Path) -> None:
    """Another model and another flag ran with the rest; after that they need none."""
    program = trimmed.out / "final/bin/load_and_run"
    record = tmp_path / "record"
    models = {name: str(trimmed.folder / f"engine/models/{name}.sample") for name in (MODEL, OTHER)}
    ways = ((models[OTHER], "--cpu"), (models[MODEL], "--cpu", "--record-comp-seq"))

    def run_all(**env: str) -> list[int]:
        argvs = ((str(program), *way, "--iter", "1") for way in ways)
        commands = (Command(argv=argv, timeout_s=60, cwd=tmp_path, env=env) for argv in argvs)
        return [ProcessRunner(os.environ).run(command).rc for command in commands]

    recorded = run_all(MEGTRIM_REACHED=str(record))
    calls = record.read_text()
    other = f"{'1' * 40} 0000b090\n"
    record.write_text(
        f"{other}{calls}".replace("\n", "\r\n")
    )  # an older build's, by way of Windows
    said = trimmed.expect("trim", "--reached", str(record)).stderr
    program.with_name(f"load_and_run{REST_SUFFIX}").unlink()

    assert (recorded, run_all()) == ([0, 0], [0, 0])
    assert f"skipped 1 line of the build {'1' * 40}: {record}:1" in said
    assert f"reached    {len(calls.splitlines())} deferred functions" in said
    recording = "sample::Executor::run_recording()"
    assert f"calls {recording} with --record-comp-seq: a scenario to add?" in said
    assert '  keep:\n    - "(anonymous' in said
    assert f'    - "{recording}"\n' in said
