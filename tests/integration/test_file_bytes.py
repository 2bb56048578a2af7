"""What each byte is of files by real compilers, and what keeps it there.

Next to what readelf, nm and strip say. What keeps what in a trim: test_functions.py.
"""

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from megtrim.core.functions.link_map import read_map
from megtrim.core.size.attribution import Attribution, NameSources, Piece, attribute
from megtrim.core.size.breakdown import break_down
from megtrim.core.size.references.linked_file import LinkedFile, read_graph
from megtrim.libs.elf.sections import Purpose
from megtrim.libs.util.process import Command, ProcessRunner
from unit.core.size.made_graphs import list_targets

_SOURCE = """
extern "C" int printf(const char*, ...);
namespace sample {
static const int table[64] = {1, 2, 3};
int counts[16] = {7};
static int zeros[1024];
template <typename T> __attribute__((noinline)) T twice(T value) { return value + value; }
__attribute__((noinline)) int sum(int n) {
  int all = 0;
  for (int i = 0; i < n; ++i) all += table[i & 63] + counts[i & 15] + zeros[i & 1023];
  return all;
}
struct Part { virtual int value(int n) const { return twice(n); } };
const Part* part() { static const Part only; return &only; }
int run(int n) { return sum(n) + twice(n) + int(twice(1.5 * n)) + part()->value(n); }
}
#ifdef WHOLE
int main(int argc, char**) { printf("%s", "some text"); return sample::run(argc) == 0; }
#endif
"""
_ALONE = ("-nostdlib", "-ffreestanding", "-fno-rtti", "-fno-threadsafe-statics", "-fuse-ld=lld-14")
_ARM64 = ("clang++-14", "--target=aarch64-linux-gnu", *_ALONE)
_ARMV7 = ("clang++-14", "--target=armv7a-linux-gnueabihf", *_ALONE)
_X86 = ("clang++-14", "--target=x86_64-linux-gnu", *_ALONE)
_UNRESOLVED = ("-Wl,--unresolved-symbols=ignore-all",)
_KINDS = {
    "object": ("g++", "-O1", "-c"),
    "sections": ("g++", "-O1", "-c", "-ffunction-sections", "-fdata-sections"),
    "pie": ("g++", "-O2", "-DWHOLE"),
    "fixed": ("g++", "-O2", "-DWHOLE", "-no-pie"),
    "static": ("g++", "-O2", "-DWHOLE", "-static"),
    "shared": ("g++", "-O2", "-shared", "-fPIC"),
    "lto": ("g++", "-O2", "-DWHOLE", "-flto"),
    "debug": ("g++", "-O0", "-g", "-DWHOLE"),
    "stripped": ("g++", "-O2", "-DWHOLE", "-s"),
}
_CLANG_KINDS = {
    "arm64 shared": (*_ARM64, "-O2", "-shared", "-fPIC", *_UNRESOLVED),
    "arm64 fixed": (*_ARM64, "-O2", "-static", "-Wl,-e,0", *_UNRESOLVED),
    "arm64 packed": (*_ARM64, "-shared", "-fPIC", "-Wl,--pack-dyn-relocs=relr", *_UNRESOLVED),
    "arm64 android": (*_ARM64, "-shared", "-fPIC", "-Wl,--pack-dyn-relocs=android", *_UNRESOLVED),
    "armv7 object": (*_ARMV7, "-O2", "-c"),
    "armv7 shared": (*_ARMV7, "-O2", "-shared", "-fPIC", "-mthumb", *_UNRESOLVED),
    "x86-64 folded": (*_X86, "-O2", "-shared", "-fPIC", "-Wl,--icf=all", *_UNRESOLVED),
}
_FLAGS = _KINDS | _CLANG_KINDS
_EVERY_KIND = (
    *(pytest.param(each, marks=pytest.mark.chain) for each in _KINDS),
    *(pytest.param(each, marks=pytest.mark.clang) for each in _CLANG_KINDS),
)
_SECTION = re.compile(
    r"^ +\[ *\d+\] (?P<name>\S+) +(?P<kind>[A-Z]\S+) +[0-9a-f]+ [0-9a-f]+ (?P<size>[0-9a-f]+) ",
    re.MULTILINE,
)
_OF_ONE_PART = re.compile(r"^((?:\.rela?)?\.(?:text|rodata|data(?:\.rel\.ro)?|bss|ARM\.exidx))\..*")
_SYMBOL = re.compile(
    r"^[0-9a-f]+ (?P<size>[0-9a-f]+) [tTwW] (?P<name>_ZNK?6sample\S+)$", re.MULTILINE
)


