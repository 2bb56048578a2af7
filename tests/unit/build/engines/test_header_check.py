"""Proof from a build's own records that what was generated is what got compiled in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from megtrim.build.engines.cmake.build_records import HeaderProof, prove
from megtrim.util.errors import ProductFailure

BUILD = Path("/somewhere/x/build")
HEADER = Path("/somewhere/x/src/src/bin_reduce_cmake.h")
MIDOUT = Path("/somewhere/x/include/midout.h")
INCLUDE = f"-include {HEADER}"


def commands(*units: tuple[str, str]) -> str:
    """CMake's record: each unit's object file and flags."""
    return json.dumps(
        [
            {
                "directory": str(BUILD),
                "command": f'/usr/bin/c++ -DX=\\"a\\" {flags} -o {output} -c /s/{output}.cpp',
                "file": f"/s/{output}.cpp",
                "output": output,
            }
            for output, flags in units
        ]
    )


def dependencies(*units: tuple[str, tuple[str, ...]]) -> str:
    return "".join(
        f"{output}: #deps {len(files)}, deps mtime 1700000000 (VALID)\n"
        + "".join(f"    {file}\n" for file in files)
        + "\n"
        for output, files in units
    )


def check(compiled: str, opened: str, *, midout: Path | None = MIDOUT) -> HeaderProof:
    return prove(compiled, opened, header=HEADER, midout=midout, build=BUILD)


def test_every_unit_has_seen_the_header() -> None:
    compiled = commands(("dir/a.o", INCLUDE), ("b.o", INCLUDE), ("not_built.o", ""))
    opened = dependencies(
        ("dir/a.o", (str(HEADER), "../src/a.cpp", str(MIDOUT))), ("b.o", (str(HEADER),))
    )

    assert check(compiled, opened) == HeaderProof(units=2, with_header=2, with_regions=1)


@pytest.mark.parametrize(
    "spelling",
    [
        "../include/midout.h",
        "./../include/../include/midout.h",
        "/somewhere/x/build/../include/midout.h",
    ],
)
def test_a_compiler_cache_writes_paths_of_its_own(spelling: str) -> None:
    opened = dependencies(("a.o", (spelling,)))

    assert check(commands(("a.o", INCLUDE)), opened).with_regions == 1


def test_a_unit_without_the_header_is_named() -> None:
    """The engine ignores an option that no longer exists without a message."""
    compiled = commands(("a.o", INCLUDE), ("dir/b.o", "-include /other/bin_reduce_cmake.h"))
    opened = dependencies(("a.o", (str(MIDOUT),)), ("dir/b.o", (str(MIDOUT),)))

    with pytest.raises(ProductFailure) as caught:
        check(compiled, opened)

    assert caught.value.message == "1 of 2 translation units do not include the header"
    assert caught.value.hint == f"the first without {HEADER} is {BUILD}/dir/b.o"


@pytest.mark.parametrize("flags", ["", f"-I{HEADER}", f"-include-pch {HEADER}", "-include"])
def test_only_a_forced_header_counts(flags: str) -> None:
    """A header that may be included is not one that was."""
    with pytest.raises(ProductFailure, match="1 of 1 translation units do not include the header"):
        check(commands(("a.o", flags)), dependencies(("a.o", (str(MIDOUT),))))


@pytest.mark.parametrize(
    "stranger", ["/usr/include/midout.h", "../src/third_party/midout/src/midout.h"]
)
def test_another_midout_is_refused(stranger: str) -> None:
    """The engine's own would keep everything, even next to the generated one."""
    opened = dependencies(("a.o", (str(MIDOUT), stranger)), ("b.o", (str(MIDOUT),)))

    with pytest.raises(ProductFailure) as caught:
        check(commands(("a.o", INCLUDE), ("b.o", INCLUDE)), opened)

    assert caught.value.message == (
        "1 translation units opened another midout.h than the generated one"
    )
    assert caught.value.hint == (
        f"the first is {BUILD}/a.o; "
        "was it compiled before that header existed? clear ccache, and use a new --out"
    )


def test_in_the_upstream_layout_the_engine_keeps_its_own_midout() -> None:
    opened = dependencies(("a.o", (str(HEADER), "/e/third_party/midout/src/midout.h")))

    found = check(commands(("a.o", INCLUDE)), opened, midout=None)

    assert found == HeaderProof(units=1, with_header=1, with_regions=1)


def test_a_header_that_no_one_opens_proves_nothing() -> None:
    """The regions stand in it; an engine that marks them otherwise is not trimmed."""
    opened = dependencies(("a.o", (str(HEADER), "/e/src/midout_v2.h")))

    with pytest.raises(ProductFailure, match=r"none of 1 .* opened the generated midout\.h"):
        check(commands(("a.o", INCLUDE)), opened)


@pytest.mark.parametrize("opened", ["", dependencies(("flatc/x.o", ("/x.h",)))])
def test_no_units_are_no_proof(opened: str) -> None:
    """Nothing was compiled, or nothing that CMake knows of."""
    with pytest.raises(
        ProductFailure, match=r"^0 of 0 translation units do not include the header"
    ):
        check(commands(("a.o", INCLUDE)), opened)


def test_a_record_without_a_last_empty_line_is_read_whole() -> None:
    opened = dependencies(("a.o", (str(MIDOUT),)), ("b.o", (str(MIDOUT),))).rstrip("\n")

    found = check(commands(("a.o", INCLUDE), ("b.o", INCLUDE)), opened)

    assert found == HeaderProof(units=2, with_header=2, with_regions=2)


def test_commands_that_name_no_object() -> None:
    """CMake 3.25 says it only in the command itself."""
    entries = json.loads(commands(("dir/a.o", INCLUDE), ("b.o", INCLUDE)))
    compiled = json.dumps([{k: v for k, v in e.items() if k != "output"} for e in entries])
    opened = dependencies(("dir/a.o", (str(HEADER), str(MIDOUT))), ("b.o", (str(HEADER),)))

    assert check(compiled, opened) == HeaderProof(units=2, with_header=2, with_regions=1)
