"""MegEngine: what makes a folder one, and what its variants are made from.

The trees here have the layout's names only.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.build.engines.megengine.engine import MegEngine
from megtrim.build_spec import Variant
from megtrim.util.process import ProcessRunner
from unit.build.engines.megengine_trees import NEWEST as MEGENGINE
from unit.build.engines.support import BUILT, SCOPED, make_spec, repository, write

MODES_SCRIPT = """\
import sys
option, what, source, output = sys.argv[1:]
assert (option, what) == ("--write-enum-items", "Elemwise:Mode")
open(output, "w").write(open(source).read())
"""


def test_a_complete_checkout_is_taken(processes: ProcessRunner, tmp_path: Path) -> None:
    """And known by its content."""
    engine = MegEngine(repository(processes, tmp_path, MEGENGINE), processes)
    (tmp_path / "new.cpp").touch()
    changed = MegEngine(tmp_path, processes)

    identity = engine.identity()
    assert (identity.kind, identity.generation) == ("megengine", 20220507)
    assert identity.digest == engine.checkout.digest
    assert len(identity.commit) == 40
    assert identity.dirty == ()
    assert changed.identity().dirty == ("new.cpp",)


def test_the_variants_of_megengine(processes: ProcessRunner, tmp_path: Path) -> None:
    """They differ in profiling, in the minimum size, and in the header; in nothing else."""
    engine = MegEngine(write(tmp_path, MEGENGINE), processes)
    plain, profile = (make_spec(engine, each) for each in (Variant.PLAIN, Variant.PROFILE))
    reduced = make_spec(engine, Variant.REDUCED, header=SCOPED)

    assert ("MGE_INFERENCE_ONLY", "ON") in plain.options
    assert ("MGE_WITH_JIT", "OFF") in plain.options
    assert set(profile.options) - set(plain.options) == {("MGE_WITH_MIDOUT_PROFILE", "ON")}
    assert set(reduced.options) - set(plain.options) == {("MGE_WITH_MINIMUM_SIZE", "ON")}
    assert (plain.overrides, plain.include, plain.forced_header) == ((), (), None)
    assert reduced.overrides == (("src/bin_reduce_cmake.h", "forced\n"),)
    assert reduced.include == (("midout.h", "regions\n"),)
    assert reduced.forced_header == "src/bin_reduce_cmake.h"
    assert reduced.targets == ("load_and_run",)
    whole = make_spec(engine, Variant.REDUCED, header=SCOPED, minimum_size=False)
    assert dict(whole.options)["MGE_WITH_MINIMUM_SIZE"] == "OFF"


@pytest.mark.parametrize(
    ("schemas", "formats"),
    [
        ({"schema.fbs": "mgb1"}, ("mge v1",)),
        ({"schema.fbs": "mgb1", "schema_v2.fbs": "mgv2"}, ("mge v1", "mge v2")),
        ({"schema.fbs": "mgb1", "schema_v2.fbs": "ours"}, ()),
        ({}, ()),
    ],
)
def test_the_tree_says_which_models_it_reads(
    processes: ProcessRunner, tmp_path: Path, schemas: dict[str, str], formats: tuple[str, ...]
) -> None:
    """Nothing is known of a fork that reads models of its own."""
    texts = {
        f"src/serialization/impl/{name}": f'namespace mgb;\n\nfile_identifier "{identifier}";\n'
        for name, identifier in schemas.items()
    }
    others = {path: text for path, text in MEGENGINE.items() if not path.endswith(".fbs")}
    engine = MegEngine(write(tmp_path, {**others, **texts}), processes)

    assert engine.formats() == formats


def test_the_linker_folds_only_where_it_can(processes: ProcessRunner, tmp_path: Path) -> None:
    """As the documented sizes were linked; all variants alike."""
    engine = MegEngine(write(tmp_path, MEGENGINE), processes)

    for variant in BUILT:
        flags = make_spec(engine, variant, toolchain="clang-linux-arm64").link_flags
        assert flags == ("-Wl,-z,nocopyreloc", "-Wl,--icf=all")
        assert make_spec(engine, variant, toolchain="zig").link_flags == ()


def test_the_upstream_layout_has_one_file(processes: ProcessRunner, tmp_path: Path) -> None:
    """The engine's own midout.h is used there."""
    engine = MegEngine(write(tmp_path, MEGENGINE), processes)
    reduced = make_spec(engine, Variant.REDUCED, header={"bin_reduce.h": "all\n"})

    assert reduced.overrides == (("src/bin_reduce_cmake.h", "all\n"),)
    assert reduced.include == ()
    assert reduced.forced_header == "src/bin_reduce_cmake.h"


def test_elementwise_modes_come_from_the_engines_own_script(
    processes: ProcessRunner, tmp_path: Path
) -> None:
    """Which is run, and leaves nothing in the checkout."""
    modes = {
        "dnn/scripts/gen_param_defs.py": MODES_SCRIPT,
        "dnn/scripts/opr_param_defs.py": "RELU = 0,\nFUSE_MUL_ADD3=36\n\n",
    }
    engine = MegEngine(write(tmp_path, MEGENGINE | modes), processes)

    assert engine.elemwise_modes() == (("RELU", 0), ("FUSE_MUL_ADD3", 36))
    assert sorted(file.name for file in (tmp_path / "dnn/scripts").iterdir()) == [
        *("gen_param_defs.py", "opr_param_defs.py")
    ]


def test_sources_that_may_mark_regions(processes: ProcessRunner, tmp_path: Path) -> None:
    """C++ of the engine itself: no tests, no libraries."""
    engine = MegEngine(write(tmp_path, MEGENGINE), processes)
    assert dict(engine.texts()) == {
        "src/bin_reduce_cmake.h": "",
        "lite/load_and_run/main.cpp": "MIDOUT_BEGIN\n",
        "dnn/src/kernel.cpp": "K\n",
        "dnn/src/common/elemwise/opr_impl.cpp": "MIDOUT_DECL(megdnn_common_elemwise_mode)\n",
    }
