"""The generated header in real compilers: what is kept runs, of the rest only a trap remains.

All forms must give the same program: scoped with the ``midout.h`` that is written, in sources as
they are and in sources that include each fact by itself, and upstream with an engine's own
``midout.h``, for which the sample engine's stands.
"""

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from itertools import product
from pathlib import Path

import pytest

from integration.links import TRAPPED
from megtrim.core.keep.keepset import KeepSet, build_keep_set
from megtrim.core.keep.region import Region
from megtrim.engines.midout.header import Layout, Scopes, render, rewritten, scopes
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from support.scenario_records import make_record

SOURCES = Path(__file__).parent / "header"
SAMPLE_MIDOUT = Path(__file__).parents[2] / "examples/sample-engine/src/midout"
COMPILERS = (
    pytest.param("g++", marks=pytest.mark.chain, id="g++"),
    pytest.param("clang++-14", marks=pytest.mark.clang, id="clang++-14"),
)
UNITS = ("first", "second")


def fnv(name: str) -> int:
    """32-bit FNV-1a as a signed number: what ``engine::named`` is in the sources."""
    number = 2166136261
    for byte in name.encode():
        number = (number ^ byte) * 16777619 & 0xFFFFFFFF
    return number - 2**32 if number >= 2**31 else number


REGIONS = {
    "shared-1": "shared<1>",
    "shared-2": "shared<2>",
    "typed-conv": "typed<engine::Conv, 3>",
    "typed-inner-conv": "typed<engine::inner::Conv, 3>",
    "typed-incomplete": "typed<engine::Pool>",
    "typed-kernel": "typed<engine::Kernel<float, 2>>",
    "typed-by-kind": "typed<engine::ByKind<(engine::Kind)7>, 7>",
    "dependent-float": "dependent<float, 0>",
    "dependent-float-1": "dependent<float, 1>",
    "dependent-byte": "dependent<unsigned char, 0>",
    "dependent-signed-byte": "dependent<signed char, 0>",
    "dependent-conv": "dependent<engine::Conv, -1>",
    "bare": "bare<>",
    "lonely": "lonely<>",
    "eight": "eight<1, 2, 3, 4, 5, 6, 7, 8>",
    "eight-other": "eight<1, 2, 3, 4, 5, 6, 7, 9>",
    "named-sgemv": f"named<{fnv('sgemv')}>",
    "named-sgemm": f"named<{fnv('sgemm')}>",
}
KEPT = frozenset(
    {
        "shared-1",
        "typed-conv",
        "typed-incomplete",
        "typed-kernel",
        "typed-by-kind",
        "dependent-float",
        "dependent-byte",
        "dependent-conv",
        "bare",
        "eight",
        "named-sgemv",
    }
)


def keep(cases: Iterable[str], *others: str) -> KeepSet:
    texts = [*(REGIONS[case] for case in cases), *others]
    record = make_record(Region.parse(text) for text in texts)
    return build_keep_set(generation=20220507, scenarios=(record,), operators=None)


class Form(StrEnum):
    OWN_FILES = "own files"
    """Scoped, and each tag has a file that sources include: how megtrim builds."""
    SCOPED = "scoped"
    UPSTREAM = "upstream"

    @property
    def layout(self) -> Layout:
        return Layout.UPSTREAM if self is Form.UPSTREAM else Layout.SCOPED


class Workshop:
    """One compiler, one folder; header and sources are written again for each keep set."""

    def __init__(self, compiler: str, folder: Path, processes: ProcessRunner) -> None:
        self.compiler = compiler
        self.folder = folder
        self.processes = processes

    def write(self, kept: KeepSet, form: Form) -> None:
        sources = {path.name: path.read_text(encoding="utf-8") for path in SOURCES.iterdir()}
        own = scopes(sources.values()) if form is Form.OWN_FILES else Scopes()
        header = render(kept, layout=form.layout, elemwise_modes=(), scopes=own)
        texts = {f"include/{name}": text for name, text in header.files}
        for name, text in sources.items():
            texts[f"src/{name}"] = rewritten(text, own)
        # What another form left would be found.
        shutil.rmtree(self.folder / "include", ignore_errors=True)
        for name, text in texts.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def compile(self, unit: str, *flags: str) -> Path:
        """Return the object of one source file; a warning is an error."""
        out = self.folder / f"{unit}.o"
        strict = ("-Wall", "-Wextra", "-Werror", "-c", "-o", str(out))
        self.expect(*self.front(unit), *strict, *flags)
        return out

    def preprocess(self, unit: str) -> str:
        return self.expect(*self.front(unit), "-E").stdout

    def link(self, *flags: str) -> Path:
        program = self.folder / "program"
        objects = [str(self.compile(unit, *flags)) for unit in UNITS]
        self.expect(self.compiler, *objects, "-o", str(program))
        return program

    def expect(self, *argv: str) -> CompletedCommand:
        outcome = self.run(*argv)
        assert outcome.rc == 0, outcome.stderr
        return outcome

    def run(self, *argv: str) -> CompletedCommand:
        return self.processes.run(Command(argv=argv, timeout_s=60))

    def front(self, unit: str) -> tuple[str, ...]:
        include = self.folder / "include"
        return (
            self.compiler,
            str(self.folder / f"src/{unit}.cpp"),
            # The generated folder comes first for quoted names, the engine's own after it.
            "-I",
            str(SAMPLE_MIDOUT),
            "-iquote",
            str(include),
            "-include",
            str(include / "bin_reduce.h"),
        )


