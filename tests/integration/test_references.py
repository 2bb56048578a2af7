"""What keeps what in programs by real compilers; of a trim: test_functions.py."""

import os
from pathlib import Path

import pytest

from megtrim.functions.link_map import read_map
from megtrim.size.references.linked_file import LinkedFile, read_graph
from megtrim.util.process import Command, ProcessRunner
from unit.size.references.made_graphs import list_targets

_SOURCE = """
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
}
_KINDS = [
    pytest.param(kind, marks=pytest.mark.chain if kind.startswith("g++") else pytest.mark.clang)
    for kind in _COMPILERS
]


def _link(folder: Path, kind: str, *more: str) -> LinkedFile:
    source, made, listed = folder / "part.cpp", folder / "made", folder / "made.map"
    source.write_text(_SOURCE, encoding="utf-8")
    argv = (*_COMPILERS[kind], *_SPLIT, *more, f"-Wl,-Map={listed}", "-o", str(made), str(source))
    done = ProcessRunner(os.environ).run(Command(argv=argv, timeout_s=120))
    assert done.ok, done.stderr
    return read_graph(made.read_bytes(), read_map(listed), source=str(made))


def _chain(found: LinkedFile, name: str) -> list[str]:
    graph = found.graph
    chain = graph.chain(graph.roots, graph.by_name[name])
    return [graph.parts[each].name for each in chain]


@pytest.mark.parametrize("kind", _KINDS)
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


@pytest.mark.parametrize("kind", _KINDS)
def test_code_shows_nearly_the_same(kind: str, tmp_path: Path) -> None:
    exact, found = _link(tmp_path, kind, _EMIT).graph, _link(tmp_path, kind)

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
