from __future__ import annotations

import re

import pytest

from megtrim.models.operators import OperatorNeeds
from megtrim.regions.header import (
    ELEMWISE_MODES,
    GRAPH_HASHES,
    MACROS,
    OPERATORS,
    Layout,
    Scopes,
    render,
)
from megtrim.regions.keepset import KeepSet, build_keep_set
from megtrim.regions.region import Region
from megtrim.util.errors import InputError
from support.upstream import Enabled, enabled
from unit.regions.test_keepset import scenario

MODES = (("RELU", 0), ("ADD", 16), ("PLUS", 16), ("ABS", 1))


def needs(**changes: object) -> OperatorNeeds:
    values: dict[str, object] = {
        "hashes": ((7, ("m",)), (2**64 - 1, ("m",))),
        "dtypes": (("Float32", ("m",)),),
        "operators": (("Elemwise", ("m",)), ("MatrixMul", ("m",))),
        "elemwise_modes": (("ABS", ("m",)),),
    }
    return OperatorNeeds(**(values | changes))  # type: ignore[arg-type]


def keep(
    *regions: str, generation: int = 20220507, operators: OperatorNeeds | None = None
) -> KeepSet:
    parsed = [Region.parse(text) for text in regions]
    scenarios = [scenario("m/s@c", *parsed)] if regions else []
    return build_keep_set(generation, scenarios, operators)


def texts(
    kept: KeepSet,
    layout: Layout = Layout.SCOPED,
    scopes: Scopes = Scopes(),  # noqa: B008 - a frozen value
) -> dict[str, str]:
    return dict(render(kept, layout=layout, elemwise_modes=MODES, scopes=scopes).files)


def read(kept: KeepSet, layout: Layout = Layout.SCOPED) -> Enabled:
    return enabled(*texts(kept, layout).values())


@pytest.mark.parametrize("layout", Layout)
def test_all_that_a_header_says(layout: Layout) -> None:
    regions = ("a<1, float>", "megdnn_common_elemwise_mode<16>", "a<x::B<(x::C)3>>")

    assert read(keep(*regions, operators=needs()), layout) == Enabled(
        generation=20220507,
        regions=tuple(sorted(regions)),
        operators=("Elemwise", "MatrixMul"),
        switches=("MEGDNN_DISABLE_FLOAT16", "MEGDNN_DISABLE_FLOT16"),
        modes=("ADD", "PLUS"),
        all_modes=("ABS", "ADD", "PLUS", "RELU"),
        hashes=(7, 2**64 - 1),
    )


def test_a_scoped_header_has_macros_in_one_file_and_regions_in_the_other() -> None:
    files = texts(keep("a<1>", "b<>", operators=needs()))

    assert list(files) == ["bin_reduce.h", "midout.h"]
    assert "a" not in re.findall(r"\w+", files["bin_reduce.h"].replace("do not edit", ""))
    assert "MIDOUT" not in files["bin_reduce.h"]
    assert "#include" not in files["bin_reduce.h"]
    joined = re.sub(r"\\\n", "", files["bin_reduce.h"])
    assert all(line.startswith(("#define ", "//")) for line in joined.splitlines())


def test_regions_of_a_tag_stand_together_after_everything_else() -> None:
    """Only directives follow the contract: they do not show in preprocessed text."""
    contract = texts(keep("b<2>", "a<1, float>", "b<-3>"))["midout.h"]
    table = contract[contract.index("#define MEGTRIM_TAG_") :]

    assert table == (
        "#define MEGTRIM_TAG_a ~, ( \\\n"
        "template <> struct Region<tags::a, std::integral_constant<int, 1>, float>; \\\n"
        ")\n"
        "#define MEGTRIM_TAG_b ~, ( \\\n"
        "template <> struct Region<tags::b, std::integral_constant<int, -3>>; \\\n"
        "template <> struct Region<tags::b, std::integral_constant<int, 2>>; \\\n"
        ")\n"
    )


