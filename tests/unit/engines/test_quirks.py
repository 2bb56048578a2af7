"""Known quirks: rows of a table that say where they apply and how it is known."""

from __future__ import annotations

import pytest

from megtrim.engines.quirks import MEGENGINE, Quirk, options
from megtrim.recipe import Variant


def test_rows_are_whole_and_their_names_unique() -> None:
    """Each says what goes wrong, how that is known, and what megtrim does."""
    names = [quirk.name for quirk in MEGENGINE]

    assert len(names) == len(set(names))
    assert all(quirk.wrong and quirk.seen and quirk.options for quirk in MEGENGINE)
    given = [name for quirk in MEGENGINE for name, _ in quirk.options]
    assert len(given) == len(set(given))


@pytest.mark.parametrize(
    ("toolchains", "variants", "applies"),
    [
        ((), (), True),
        (("zig", "host"), (), True),
        (("zig",), (), False),
        ((), (Variant.REDUCED,), True),
        ((), (Variant.PLAIN, Variant.PROFILE), False),
        (("host",), (Variant.REDUCED,), True),
        (("host",), (Variant.PLAIN,), False),
        (("zig",), (Variant.REDUCED,), False),
    ],
)
def test_where_a_quirk_applies(
    toolchains: tuple[str, ...], variants: tuple[Variant, ...], applies: bool
) -> None:
    """Here to the reduced variant with the toolchain ``host``; an empty field is everywhere."""
    quirk = Quirk(
        name="x", toolchains=toolchains, variants=variants, wrong="w", seen="s", options=()
    )

    assert quirk.applies("host", Variant.REDUCED) == applies


def test_options_come_in_the_order_of_the_table() -> None:
    """From every row that applies, and from no other."""
    table = (
        Quirk(name="a", wrong="", seen="", options=(("A", "1"), ("B", "2"))),
        Quirk(name="b", toolchains=("zig",), wrong="", seen="", options=(("C", "3"),)),
        Quirk(name="c", wrong="", seen="", options=(("D", "4"),)),
    )

    assert options(table, "host", Variant.PLAIN) == (("A", "1"), ("B", "2"), ("D", "4"))
    assert options((), "host", Variant.PLAIN) == ()


@pytest.mark.parametrize("variant", Variant)
def test_what_every_build_of_the_engine_is_told(variant: Variant) -> None:
    """All variants alike, so that they stay comparable; clang's linker needs more."""
    common = (("MGE_WITH_JIT", "OFF"), ("CMAKE_POLICY_VERSION_MINIMUM", "3.5"))
    linker = (("CXX_SUPPORT_GOLD", "OFF"), ("LINKER_SUPPORT_Z_NOCOPYRELOC_ICF_SAFE_NO_LLD", "OFF"))

    assert options(MEGENGINE, "zig", variant) == common
    assert options(MEGENGINE, "clang-linux-arm64", variant) == (*linker, *common)
