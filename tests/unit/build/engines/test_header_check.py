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


BOTH = (("dir/a.o", INCLUDE), ("b.o", INCLUDE))
OPENED = (("dir/a.o", (str(HEADER), "../src/a.cpp", str(MIDOUT))), ("b.o", (str(HEADER),)))


@pytest.mark.parametrize(
    ("compiled", "opened", "midout", "proof"),
    [
        # Units, with the header, with regions. What was not compiled does not count.
        (commands(*BOTH, ("not_built.o", "")), dependencies(*OPENED), MIDOUT, (2, 2, 1)),
        # CMake 3.25 names no object but in the command itself.
        (
            json.dumps(
                [{k: v for k, v in e.items() if k != "output"} for e in json.loads(commands(*BOTH))]
            ),
            dependencies(*OPENED),
            MIDOUT,
            (2, 2, 1),
        ),
        # Without a last empty line.
        (commands(*BOTH), dependencies(*OPENED).rstrip("\n"), MIDOUT, (2, 2, 1)),
        # In the upstream layout the engine keeps its own midout.h.
        (
            commands(("a.o", INCLUDE)),
            dependencies(("a.o", (str(HEADER), "/e/third_party/midout/src/midout.h"))),
            None,
            (1, 1, 1),
        ),
        # A compiler cache writes paths of its own.
        *(
            (commands(("a.o", INCLUDE)), dependencies(("a.o", (spelling,))), MIDOUT, (1, 1, 1))
            for spelling in (
                "../include/midout.h",
                "./../include/../include/midout.h",
                "/somewhere/x/build/../include/midout.h",
            )
        ),
    ],
    ids=["counted", "no objects", "no last line", "upstream", "cache", "dots", "absolute"],
)
def test_every_unit_has_seen_the_header(
    compiled: str, opened: str, midout: Path | None, proof: tuple[int, int, int]
) -> None:
    units, with_header, with_regions = proof
    assert check(compiled, opened, midout=midout) == HeaderProof(
        units=units, with_header=with_header, with_regions=with_regions
    )


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


def test_a_header_that_no_one_opens_proves_nothing() -> None:
    opened = dependencies(("a.o", (str(HEADER), "/e/src/midout_v2.h")))

    with pytest.raises(ProductFailure, match=r"none of 1 .* opened the generated midout\.h"):
        check(commands(("a.o", INCLUDE)), opened)


@pytest.mark.parametrize("opened", ["", dependencies(("flatc/x.o", ("/x.h",)))])
def test_no_units_are_no_proof(opened: str) -> None:
    with pytest.raises(
        ProductFailure, match=r"^0 of 0 translation units do not include the header"
    ):
        check(commands(("a.o", INCLUDE)), opened)