def test_an_upstream_header_is_one_file() -> None:
    files = texts(keep("a<1>"), Layout.UPSTREAM)

    assert list(files) == ["bin_reduce.h"]
    assert files["bin_reduce.h"].endswith(
        "#define MIDOUT_GENERATED namespace midout { \\\n"
        "namespace tags { \\\n"
        "class a; \\\n"
        "} \\\n"
        "template <> struct Region<tags::a, std::integral_constant<int, 1>> "
        "{ static constexpr bool enable = true; }; \\\n"
        "}\n"
    )


def test_facts_in_files_of_their_own_say_the_same() -> None:
    kept = keep("a<1, float>", "b<>", "c<2>", "megdnn_common_elemwise_mode<1>", operators=needs())
    scoped = texts(kept, scopes=Scopes(tags=("a", "b", "unused"), macros=MACROS))

    assert enabled(*scoped.values()) == read(kept)
    assert list(scoped) == [
        "bin_reduce.h",
        "midout.h",
        *(f"megtrim/tags/{tag}.h" for tag in ("a", "b", "unused")),
        *(f"megtrim/macros/{macro}.h" for macro in MACROS),
    ]


def test_the_file_of_a_tag_is_its_declaration() -> None:
    scoped = texts(keep("a<1, float>", "a<2>"), scopes=Scopes(tags=("a", "unused")))

    assert scoped["megtrim/tags/a.h"] == (
        "// Written by megtrim from the keep set: do not edit.\n"
        "#pragma once\n"
        '#include "midout.h"\n'
        "namespace midout {\n"
        "namespace tags {\n"
        "class a;\n"
        "}\n"
        "template <> struct Region<tags::a, std::integral_constant<int, 1>, float>;\n"
        "template <> struct Region<tags::a, std::integral_constant<int, 2>>;\n"
        "}\n"
    )
    assert "class unused;\n}\n}\n" in scoped["megtrim/tags/unused.h"]


def test_a_region_changes_the_file_of_its_tag_alone() -> None:
    own = Scopes(tags=("a", "b"), macros=MACROS)
    before = texts(keep("a<1>"), scopes=own)
    after = texts(keep("a<1>", "b<1>"), scopes=own)

    assert [name for name in after if after[name] != before[name]] == ["megtrim/tags/b.h"]


@pytest.mark.parametrize(
    ("changes", "changed"),
    [
        ({"hashes": ((8, ("m",)),)}, [GRAPH_HASHES]),
        ({"operators": (("Elemwise", ("m",)),)}, [OPERATORS]),
        ({"dtypes": (("Float16", ("m",)),)}, ["bin_reduce.h"]),
    ],
)
def test_a_macro_changes_its_file_alone(changes: dict[str, object], changed: list[str]) -> None:
    own = Scopes(macros=MACROS)
    before = texts(keep("a<1>", operators=needs()), scopes=own)
    after = texts(keep("a<1>", operators=needs(**changes)), scopes=own)

    assert [
        name.rpartition("/")[2].removesuffix(".h") if "/" in name else name
        for name in after
        if after[name] != before[name]
    ] == changed


def test_without_traces_the_files_of_macros_stand_alone() -> None:
    """A source includes them whatever is kept; one that says nothing keeps all."""
    own = Scopes(tags=("a",), macros=MACROS)
    known = texts(keep(operators=needs()), scopes=own)
    unknown = texts(keep("a<1>"), scopes=own)

    assert list(known) == ["bin_reduce.h", *(f"megtrim/macros/{macro}.h" for macro in MACROS)]
    assert f"#define {OPERATORS} " in known[f"megtrim/macros/{OPERATORS}.h"]
    assert unknown[f"megtrim/macros/{OPERATORS}.h"].splitlines()[1:] == ["#pragma once"]
    assert unknown[f"megtrim/macros/{ELEMWISE_MODES}.h"].splitlines()[1:] == ["#pragma once"]


def test_an_upstream_header_has_no_further_files() -> None:
    kept = keep("a<1>", operators=needs())
    own = Scopes(tags=("a",), macros=MACROS)

    assert texts(kept, Layout.UPSTREAM, own) == texts(kept, Layout.UPSTREAM)


