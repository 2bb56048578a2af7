"""Builds that are cut off, that lose their folder of results, or that no shell may change."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.conftest import MakeProject
from megtrim.libs.util.process import CompletedCommand
from support.clock import until
from support.megtrim_cli import Project

pytestmark = [pytest.mark.chain]


def _compiles(project: Project) -> bool:
    logs = (project.out / "build").glob("*/build.log")
    return any("Building CXX object" in path.read_text("utf-8", "replace") for path in logs)


def _working_in(folder: Path) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except (OSError, UnicodeDecodeError):
                continue
            if str(folder) in line:
                found.append(line)
    return found


def with_own_results(make_project: MakeProject) -> Project:
    made = make_project("tiny-mobile")
    made.out = made.folder / "out"
    made.env = {"CCACHE_DISABLE": "1"}
    return made


@pytest.fixture
def project(make_project: MakeProject) -> Project:
    return with_own_results(make_project)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_build_that_was_cut_off_continues(
    project: Project, number: signal.Signals, status: int
) -> None:
    running = project.start("stage build")
    until(lambda: _compiles(project), "the first compiler", within_s=120)
    running.send_signal(number)

    assert running.wait(30) == status
    until(lambda: not _working_in(project.out), "the end of all programs", within_s=15)
    assert list((project.out / "build").glob("*/manifest.json")) == []
    project.env = {}  # whoever finishes the work may be as quick as they like
    resumed = project.expect("stage build")
    assert "waiting for another megtrim" not in resumed.stderr
    assert len(list((project.out / "build").glob("*/manifest.json"))) == 2


@pytest.fixture
def barrier(tmp_path: Path) -> Iterator[Path]:
    """A folder with a compiler cache that lets no compilation pass before ``open`` is there."""
    folder = tmp_path / "barrier"
    folder.mkdir()
    wait = f"touch {folder}/reached; until [ -e {folder}/open ]; do sleep 0.1; done"
    script = folder / "ccache"
    text = f'#!/bin/sh\n{wait}\nexec {shutil.which("ccache") or ""} "$@"\n'
    script.write_text(text, encoding="utf-8")
    script.chmod(0o755)
    yield folder
    (folder / "open").touch()


def test_two_runs_at_once_build_once(project: Project, barrier: Path, tmp_path: Path) -> None:
    project.env = {"PATH": f"{barrier}:{os.environ['PATH']}"}
    messages = tmp_path / "stderr"
    first = project.start("stage build")
    until((barrier / "reached").exists, "the first compiler", within_s=120)
    with messages.open("wb") as stderr:
        second = project.start("stage build", stderr=stderr)
    until(
        lambda: b"waiting for another megtrim" in messages.read_bytes(),
        "no one waits",
        within_s=120,
    )
    (barrier / "open").touch()

    assert (first.wait(300), second.wait(300)) == (0, 0), messages.read_text("utf-8")
    assert len(list((project.out / "build").glob("*"))) == 2


COMPILER = """\
#!/bin/sh
case "$*" in *file.cpp*) {then} ;; esac
exec {real} "$@"
"""


def build(project: Project, programs: Path, then: str, **more: str) -> CompletedCommand:
    """Build with a compiler that does something else first, where it compiles one of the files."""
    programs.mkdir(exist_ok=True)
    compiler = programs / "g++"
    compiler.write_text(COMPILER.format(then=then, real=shutil.which("g++")), encoding="utf-8")
    compiler.chmod(0o755)
    project.env |= {"PATH": f"{programs}:{os.environ['PATH']}", **more}
    return project.run("stage build", "--quick", "-j", "2")


@pytest.mark.parametrize("gone", ["out", "out/work"])
def test_results_that_are_removed_meanwhile_are_infrastructure(
    project: Project, tmp_path: Path, gone: str
) -> None:
    ended = build(project, tmp_path / "bin", then=f"rm -rf {project.folder / gone}")

    assert ended.rc == 3, ended.stderr
    assert "does not compile" not in ended.stderr
    assert "was removed or unmounted" in ended.stderr


def test_a_build_does_not_see_the_variables_of_a_shell(
    make_project: MakeProject, tmp_path: Path
) -> None:
    """Each of these changes or breaks a build that sees it; equal keys must be equal programs."""
    broken = tmp_path / "broken"
    broken.mkdir()
    for tool in ("as", "cc1plus", "ld", "collect2"):
        (broken / tool).write_text("#!/bin/sh\nexit 9\n", encoding="utf-8")
        (broken / tool).chmod(0o755)
    (broken / "cstdint").write_text("#error this is not cstdint\n", encoding="utf-8")
    (broken / "libstdc++.so").write_text("no library", encoding="utf-8")
    one = str(broken)
    none = str(tmp_path / "none")
    shell = {
        "AR": "false",
        "CC": "false",
        "CCACHE_PREFIX": "false",
        "CFLAGS": "-O0",
        "CMAKE_BUILD_TYPE": "Debug",
        "CMAKE_CXX_COMPILER_LAUNCHER": "false",
        "CMAKE_GENERATOR": "Unix Makefiles",
        "CMAKE_TOOLCHAIN_FILE": none,
        "COMPILER_PATH": one,
        "CPATH": one,
        "CPLUS_INCLUDE_PATH": one,
        "CXX": "false",
        "CXXFLAGS": "-O0 -fno-inline",
        "DEPENDENCIES_OUTPUT": f"{one}/written",
        "GCC_EXEC_PREFIX": f"{none}/",
        "GLIBC_TUNABLES": "glibc.malloc.check=3",
        "LDEMULATION": "elf32_x86_64",
        "LDFLAGS": "-Wl,-z,now",
        "LD_RUN_PATH": none,
        "LIBRARY_PATH": one,
        "NINJA_STATUS": "",
        "QEMU_CPU": "none",
        "SOURCE_DATE_EPOCH": "none",
    }
    projects = [with_own_results(make_project) for _ in range(2)]
    plain = build(projects[0], tmp_path / "bin", then="true")
    seen = build(projects[1], tmp_path / "bin", then="true", **shell)

    assert (plain.rc, seen.rc) == (0, 0), plain.stderr + seen.stderr
    assert "ignored: " not in plain.stderr
    assert seen.stderr.count(f"ignored: {', '.join(shell)}: ") == 1
    found = [path for e in projects for path in e.out.glob("build/*/bin/load_and_run")]
    assert len(found) == 2
    assert found[0].read_bytes() == found[1].read_bytes()
    assert not (broken / "written").exists()
