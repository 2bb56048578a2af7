"""Uses of what no scenario runs, planted in the sample engine's shared object, on every ABI.

Behind an export it is a trap, which the named link and a report of the crash name. An export that
was taken away is an error of ``dlsym``, of the linker and of the loader.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from integration.links import TRAPPED
from integration.sample_builds import run
from megtrim import stages
from megtrim.chain.graph import PLAIN, REDUCED
from megtrim.checks.invocation import Options
from megtrim.cli.session.setup import open_session
from megtrim.crashes.lookup import CrashCause
from megtrim.crashes.trimmed_programs import read_newest
from megtrim.functions.linker_script import not_kept
from megtrim.proof import trap_diagnosis
from megtrim.util.process import CompletedCommand
from support.crash_reports import find_program, holds_truth, look_up_in, plant_in_numbered
from support.megtrim_cli import ROOT, Project

SOURCES = Path(__file__).with_name("applications")
CLASSIFY = ROOT / "examples/applications/sample-classify"
LIBRARY = "libsample_engine.so"
USES = range(3, 15)
TAKEN = range(10)
_HIDDEN = '__attribute__((visibility("hidden")))'
_CODE = """
{linkage} __attribute__((noinline)) int left_out_{number}(int x) {{
    asm volatile(".rept 32\\n nop\\n .endr" : "+r"(x));
    return x * {number};
}}
extern "C" SAMPLE_ENGINE_C_API int use_{number}(int x) {{ return left_out_{number}(x) + 1; }}
"""
_EXPORT = 'extern "C" SAMPLE_ENGINE_C_API int taken_{number}(int x) {{ return x * {number}; }}\n'
EXPORTS = "".join(
    (
        *(_CODE.format(linkage="static" if n % 2 else _HIDDEN, number=n) for n in USES),
        *(_EXPORT.format(number=number) for number in TAKEN),
    )
)
"""Code of the engine's that no scenario runs: behind exports, some of it internal, and exports."""
LOADER = """
find_library(DL dl)
enable_language(C)
add_executable(loader EXCLUDE_FROM_ALL loader.c)
target_include_directories(loader PRIVATE ${MEGTRIM_ENGINE_INCLUDE})
target_link_libraries(loader PRIVATE dl)
"""
PRINTED = ["{model}", "data={input:data}"]
KEPT = ("@applications", "sample_*", "use_*")
"""What stays exported: the consumer in C calls some of it."""


@dataclass(frozen=True, slots=True)
class Abi:
    machine: str
    """As qemu names it."""
    triplet: str

    @property
    def sysroot(self) -> str:
        return f"/usr/{self.triplet}"

    @property
    def compiler(self) -> str:
        return f"{self.triplet}-gcc"

    def emulate(
        self, program: Path, *arguments: str, env: Mapping[str, str] | None = None
    ) -> CompletedCommand:
        emulator = (f"qemu-{self.machine}-static", "-cpu", "max", "-L", self.sysroot)
        return run(*emulator, str(program), *arguments, env=dict(env or {}))


ARM64 = Abi("aarch64", "aarch64-linux-gnu")
ARMV7 = Abi("arm", "arm-linux-gnueabihf")


def plant(project: Project) -> None:
    """Add what is used to the engine, and to a copy of an application one that loads it."""
    shutil.copytree(CLASSIFY, project.folder / "app")
    with (project.folder / "engine/src/library/model_c.cpp").open("a", encoding="utf-8") as source:
        source.write(EXPORTS)
    shutil.copy(SOURCES / "loader.c", project.folder / "app")
    with (project.folder / "app/CMakeLists.txt").open("a", encoding="utf-8") as cmake:
        cmake.write(LOADER)


def expect_no_silent_use(project: Project, abi: Abi, folder: Path, *, options: Options) -> None:
    """``options``: of the trim; ``folder`` takes a program that uses what was taken away."""
    session = stages.able(open_session(options))
    named, listed = trap_diagnosis.named_files("loader", session) or (folder, folder)
    done = project.done()
    plain, shipped = done[PLAIN] / "bin", done[REDUCED] / "bin"
    names = listed.read_text("utf-8").split()
    for number in USES:
        ended = abi.emulate(shipped / "loader", "use", f"use_{number}")
        said = abi.emulate(named, "use", f"use_{number}").stderr
        assert (ended.rc, ended.stdout) == (TRAPPED[abi.machine], "")
        assert f"left_out_{number}i" in str(not_kept(said, names))
    assert abi.emulate(shipped / "loader", "use", "sample_last_error").rc == 0

    declared = "".join(f"int taken_{number}(int);\n" for number in TAKEN)
    called = " + ".join(f"taken_{number}(0)" for number in TAKEN)
    uses = f"{declared}int main(void) {{ return {called}; }}\n"
    (folder / "uses.c").write_text(uses, encoding="utf-8")
    compile_ = (abi.compiler, str(folder / "uses.c"), "-o", str(folder / "uses"))
    refused = run(*compile_, str(shipped / LIBRARY)).stderr
    assert run(*compile_, str(plain / LIBRARY), f"-Wl,-rpath,{shipped}").ok
    assert "undefined symbol: taken_" in abi.emulate(folder / "uses").stderr
    for number in TAKEN:
        said = abi.emulate(shipped / "loader", "use", f"taken_{number}").stderr
        assert f"undefined symbol: taken_{number}" in said
        assert f"undefined reference to `taken_{number}'" in refused

    results = read_newest(session.services.store)
    planted = [*plant_in_numbered(find_program(results, LIBRARY))]
    for crash in planted:
        found = look_up_in(crash, find_program(results, LIBRARY), results)
        assert found.cause is CrashCause.LEFT_OUT
        assert holds_truth(crash, found)
    assert len(planted) > 50
