"""A folder of results that is taken away, or that no build can have: the right category."""

import shutil
import sys
from pathlib import Path

import pytest

from megtrim.util.process import Command, CompletedCommand, ProcessRunner

pytestmark = pytest.mark.chain

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "examples" / "sample-engine" / "megtrim.yaml"
COMPILER = """\
#!/bin/sh
case "$*" in *file.cpp*) {then} ;; esac
exec {real} "$@"
"""


def build(tmp_path: Path, processes: ProcessRunner, then: str, **more: str) -> CompletedCommand:
    project = shutil.copytree(CONFIG.parent, tmp_path / "project")
    text = CONFIG.read_text(encoding="utf-8").replace("kind: auto", "kind: host")
    (project / CONFIG.name).write_text(text, encoding="utf-8")
    programs = tmp_path / "bin"
    programs.mkdir(parents=True)
    compiler = programs / "g++"
    compiler.write_text(COMPILER.format(then=then, real=processes.which("g++")), encoding="utf-8")
    compiler.chmod(0o755)
    words = ("stage", "build", "--quick", "-j", "2", "--out", str(tmp_path / "out"))
    argv = (sys.executable, "-m", "megtrim", *words)
    env = {
        "PATH": f"{programs}:{processes.env['PATH']}",
        "PYTHONPATH": str(ROOT / "ci"),
        "CCACHE_DISABLE": "1",
        **more,
    }
    return processes.run(Command(argv=argv, timeout_s=600, cwd=project, env=env))


@pytest.mark.parametrize("gone", ["out", "out/work"])
def test_results_that_are_removed_meanwhile_are_infrastructure(
    tmp_path: Path, processes: ProcessRunner, gone: str
) -> None:
    ended = build(tmp_path, processes, then=f"rm -rf {tmp_path / gone}")

    assert ended.rc == 3, ended.stderr
    assert "does not compile" not in ended.stderr
    assert "was removed or unmounted" in ended.stderr


def test_a_build_does_not_see_the_variables_of_a_shell(
    tmp_path: Path, processes: ProcessRunner
) -> None:
    """Each of these changes or breaks a build that sees it; equal keys must be equal programs."""
    broken = tmp_path / "broken"
    broken.mkdir()
    for tool in ("as", "cc1plus", "ld", "collect2"):
        (broken / tool).write_text("#!/bin/sh\nexit 9\n", encoding="utf-8")
        (broken / tool).chmod(0o755)
    (broken / "cstdint").write_text("#error this is not cstdint\n", encoding="utf-8")
    (broken / "libstdc++.so").write_text("no library", encoding="utf-8")
    one, none = str(broken), str(tmp_path / "none")
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
    plain = build(tmp_path / "plain", processes, then="true")
    seen = build(tmp_path / "shell", processes, then="true", **shell)

    assert (plain.rc, seen.rc) == (0, 0), plain.stderr + seen.stderr
    assert "ignored: " not in plain.stderr
    assert seen.stderr.count(f"ignored: {', '.join(shell)}: ") == 1
    found = sorted(tmp_path.glob("*/out/build/*/bin/load_and_run"))
    assert len(found) == 2
    assert found[0].read_bytes() == found[1].read_bytes()
    assert not (broken / "written").exists()
