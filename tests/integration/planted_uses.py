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
from megtrim.core import stages
from megtrim.core.chain.graph import PLAIN, REDUCED
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.session.setup import open_session
from megtrim.core.functions.linker_script import not_kept
from megtrim.core.proof import trap_diagnosis
from megtrim.libs.elf.layout import parse_build_id
from megtrim.libs.util.process import CompletedCommand
from megtrim.ship.crashes.finding import CrashCause
from megtrim.ship.crashes.trimmed_programs import read_newest
from support.crash_reports import (
    find_program,
    holds_truth,
    look_up_in,
    plant_in_numbered,
    report_of,
)
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


def expect_no_silent_use(project: Project, abi: Abi, folder: Path, *, options: Options) -> bytes:
    """Return the report of a crash. ``options``: of the trim; ``folder`` takes programs."""
    session = stages.able(open_session(options))
    named, listed = trap_diagnosis.named_files("loader", session) or (folder, folder)
    done = project.done()
    plain = done[PLAIN] / "bin"
    shipped = done[REDUCED] / "bin"
    names = listed.read_text("utf-8").split()
    used = _link([f"use_{number}" for number in USES], folder / "used", abi)
    assert run(*used, str(plain / LIBRARY)).ok
    for place, number in enumerate(USES):
        ways = (("loader", "use", f"use_{number}"), (folder / "used", str(place)))
        for program, *words in ways:
            ended = abi.emulate(shipped / program, *words, env=_loads_from(shipped))
            said = abi.emulate(named.parent / program, *words, env=_loads_from(named.parent)).stderr
            assert (ended.rc, ended.stdout) == (TRAPPED[abi.machine], "")
            assert f"left_out_{number}i" in str(not_kept(said, names))
    assert abi.emulate(shipped / "loader", "use", "sample_last_error").rc == 0

    taken = _link([f"taken_{number}" for number in TAKEN], folder / "taken", abi)
    refused = run(*taken, str(shipped / LIBRARY)).stderr
    assert run(*taken, str(plain / LIBRARY)).ok
    for place, number in enumerate(TAKEN):
        assert f"undefined reference to `taken_{number}'" in refused
        for program, *words in (
            ("loader", "use", f"taken_{number}"),
            (folder / "taken", str(place)),
        ):
            said = abi.emulate(shipped / program, *words, env=_loads_from(shipped)).stderr
            assert f"undefined symbol: taken_{number}" in said

    identity = parse_build_id((shipped / LIBRARY).read_bytes())
    results = read_newest(session.services.store, [identity])
    library = find_program(results, LIBRARY)
    planted = [*plant_in_numbered(library)]
    for crash in planted:
        found = look_up_in(crash, library, results)
        assert found.cause is CrashCause.LEFT_OUT
        assert holds_truth(crash, found)
    assert len(planted) > 50
    return report_of(planted[0], library)


def _link(names: list[str], program: Path, abi: Abi) -> tuple[str, ...]:
    """Return how to link a program that calls one of these functions, by its place."""
    declared = "".join(f"int {name}(int);\n" for name in names)
    cases = "".join(f"case {place}: return {name}(1);\n" for place, name in enumerate(names))
    main = f"int main(int argc, char** argv) {{ switch (atoi(argv[argc - 1])) {{\n{cases}}} }}\n"
    source = program.with_suffix(".c")
    source.write_text(f"#include <stdlib.h>\n{declared}{main}", encoding="utf-8")
    return abi.compiler, "-Wl,-z,lazy", str(source), "-o", str(program)


def _loads_from(folder: Path) -> dict[str, str]:
    return {"LD_LIBRARY_PATH": str(folder)}
