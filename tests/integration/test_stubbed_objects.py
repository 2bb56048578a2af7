import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from elftools.dwarf.callframe import FDE
from elftools.elf.elffile import ELFFile

from integration.links import KINDS, TRAPPED, Lease, lease
from megtrim.core.build_spec import LinkSpec, StubForm, Toolchain
from megtrim.core.functions import linker_script, local_functions
from megtrim.libs.elf.symbol_table import FunctionTable, read_table
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.places.compile.projects.link import invocation, relink
from megtrim.places.compile.projects.link.invocation import LinkCommand, LinkEnvironment
from unit.places.compile.projects.support import bench, write

SOURCES = {
    "main.cpp": """
#include <cstdio>
#include <cstdlib>
#include "parts.h"
int main(int argc, char** argv) {
  const int asked = argc > 1 ? std::atoi(argv[1]) : 0;
  std::printf("%d %d %d\\n", steps(asked), caught(3), chosen(2)->value(argc));
  return chosen(asked)->value(0) == 7 ? 0 : other(asked);
}
""",
    "parts.h": """
#if defined(__thumb__)  // some functions of a program of Thumb code are Arm code
#define IN_ARM __attribute__((target("arm")))
#else
#define IN_ARM
#endif
struct Part { virtual ~Part() {} virtual int value(int) const = 0; };
const Part* chosen(int);
int steps(int), caught(int), other(int);
template <typename T> __attribute__((noinline)) T twice(T value) {
  volatile T kept = value; return kept + value;
}
""",
    "part.cpp": """
#include <stdexcept>
#include <string>
#include "parts.h"
namespace {
struct Ran : Part { int value(int) const override { return 7; } };
struct Never : Part {
  IN_ARM int value(int more) const override {
    std::string text = std::to_string(more);  // something to unwind
    __asm__ volatile(".rept 32\\n nop\\n .endr");  // room for three messages
    return text.size() > 3 ? throw std::runtime_error(text) : twice(more);
  }
};
volatile int one = 1;  // which no compiler works out by itself
__attribute__((noinline)) int never(int value) { return twice(value) + 1; }
IN_ARM __attribute__((noinline)) int short_one() { return one; }
const Ran ran; const Never not_ran;
}
const Part* chosen(int which) { return which == 9 ? (const Part*)&not_ran : &ran; }
IN_ARM __attribute__((noinline)) static int thrower(int value) {
  std::string text(value + 30, 'x');
  if (value) throw std::runtime_error(text);
  return 1;
}
int caught(int value) {
  try { return thrower(value); } catch (const std::exception& error) {
    return std::string(error.what()).size();
  }
}
// Its table of places lies in data, and leads into the function.
int steps(int which) {
  switch (which) {
    case 1: return never(one); case 2: return twice(5); case 3: return 17 * short_one();
    case 4: return 4 + twice(which); case 5: return 99; case 6: return twice(8) * 3;
    default: return 0;
  }
}
""",
    "other.cpp": '#include "parts.h"\nint other(int value) { return twice(value); }\n',
}
NEVER = (
    "_ZN12_GLOBAL__N_15neverEi",
    "_ZN12_GLOBAL__N_19short_oneEv",
    "_ZNK12_GLOBAL__N_15Never5valueEi",
)
NAMES = tuple(sorted(("_Z5otheri", "_Z5twiceIiET_S0_", *NEVER)))
SAID = "0 33 7\n"
TRAP_BYTES = {"aarch64": {4}, "arm": {2, 4}, "x86_64": {2}}
LOST_ENTRIES = {"aarch64": (3, 5), "arm": (1, 4), "x86_64": (3, 5)}
"""Fewest entries for unwinding that go with NEVER, and with all; on Arm, a linker joins equal ones.
"""

COMPILE = ("-O2", "-fPIC", "-ffunction-sections", "-fdata-sections", "-fno-sanitize=all")