@pytest.fixture(params=COMPILERS)
def workshop(
    request: pytest.FixtureRequest, tmp_path: Path, processes: ProcessRunner
) -> Iterator[Workshop]:
    yield Workshop(request.param, tmp_path, processes)


SETTINGS = [
    *product((Form.OWN_FILES, Form.SCOPED), ("c++14", "c++17"), ("-O0", "-O2")),
    # The sample engine's own midout.h is C++17.
    *((Form.UPSTREAM, "c++17", level) for level in ("-O0", "-O2")),
]


@pytest.mark.parametrize(("form", "std", "level"), SETTINGS)
def test_kept_regions_run_and_others_trap(
    form: Form, std: str, level: str, workshop: Workshop
) -> None:
    workshop.write(keep(KEPT), form)
    program = str(workshop.link(f"-std={std}", level))

    runs = {case: workshop.run(program, case) for case in REGIONS}
    assert {case: run.stdout for case, run in runs.items()} == {
        case: f"ran {case}\n" if case in KEPT else "" for case in REGIONS
    }
    assert {case for case, run in runs.items() if run.rc == 0} == KEPT
    assert {
        case for case, run in runs.items() if run.rc in TRAPPED.values()
    } == REGIONS.keys() - KEPT


@pytest.mark.parametrize("form", Form)
def test_no_byte_of_a_dropped_body_stays(form: Form, workshop: Workshop) -> None:
    workshop.write(keep(KEPT), form)
    held = b"".join(workshop.compile(unit, "-std=c++17", "-O2").read_bytes() for unit in UNITS)

    assert {case for case in REGIONS if f"ran {case}\0".encode() in held} == KEPT


def test_all_forms_compile_to_the_same(workshop: Workshop) -> None:
    """Byte for byte: the form decides what is compiled again, never what is shipped."""
    objects = []
    for form in Form:
        workshop.write(keep(KEPT), form)
        built = [workshop.compile(unit, "-std=c++17", "-O2") for unit in UNITS]
        objects.append([path.read_bytes() for path in built])

    assert objects[0] == objects[1] == objects[2]


@pytest.mark.parametrize("form", (Form.OWN_FILES, Form.SCOPED))
@pytest.mark.parametrize(
    ("added", "changed"),
    [
        ([REGIONS["typed-inner-conv"]], {"first"}),
        ([REGIONS["dependent-float-1"]], {"first"}),
        ([REGIONS["lonely"]], {"second"}),
        ([REGIONS["named-sgemm"]], {"second"}),
        ([REGIONS["shared-2"]], {"first", "second"}),
        ([f"another_{number}<{number}, elsewhere::Unknown>" for number in range(40)], set()),
    ],
)
def test_only_files_of_the_changed_tag_change(
    added: list[str], changed: set[str], form: Form, workshop: Workshop
) -> None:
    texts = []
    for kept in (keep(KEPT), keep(KEPT, *added)):
        workshop.write(kept, form)
        texts.append({unit: workshop.preprocess(unit) for unit in UNITS})
    before, after = texts

    assert {unit for unit in UNITS if before[unit] != after[unit]} == changed


@pytest.mark.parametrize(
    ("unit", "tags"),
    [
        ("first", {"shared", "typed", "dependent"}),
        ("second", {"shared", "bare", "lonely", "eight", "named"}),
    ],
)
def test_a_file_opens_the_files_of_its_own_tags(
    unit: str, tags: set[str], workshop: Workshop
) -> None:
    """The compiler's own record of them, by which a build tool goes; kept or not."""
    workshop.write(keep(KEPT), Form.OWN_FILES)
    record = workshop.expect(*workshop.front(unit), "-M").stdout.replace("\\\n", " ").split()

    assert {Path(file).stem for file in record if "/megtrim/tags/" in file} == tags


def test_a_tag_with_a_file_of_its_own_cannot_be_declared_otherwise(workshop: Workshop) -> None:
    """By a macro that no text shows, say: it would see none of its regions, and all would trap."""
    workshop.write(keep(KEPT), Form.OWN_FILES)
    hidden = workshop.folder / "src/hidden.cpp"
    hidden.write_text('#include "midout.h"\nMIDOUT_DECL(typed)\n', encoding="utf-8")
    other = workshop.folder / "src/other.cpp"
    other.write_text('#include "midout.h"\nMIDOUT_DECL(unheard_of)\n', encoding="utf-8")

    with pytest.raises(AssertionError, match=r"alone on a line; `trim\.layout: upstream` takes"):
        workshop.compile("hidden", "-std=c++14")
    assert workshop.compile("other", "-std=c++14").exists()


def test_the_forced_header_holds_macros_only(workshop: Workshop) -> None:
    unit = workshop.folder / "plain.cpp"
    unit.write_text("int answer() { return 42; }\n", encoding="utf-8")
    workshop.write(keep(KEPT), Form.OWN_FILES)
    header = str(workshop.folder / "include" / "bin_reduce.h")
    command = (workshop.compiler, "-E", "-P", str(unit))

    alone = workshop.expect(*command).stdout
    assert workshop.expect(*command, "-include", header).stdout == alone


def test_a_kept_class_must_only_be_declared(workshop: Workshop) -> None:
    """The class of a kept region may be incomplete, and a misspelt one does not compile."""
    kept = keep(KEPT)
    record = replace(kept.scenarios[0], regions=(Region.parse("typed<engine::Nowhere>"),))
    workshop.write(replace(kept, scenarios=(record,)), Form.OWN_FILES)

    with pytest.raises(AssertionError, match="Nowhere"):
        workshop.compile("first", "-std=c++14")
    assert workshop.compile("second", "-std=c++14").exists()
