"""What trimming to one model takes off the sample engine's own objects, by the linker's own map."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from integration.sample_builds import build, run
from megtrim.functions.link_map import read_map
from megtrim.models.operators import merge, parse_operator_json
from megtrim.regions.header import Layout, render
from megtrim.regions.keepset import build_keep_set
from megtrim.regions.trace import parse_trace
from megtrim.size.attribution import NameSources
from megtrim.size.breakdown import View, break_down
from support.scenario_records import make_record
from unit.sample_engine.engine_scripts import ENGINE

pytestmark = pytest.mark.clang

MODEL = "tiny-vgg"
"""The one of the three that loses least."""


@pytest.fixture(scope="module")
def header(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The header for one scenario of one model, everything in one file."""
    folder = tmp_path_factory.mktemp("sample-profile")
    program = build(ENGINE, folder, MGE_WITH_MIDOUT_PROFILE="ON")
    model, trace = ENGINE / f"models/{MODEL}.sample", folder / "trace"
    ended = run(str(program), str(model), "--cpu", env={"MIDOUT_OUTPUT": str(trace)})
    assert ended.ok, ended.stderr
    regions = parse_trace(trace.read_bytes(), source="trace").regions
    record = make_record(regions, scenario=f"{MODEL}/default@any")
    (needs,) = parse_operator_json(Path(f"{model}.json").read_bytes(), source="json")
    modes = [
        (line.split()[0], int(line.split()[1]))
        for line in (ENGINE / "src/elemwise_modes.txt").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]
    keep = build_keep_set(20220507, [record], merge([(MODEL, needs)]))
    ((_, text),) = render(keep, layout=Layout.UPSTREAM, elemwise_modes=modes).files
    return text


def _own_bytes(folder: Path, header: str) -> int:
    """Build with Debian's clang and lld; return what the engine's own objects are in the file."""
    source = folder / "source"
    for name in ("src", "cmake"):
        shutil.copytree(ENGINE / name, source / name)
    shutil.copy(ENGINE / "CMakeLists.txt", source)
    if header:
        (source / "src/bin_reduce_cmake.h").write_text(header, encoding="utf-8")
    target = "--target=aarch64-linux-gnu"
    program = build(
        source,
        folder / "build",
        CMAKE_SYSTEM_NAME="Linux",
        CMAKE_SYSTEM_PROCESSOR="aarch64",
        CMAKE_CXX_COMPILER="clang++-14",
        CMAKE_CXX_FLAGS=target,
        CMAKE_EXE_LINKER_FLAGS=f"{target} -fuse-ld=/usr/bin/ld.lld-14 -Wl,-Map=link.map",
    )
    names = NameSources(origins=read_map(folder / "build/link.map"))
    sources = break_down(program.read_bytes(), names, source="program").totals(View.SOURCE)
    assert any(source.startswith("/usr/") for source, _ in sources), "the compiler has some, too"
    return sum(size for source, size in sources if "CMakeFiles/load_and_run.dir/" in source)


def test_one_model_needs_less_than_two_fifths(tmp_path: Path, header: str) -> None:
    """With the same flags, the engine's own objects lose at least 60% of their bytes."""
    plain = _own_bytes(tmp_path / "plain", "")
    reduced = _own_bytes(tmp_path / "reduced", header)
    assert plain > 150_000
    assert reduced <= 0.4 * plain