@dataclass
class Place:
    at: Lease
    made: dict[tuple[LinkSpec, tuple[str, ...]], Path] = field(default_factory=dict)

    @property
    def toolchain(self) -> Toolchain:
        return self.at.toolchain

    def run(self, *argv: str) -> None:
        done = self.at.processes.run(Command(argv=argv, timeout_s=240, cwd=self.at.root))
        assert done.ok, done.stdout + done.stderr

    def compiled(self, *more: str, sources: Iterable[str] = SOURCES) -> None:
        """Compile the sources, and put all but the program's own into an archive."""
        objects = []
        for name in sources:
            if name.endswith(".cpp"):
                compiler = (*self.toolchain.cxx_compiler, *self.toolchain.compile_flags)
                self.run(*compiler, *COMPILE, *more, "-c", name, "-o", f"{name}.o")
                objects.append(f"{name}.o")
        (self.at.root / "lib").mkdir(exist_ok=True)
        objects.remove("main.cpp.o")
        self.run(self.toolchain.archiver or "ar", "rcs", "lib/libparts.a", *objects)

    def linked(self, *flags: str, spec: LinkSpec) -> Path:
        """Link with the inputs emptied as ordered, once, and return the program."""
        if (spec, flags) in self.made:
            return self.made[spec, flags]
        count = len(self.made)
        link_env = self.bench(f"made-{count}")
        link_env.scratch.mkdir()
        given = (*self.toolchain.link_flags, *flags, "-Wl,--gc-sections")
        words = (*(flag for flag in given if flag != "-s"), "main.cpp.o", "-Llib", "-lparts")
        command = LinkCommand(driver=self.toolchain.cxx_compiler, words=words, output="none")
        # As megtrim links: zig would compile its libraries once more for a link that names symbols.
        call = invocation.find(command, spec.target, link_env)
        argv = relink.copy_inputs(call.argv, link_env, spec)
        self.run(*argv, "-o", f"program-{count}")
        self.made[spec, flags] = self.at.root / f"program-{count}"
        return self.made[spec, flags]

    def bench(self, scratch: str) -> LinkEnvironment:
        """Return where links are made; what they need goes into a folder of its own."""
        root = self.at.root
        return replace(bench(root, root / scratch, self.toolchain), build=root)


def make_place(kind: str, root: Path, *flags: str, **more: str) -> Place:
    """Write sources and compile them; ``more``: other texts than ``SOURCES`` have."""
    texts = SOURCES | {f"{name}.cpp": text for name, text in more.items()}
    made = Place(lease(kind, root, write(root, texts)))
    made.compiled(*flags, sources=texts)
    return made


@pytest.fixture(params=KINDS, scope="module")
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Place:
    return make_place(request.param, tmp_path_factory.mktemp(request.param))


def make_spec(
    *names: str, form: StubForm = StubForm.SHARED, unwind_tables: bool = True
) -> LinkSpec:
    return LinkSpec(
        target="program", label="x", emptied=names, form=form, unwind_tables=unwind_tables
    )


def sizes(table: FunctionTable) -> dict[str, int]:
    return {each.name: each.size_bytes for each in table.functions}


def entries(program: Path) -> int:
    with program.open("rb") as file:
        elf = ELFFile(file)
        if index := elf.get_section_by_name(".ARM.exidx"):
            return int(index["sh_size"]) // 8
        found = elf.get_dwarf_info().EH_CFI_entries()
        return sum(isinstance(each, FDE) for each in found)


def test_what_never_ran_is_a_trap(place: Place) -> None:
    """All else runs as before, exceptions and all; what goes is not unwound any more."""
    whole = place.linked(spec=make_spec())
    program = place.linked(spec=make_spec(*NAMES))
    before = sizes(read_table(whole))
    after = sizes(read_table(program))

    assert set(NEVER) <= before.keys()
    assert {after[name] for name in NEVER} == TRAP_BYTES[place.toolchain.machine]
    assert after["_ZL7throweri"] == before["_ZL7throweri"] > 16
    assert entries(whole) - entries(program) >= LOST_ENTRIES[place.toolchain.machine][0]
    assert place.at.run(program).stdout == place.at.run(whole).stdout == SAID
    assert place.at.run(program, "5").stdout.startswith("99 ")


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("1", "_ZN12_GLOBAL__N_15neverEi"),
        ("3", "_ZN12_GLOBAL__N_19short_oneEv"),
        ("9", "_ZNK12_GLOBAL__N_15Never5valueEi"),
        ("2", "_Z5twiceIiET_S0_"),
    ],
)
def test_it_traps_where_it_would_have_run(place: Place, asked: str, name: str) -> None:
    """A stub that reports says its number first."""
    shared = place.linked(spec=make_spec(*NAMES))
    program = place.linked(spec=make_spec(*NAMES, form=StubForm.REPORTING))
    outcome = place.at.run(program, asked)

    trapped = TRAPPED[place.toolchain.machine]
    assert (place.at.run(shared, asked).rc, outcome.rc) == (trapped, trapped)
    assert outcome.stderr.startswith(f"megtrim: function #{NAMES.index(name)} is not kept\n")
    assert place.at.run(program).stdout == SAID


def test_the_inputs_stay_as_they_are(place: Place) -> None:
    """Only copies are edited, which bear the same names: linkers know archives by them."""
    files = [place.at.root / name for name in ("main.cpp.o", "lib/libparts.a")]
    before = [each.read_bytes() for each in files]
    argv = ("ld", "main.cpp.o", "-Llib", "-lparts", "-lc", "main.cpp.o")
    made = relink.copy_inputs(argv, place.bench("copied"), make_spec(*NAMES))

    assert made == ("ld", "main.cpp.o", "-Llib", made[3], *argv[4:])
    assert Path(made[3]).name == "libparts.a"
    assert [each.read_bytes() for each in files] == before
    assert Path(made[3]).stat().st_size == files[1].stat().st_size


