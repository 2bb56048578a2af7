"""Values that describe a build."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.build_spec import BuildSpec, Toolchain, Variant
from megtrim.errors import InputError

SPEC = BuildSpec(
    variant=Variant.REDUCED,
    targets=("load_and_run",),
    options=(("A", "1"), ("B", "OFF")),
    forced_header="megtrim/reduce.h",
    header_option="HEADER",
)


def test_what_enters_a_key() -> None:
    """Another version or another flag is another build; where the compiler lies is not."""
    found = Toolchain(
        kind="k",
        target="t",
        machine="m",
        version="v",
        c_compiler=("/somewhere/cc",),
        cxx_compiler=("/somewhere/c++",),
        compile_flags=("-a", "-b"),
        link_flags=("-s",),
    )

    assert found.identity() == {
        "kind": "k",
        "target": "t",
        "version": "v",
        "compile flags": "-a -b",
        "link flags": "-s",
    }


def test_further_options_override_the_specs_own() -> None:
    """Truth and numbers are written as CMake does."""
    spec = SPEC.with_options({"B": True, "C": 3, "D": False, "E": "text"})

    assert spec.options == (("A", "1"), ("B", "ON"), ("C", "3"), ("D", "OFF"), ("E", "text"))
    assert SPEC.options == (("A", "1"), ("B", "OFF"))


def test_the_headers_entry_is_its_path_in_the_tree() -> None:
    """A path that the engine would split is refused."""
    assert SPEC.header_entry(Path("/out/src")) == (("HEADER", "/out/src/megtrim/reduce.h"),)
    with pytest.raises(InputError, match="has blanks"):
        SPEC.header_entry(Path("/my out/src"))


@pytest.mark.parametrize(("header", "option"), [(None, "HEADER"), ("a.h", "")])
def test_an_engine_that_knows_the_path_needs_no_entry(header: str | None, option: str) -> None:
    """Nor does a build without a header."""
    spec = BuildSpec(
        variant=Variant.PLAIN, targets=(), options=(), forced_header=header, header_option=option
    )

    assert spec.header_entry(Path("/my out/src")) == ()


def test_further_options_win() -> None:
    """Over the engine's own, as CMake spells them."""
    begin = BuildSpec(variant=Variant.PLAIN, targets=(), options=(("A", "1"), ("B", "ON")))

    made = begin.with_options({"B": False, "C": True, "D": 3, "E": "x"})

    assert made.options == (("A", "1"), ("B", "OFF"), ("C", "ON"), ("D", "3"), ("E", "x"))
