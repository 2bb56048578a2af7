from __future__ import annotations

import pytest

from megtrim.build.engines.megengine.generations import GENERATIONS
from megtrim.build.engines.megengine.quirks import MEGENGINE, Quirk, options
from megtrim.build_spec import Variant


def test_rows_are_whole_and_their_names_unique() -> None:
    names = [quirk.name for quirk in MEGENGINE]

    assert len(names) == len(set(names))
    assert all(quirk.wrong and quirk.seen and quirk.options for quirk in MEGENGINE)
    given = [name for quirk in MEGENGINE for name, _ in quirk.options]
    assert len(given) == len(set(given))


@pytest.mark.parametrize(
    ("toolchains", "generations", "variants", "applies"),
    [
        ((), (), (), True),
        (("zig", "host"), (), (), True),
        (("zig",), (), (), False),
        ((), (), (Variant.REDUCED,), True),
        ((), (), (Variant.PLAIN, Variant.PROFILE), False),
        (("host",), ("lite", "sdk"), (Variant.REDUCED,), True),
        (("host",), (), (Variant.PLAIN,), False),
        (("zig",), (), (Variant.REDUCED,), False),
        ((), ("sdk",), (), True),
        ((), ("lite",), (), False),
    ],
)
def test_where_a_quirk_applies(
    toolchains: tuple[str, ...],
    generations: tuple[str, ...],
    variants: tuple[Variant, ...],
    applies: bool,
) -> None:
    quirk = Quirk(
        name="x",
        toolchains=toolchains,
        generations=generations,
        variants=variants,
        wrong="w",
        seen="s",
        options=(),
    )

    assert quirk.applies("host", Variant.REDUCED, "sdk") == applies


def test_rows_name_generations_that_there_are() -> None:
    known = {generation.name for generation in GENERATIONS}

    assert all(set(quirk.generations) <= known for quirk in MEGENGINE)


def test_options_come_in_the_order_of_the_table() -> None:
    table = (
        Quirk(name="a", wrong="", seen="", options=(("A", "1"), ("B", "2"))),
        Quirk(name="b", toolchains=("zig",), wrong="", seen="", options=(("C", "3"),)),
        Quirk(name="c", wrong="", seen="", options=(("D", "4"),)),
    )

    assert options(table, "host", Variant.PLAIN, "sdk") == (("A", "1"), ("B", "2"), ("D", "4"))
    assert options((), "host", Variant.PLAIN, "sdk") == ()


@pytest.mark.parametrize("variant", Variant)
def test_what_every_build_of_the_engine_is_shown(variant: Variant) -> None:
    common = (("MGE_WITH_JIT", "OFF"), ("CMAKE_POLICY_VERSION_MINIMUM", "3.5"))
    linker = (("CXX_SUPPORT_GOLD", "OFF"), ("LINKER_SUPPORT_Z_NOCOPYRELOC_ICF_SAFE_NO_LLD", "OFF"))

    for generation in ("sdk", "lite", "lite-traced"):
        assert options(MEGENGINE, "zig", variant, generation) == common
    for generation in ("lite", "lite-traced"):
        reported = options(MEGENGINE, "clang-linux-arm64", variant, generation)
        assert reported == (*linker, *common)
    assert options(MEGENGINE, "clang-linux-arm64", variant, "sdk") == (linker[0], *common)