@pytest.mark.parametrize("kind", KINDS)
def test_without_exceptions_there_is_nothing_to_unwind(kind: str, tmp_path: Path) -> None:
    part = (
        '#include "parts.h"\nint steps(int n) { return n; } int caught(int) { return 33; }\n'
        "struct P : Part { int value(int) const override { return 7; } };\n"
        "static P p; const Part* chosen(int) { return &p; }\n"
    )
    other = make_place(kind, tmp_path, "-fasynchronous-unwind-tables", part=part)
    whole = other.linked(spec=make_spec())
    program = other.linked(spec=make_spec(unwind_tables=False))

    assert other.at.run(program).stdout == "0 33 7\n"
    assert entries(whole) - entries(program) >= LOST_ENTRIES[other.toolchain.machine][1]
    assert sizes(read_table(program)) == sizes(read_table(whole))


HALVES = {
    "main.cpp": """
#include <cstdio>
#include <cstdlib>
int split(int);
int main(int, char** argv) { std::printf("%d\\n", split(std::atoi(argv[1]))); return 0; }
""",
    "split.cpp": """
#include <cstdio>
__attribute__((cold, noinline)) void rare(int value) { std::printf("rare %d\\n", value); }
int split(int value) {
  volatile int kept = value;
  if (kept > 1000) { rare(kept); kept = kept / 3; rare(kept + 1); }
  return kept + 1;
}
""",
}


@pytest.mark.chain
def test_a_cold_half_is_no_function(tmp_path: Path) -> None:
    """GCC has the hot half jump into its midst, and back: it stays while the other one does."""
    place = Place(lease("host", tmp_path, write(tmp_path, HALVES)))
    place.compiled(sources=HALVES)
    whole = place.linked(spec=make_spec())
    half = place.linked(spec=make_spec("_Z5spliti.cold"))
    none = place.linked(spec=make_spec("_Z5spliti", "_Z5spliti.cold"))
    before = sizes(read_table(whole))["_Z5spliti.cold"]

    assert before > 4
    assert sizes(read_table(half))["_Z5spliti.cold"] == before
    assert place.at.run(half, "3000").stdout == "rare 3000\nrare 1001\n1001\n"
    assert sizes(read_table(none))["_Z5spliti"] == 2
    assert "_Z5spliti.cold" not in sizes(read_table(none))
    assert place.at.run(none, "1").rc == TRAPPED["x86_64"]


@pytest.mark.chain
def test_an_object_of_very_many_sections(tmp_path: Path) -> None:
    """More than a header, or a symbol, can count."""
    count = 66_000
    each = '.section .text.f{0},"ax"\n.type f{0}, @function\nf{0}: nop\nnop\nret\n.size f{0}, 3\n'
    text = "".join(each.format(number) for number in range(count))
    processes = ProcessRunner(os.environ)
    write(tmp_path, {"many.s": text})
    processes.capture("gcc", "-c", str(tmp_path / "many.s"), "-o", str(tmp_path / "many.o"))
    data = (tmp_path / "many.o").read_bytes()
    edits = local_functions.edits(
        data, local_functions.number_names(["f65999", "f7"]), source="many.o"
    )
    copy = bytearray(data)
    for at, new in edits:
        copy[at : at + len(new)] = new
    (tmp_path / "many.o").write_bytes(copy)
    shown = processes.capture("nm", "-S", str(tmp_path / "many.o"))
    found = {line.split()[-1]: int(line.split()[1], 16) for line in shown.splitlines()}

    assert len(found) == count
    assert {name for name, size in found.items() if size != 3} == {"f65999", "f7"}
    assert {found["f65999"], found["f7"]} == {2}


@pytest.mark.chain
def test_a_named_stub_stands_for_a_member_function(tmp_path: Path) -> None:
    """Also in a pointer to one, in which an odd address would mean a virtual function."""
    calls = "".join(f"&Part::f{number}, " for number in range(4))
    program = (
        "struct Part { virtual void g() {} void f0(); void f1(); void f2(); void f3(); } part;\n"
        f"int main(int argc, char**) {{ void (Part::*all[])() = {{ {calls} }};\n"
        "  (part.*all[argc - 1])(); }\n"
    )
    sources = {"main.cpp": program, **dict(linker_script.named_sources(4))}
    files = [tmp_path / name for name in sources]
    for path, text in zip(files, sources.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    stubs = (f"-Wl,--defsym=_ZN4Part2f{at}Ev=megtrim_stub_{at}" for at in range(4))
    argv = ("gcc", "-fno-rtti", *map(str, files), *stubs, "-o", str(tmp_path / "program"))
    processes = ProcessRunner(os.environ)
    assert processes.run(Command(argv=argv, timeout_s=60)).ok
    for at in range(4):
        command = Command(argv=(str(tmp_path / "program"), *("x" * at)), timeout_s=60)
        ended = processes.run(command)
        assert ended.rc == TRAPPED[os.uname().machine]
        assert linker_script.not_kept(ended.stderr, "0123") == str(at)