@pytest.mark.parametrize("layout", Layout)
def test_without_traces_all_regions_stay(layout: Layout) -> None:
    files = texts(keep(operators=needs()), layout)

    assert list(files) == ["bin_reduce.h"]
    assert "MIDOUT" not in files["bin_reduce.h"]
    assert read(keep(operators=needs()), layout).modes is None


ALL_MODES = ("ABS", "ADD", "PLUS", "RELU")
TWO_MODES = needs(elemwise_modes=(("ADD", ("m",)), ("RELU", ("n",))))
FLOAT16 = needs(dtypes=(("Float16", ("m",)), ("Float32", ("m",))))


@pytest.mark.parametrize(
    ("kept", "found"),
    [
        # Without JSON: only the version, the regions, and modes where the engine recorded them.
        (keep("a<1>"), {"operators": None, "switches": (), "modes": None, "hashes": None}),
        (keep("megdnn_common_elemwise_mode<0>"), {"modes": ("RELU",)}),
        # Otherwise it is switched off, by both spellings of the switch.
        (keep(operators=FLOAT16), {"switches": ()}),
        (keep(operators=needs(hashes=())), {"hashes": None}),
        # Engines of the older generation do not record modes: a region of that name says nothing.
        (
            keep("megdnn_common_elemwise_mode<1>", generation=20190219, operators=TWO_MODES),
            {"modes": ("ADD", "RELU")},
        ),
        (keep("megdnn_common_elemwise_mode<1>", generation=20190219), {"modes": None}),
        (
            keep(generation=20190219, operators=needs(elemwise_modes=())),
            {"modes": (), "all_modes": ALL_MODES},
        ),
    ],
    ids=[
        *("no JSON", "modes of the trace", "float16", "no hash"),
        *("older with modes", "older without", "older without any"),
    ],
)
def test_what_is_switched_on(kept: KeepSet, found: dict[str, object]) -> None:
    enabled_now = read(kept)

    assert {name: getattr(enabled_now, name) for name in found} == found


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (keep("megdnn_common_elemwise_mode<99>"), "megdnn_common_elemwise_mode<99>"),
        (keep("megdnn_common_elemwise_mode<float>"), "megdnn_common_elemwise_mode<float>"),
        (
            keep(generation=20190219, operators=needs(elemwise_modes=(("NEW", ("m",)),))),
            "no elementwise mode NEW",
        ),
    ],
)
def test_a_mode_that_the_engine_does_not_have_is_refused(kept: KeepSet, said: str) -> None:
    """The trace or the model is of another version of the engine."""
    with pytest.raises(InputError, match=said) as caught:
        texts(kept)

    assert "another version of the engine" in caught.value.hint


def test_a_mode_that_is_no_identifier_is_refused() -> None:
    with pytest.raises(InputError, match="expected a C\\+\\+ identifier"):
        render(keep("a<1>"), layout=Layout.SCOPED, elemwise_modes=[("A(x) B", 1)])


@pytest.mark.parametrize("layout", Layout)
def test_equal_needs_give_equal_bytes(layout: Layout) -> None:
    one = keep("a<1>", "b<float>", "a<-1>", operators=needs())
    other = keep("b<float>", "a<-1>", "a<1>", operators=needs())

    assert render(one, layout=layout, elemwise_modes=MODES) == render(
        other, layout=layout, elemwise_modes=MODES[::-1]
    )


def test_who_needs_what_does_not_show_in_the_header() -> None:
    """A scenario more with the same needs compiles nothing again."""
    one = scenario("m/s@c", Region("a", (1,)))
    two = scenario("n/s@c", Region("a", (1,)))

    assert texts(build_keep_set(20220507, [one], None)) == texts(
        build_keep_set(20220507, [one, two], None)
    )


def test_crash_ids_give_each_region_a_function_of_its_own() -> None:
    kept = keep("a<1, float>")
    plain = texts(kept)
    files = render(kept, layout=Layout.SCOPED, elemwise_modes=MODES, crash_ids=True).files
    numbered = dict(files)

    assert "else { __builtin_trap(); }" in plain["midout.h"]
    assert "left_out" not in plain["midout.h"]
    assert "else { ::midout::left_out<megtrim_region>(); }" in numbered["midout.h"]
    assert enabled(*numbered.values()) == enabled(*plain.values())