def _call(*argv: str) -> str:
    done = ProcessRunner(os.environ).run(Command(argv=argv, timeout_s=120))
    assert done.ok, done.stderr
    return done.stdout


def _make(folder: Path, kind: str, *more: str) -> Path:
    source = folder / "part.cpp"
    made = folder / "made"
    source.write_text(_SOURCE, encoding="utf-8")
    _call(*_FLAGS[kind], *more, "-o", str(made), str(source))
    return made


def _attribute(path: Path, names: NameSources | None = None) -> Attribution:
    return attribute(path.read_bytes(), names or NameSources(), source=str(path))


def _code(found: Attribution) -> dict[Piece, int]:
    return {piece: size for piece, size in found.pieces.items() if piece.section == ".text"}


@pytest.mark.parametrize("kind", _EVERY_KIND)
def test_sections_are_those_of_readelf(kind: str, tmp_path: Path) -> None:
    made = _make(tmp_path, kind)
    expected: Counter[str] = Counter()
    for row in _SECTION.finditer(_call("readelf", "-SW", str(made))):
        if row["kind"] != "NOBITS" and int(row["size"], 16):
            name = _OF_ONE_PART.sub(r"\1", row["name"]) if "-c" in _FLAGS[kind] else row["name"]
            expected[name] += int(row["size"], 16)

    totals = Counter[str]()
    for piece, size in _attribute(made).pieces.items():
        totals[piece.section] += size

    assert sum(totals.values()) == made.stat().st_size
    assert {name: size for name, size in totals.items() if not name.startswith("[")} == expected
    assert totals["[no section]"] == 0


@pytest.mark.parametrize("kind", [each for each in _EVERY_KIND if "stripped" not in each.values])
def test_functions_are_those_of_nm(kind: str, tmp_path: Path) -> None:
    made = _make(tmp_path, kind)
    expected = {
        row["name"]: int(row["size"], 16)
        for row in _SYMBOL.finditer(_call("nm", "-S", "--defined-only", str(made)))
    }

    found = {
        piece.symbol: size
        for piece, size in _attribute(made).pieces.items()
        if piece.purpose is Purpose.CODE and piece.symbol.startswith(("_ZN6sample", "_ZNK6sample"))
    }

    assert len(expected) >= 3
    assert found.items() <= expected.items()
    assert found == expected or "folded" in kind


@pytest.mark.chain
@pytest.mark.parametrize("kind", ["pie", "fixed", "static", "shared", "lto", "debug"])
def test_a_stripped_file_has_the_size_that_was_predicted(kind: str, tmp_path: Path) -> None:
    """Up to names of sections, and alignment; its twin names its symbols."""
    made = _make(tmp_path, kind)
    stripped = tmp_path / "stripped"
    _call("strip", "-o", str(stripped), str(made))
    names = NameSources(twin=made.read_bytes(), twin_source="made")

    sizes = break_down(made.read_bytes(), NameSources(), source="made", deflate=True).sizes

    assert abs(sizes.stripped_bytes - stripped.stat().st_size) <= 256
    assert 0 < (sizes.deflated_bytes or 0) < sizes.stripped_bytes
    assert _code(_attribute(made)) == _code(_attribute(stripped, names))


@pytest.mark.chain
def test_a_map_names_nearly_all_code(tmp_path: Path) -> None:
    written = tmp_path / "map"
    made = _make(tmp_path, "static", f"-Wl,-Map={written}")

    code = _code(_attribute(made, NameSources(origins=read_map(written))))

    nameless = sum(
        size
        for piece, size in code.items()
        if not piece.symbol and not piece.source and piece.purpose is Purpose.CODE
    )
    assert nameless <= 0.005 * sum(code.values())
    assert any(piece.source.endswith("libc.a(printf.o)") for piece in code)


