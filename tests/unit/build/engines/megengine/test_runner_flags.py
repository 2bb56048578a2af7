"""The flags of one tree's program, read from its sources."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from megtrim.build.engines import checkout
from megtrim.build.engines.megengine.engine import _parse_comparisons, _parse_gflags, narrow_dialect
from megtrim.load_and_run.dialects import LITE, SDK, Dialect
from megtrim.util.process import ProcessRunner
from unit.build.engines.support import write

SDK_PROGRAM, LITE_PROGRAM = "sdk/load-and-run/", "lite/load_and_run/"
OLD_SOURCE = """\
void parse() {
        if (!strcmp(argv[i], "--cpu")) {
            continue;
        }
        if (!strcmp(argv[i], "--iter")) {
            ++ i;
            continue;
        }
#define cb(_layout) if (!strcmp(argv[i], "--enable-" #_layout)) { continue; }
        cb(nchw44);
        cb(nchw88);
        if (!strcmp(argv[i], "--own-value")) {
            ++i;
            if (!strcmp(argv[i], "cuda")) { }
            continue;
        }
        if (!strcmp(argv[i],
                    "--own-switch")) {
            continue;
        }
        if (strncmp(argv[i], "--", 2)) { }
}
"""
NEW_SOURCE = """\
DEFINE_bool(cpu, false, "x");
DEFINE_bool(
        own_switch, false, "x");
DEFINE_string(input, "", "x");
DEFINE_int32(iter, 10, "x"); DEFINE_uint64(workspace_limit, 1, "x");
DEFINE_double( own_value, 1, "x");
DECLARE_bool(elsewhere); // UNDEFINE_bool(no)
"""


def of_tree(
    processes: ProcessRunner, root: Path, files: Mapping[str, str], dialect: Dialect, program: str
) -> Dialect:
    return narrow_dialect(dialect, checkout.take(write(root, files), processes), program)


def test_the_older_programs_flags(processes: ProcessRunner, tmp_path: Path) -> None:
    """Compared one by one; the layouts come from a macro."""
    files = {"sdk/load-and-run/src/mgblar.cpp": OLD_SOURCE, "sdk/load-and-run/main.cpp": "main"}
    found = of_tree(processes, tmp_path, files, SDK, SDK_PROGRAM)

    assert found.switches == {"cpu", "enable_nchw44", "enable_nchw88", "own_switch"}
    assert found.values == {"iter", "own_value"}
    assert found.literal
    assert not found.knows("winograd_transform")


def test_the_newer_programs_flags(processes: ProcessRunner, tmp_path: Path) -> None:
    """As gflags learns of them, and gflags' own."""
    files = {"lite/load_and_run/src/options/a.cpp": NEW_SOURCE}
    found = of_tree(processes, tmp_path, files, LITE, LITE_PROGRAM)

    assert found.switches - {"help", "helpfull", "helpshort", "version"} == {"cpu", "own_switch"}
    assert found.values == {"input", "iter", "workspace_limit", "own_value"}


def test_a_tree_that_shows_none_keeps_the_list(processes: ProcessRunner, tmp_path: Path) -> None:
    """Only the program's own C++ is looked at, and no link is followed."""
    files = {
        "lite/src/a.cpp": NEW_SOURCE,
        "lite/load_and_run/README.md": NEW_SOURCE,
        "lite/load_and_run/src/main.cpp": "int main;\n",
    }
    write(tmp_path, files)
    (tmp_path / "lite/load_and_run/src/linked.cpp").symlink_to(tmp_path / "lite/src/a.cpp")

    assert of_tree(processes, tmp_path, {}, LITE, LITE_PROGRAM) is LITE
    assert of_tree(processes, tmp_path, {}, SDK, SDK_PROGRAM) is SDK


@given(st.text(max_size=60) | st.lists(st.sampled_from(OLD_SOURCE.split("\n"))).map("\n".join))
def test_any_source_is_read(text: str) -> None:
    """Names are what gflags would call identifiers."""
    for name, _ in (*_parse_comparisons(text), *_parse_gflags(text)):
        assert name.isidentifier() or name[0].isdigit()