@pytest.mark.chain
def test_members_of_an_archive_are_sources(tmp_path: Path) -> None:
    made = _make(tmp_path, "object")
    archive = tmp_path / "lib.a"
    long = tmp_path / "a_name_of_more_than_sixteen_characters.o"
    long.write_bytes(made.read_bytes())
    _call("ar", "rcs", str(archive), str(made), str(long))

    pieces = _attribute(archive).pieces

    code = Counter[str]()
    for piece, size in pieces.items():
        code[piece.source] += size if piece.purpose is Purpose.CODE else 0
    assert sum(pieces.values()) == archive.stat().st_size
    assert code["made"] == code[long.name] > 0


_CHAINED = """
extern "C" int puts(const char*);
namespace sample {
struct Part { virtual int value(int n) const { return n; } virtual ~Part() {} };
int used(int n) { puts("a message"); if (n > 9) throw n; return n; }
__attribute__((used, retain)) int unused(int n) { return used(n) + 1; }
const Part* part() { static const Part only; return &only; }
int run(int n) { try { return used(n) + part()->value(n); } catch (int) { return 1; } }
static int registered = used(0);
}
int main(int argc, char**) { return sample::run(argc); }
"""
_SPLIT = ("-O1", "-ffunction-sections", "-fdata-sections", "-fno-inline", "-Wl,--gc-sections")
_EMIT = "-Wl,--emit-relocs"
_COMPILERS = {
    "g++": ("g++",),
    "g++ fixed": ("g++", "-no-pie"),
    "clang": ("clang++-14", "-fuse-ld=lld-14"),
    "arm64": ("clang++-14", "--target=aarch64-linux-gnu", "-fuse-ld=lld-14"),
    "armv7": ("clang++-14", "--target=armv7a-linux-gnueabihf", "-mthumb", "-fuse-ld=lld-14"),
}
_CHAIN_KINDS = [
    pytest.param(kind, marks=pytest.mark.chain if kind.startswith("g++") else pytest.mark.clang)
    for kind in _COMPILERS
]


def _link(folder: Path, kind: str, *more: str) -> LinkedFile:
    source = folder / "part.cpp"
    made = folder / "made"
    listed = folder / "made.map"
    source.write_text(_CHAINED, encoding="utf-8")
    argv = (*_COMPILERS[kind], *_SPLIT, *more, f"-Wl,-Map={listed}", "-o", str(made), str(source))
    _call(*argv)
    return read_graph(made.read_bytes(), read_map(listed), source=str(made))


def _chain(found: LinkedFile, name: str) -> list[str]:
    graph = found.graph
    chain = graph.chain(graph.roots, graph.by_name[name])
    return [graph.parts[each].name for each in chain]


@pytest.mark.parametrize("kind", _CHAIN_KINDS)
def test_the_linkers_relocations_show_the_chain(kind: str, tmp_path: Path) -> None:
    found = _link(tmp_path, kind, _EMIT)

    assert found.exact
    assert _chain(found, "_ZN6sample3runEi")[-2:] == ["main", "_ZN6sample3runEi"]
    assert _chain(found, "_ZNK6sample4Part5valueEi")[-2] == "_ZTVN6sample4PartE"
    message = next(
        number
        for number in list_targets(found.graph, found.graph.by_name["_ZN6sample4usedEi"])
        if found.graph.parts[number].section.startswith(".rodata")
    )
    assert found.graph.parts[message].size_bytes >= len("a message")


@pytest.mark.parametrize("kind", _CHAIN_KINDS[:-1])
def test_code_shows_nearly_the_same(kind: str, tmp_path: Path) -> None:
    exact = _link(tmp_path, kind, _EMIT).graph
    found = _link(tmp_path, kind)

    assert not found.exact
    for name in ("main", "_ZN6sample3runEi", "_ZN6sample4usedEi"):
        called, seen = (
            {
                each
                for number in list_targets(graph, graph.by_name[name])
                for each in graph.parts[number].names
                if each.startswith("_ZN6sample")
            }
            for graph in (exact, found.graph)
        )
        assert called <= seen
