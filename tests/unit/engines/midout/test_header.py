import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.core.keep.keepset import KeepSet, build_keep_set
from megtrim.core.keep.operators import OperatorNeeds
from megtrim.core.keep.region import Region
from megtrim.engines.midout.header import (
    ELEMWISE_MODES,
    GRAPH_HASHES,
    MACROS,
    OPERATORS,
    Layout,
    Scopes,
    macro_file,
    names_a_fact,
    render,
    rewritten,
    scopes,
    scopes_of,
    tag_file,
)
from megtrim.libs.util.errors import InputError
from support.upstream import Enabled, enabled
from unit.core.keep.test_keepset import scenario

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


@pytest.mark.parametrize(
    ("regions", "operators"),
    [
        (("other<1>",), ("Elemwise", "MatrixMul")),
        (("pad<1>",), ("Concat", "Elemwise", "MatrixMul")),
        (("pad<1>", "cut<1>"), ("Concat", "Elemwise", "MatrixMul", "Subtensor")),
        ((), ("Concat", "Elemwise", "MatrixMul", "Subtensor")),
    ],
)
@pytest.mark.parametrize("layout", Layout)
def test_what_a_kept_region_inserts_is_registered(
    layout: Layout, regions: tuple[str, ...], operators: tuple[str, ...]
) -> None:
    """All regions are kept where no scenario names any; a model may list the operator, too."""
    inserted = {
        Region.parse("pad<1>"): ("Concat", "Elemwise"),
        Region.parse("cut<1>"): ("Subtensor",),
    }
    kept = keep(*regions, generation=20190219, operators=needs())
    rendered = render(kept, layout=layout, elemwise_modes=MODES, inserted=inserted)

    assert enabled(*dict(rendered.files).values()).operators == operators


def test_without_operators_nothing_is_registered_by_name() -> None:
    inserted = {Region.parse("pad<1>"): ("Concat",)}
    rendered = render(keep("pad<1>"), layout=Layout.SCOPED, elemwise_modes=MODES, inserted=inserted)

    assert not any(OPERATORS in text for _, text in rendered.files)


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
        ({"hashes": ((8, ("m",)),)}, [macro_file(GRAPH_HASHES)]),
        ({"operators": (("Elemwise", ("m",)),)}, [macro_file(OPERATORS)]),
        ({"dtypes": (("Float16", ("m",)),)}, ["bin_reduce.h"]),
    ],
)
def test_a_macro_changes_its_file_alone(changes: dict[str, object], changed: list[str]) -> None:
    own = Scopes(macros=MACROS)
    before = texts(keep("a<1>", operators=needs()), scopes=own)
    after = texts(keep("a<1>", operators=needs(**changes)), scopes=own)

    assert [name for name in after if after[name] != before[name]] == changed


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
        "no JSON",
        "modes of the trace",
        "float16",
        "no hash",
        "older with modes",
        "older without",
        "older without any",
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
    with pytest.raises(InputError, match="expected a C\\+\\+ identifier"):
        render(kept, layout=Layout.SCOPED, elemwise_modes=[("A(x) B", 1)])


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


@pytest.mark.parametrize("layout", Layout)
def test_errors_name_each_region_and_each_trap(layout: Layout) -> None:
    kept = keep("a<1, float>")
    plain = texts(kept, layout)
    files = dict(render(kept, layout=layout, elemwise_modes=MODES, errors=True).files)

    assert "__builtin_trap() megtrim_refused(__func__, __LINE__)" in files["bin_reduce.h"]
    assert "megtrim_" not in plain["bin_reduce.h"]
    assert ("midout.h" in files) is (layout is Layout.SCOPED)
    if layout is Layout.SCOPED:
        assert "megtrim_lacks(#__VA_ARGS__)" in files["midout.h"]
        assert "__builtin_trap" not in files["midout.h"].partition("#define MIDOUT_BEGIN")[2]
    assert enabled(*files.values()) == enabled(*plain.values())


KERNEL = '#include "midout.h"\n\nMIDOUT_DECL(kern)\nvoid f() { MIDOUT_BEGIN(kern, 1) {} }\n'


def tags(*texts: str) -> tuple[str, ...]:
    """Return the tags that can have files of their own in a tree of these sources."""
    return scopes(texts).tags


def test_a_line_that_declares_a_tag_becomes_the_include_of_its_file() -> None:
    """Line for line: what a compiler says of the file is true of the original, too."""
    assert scopes([KERNEL]) == Scopes(tags=("kern",), macros=tuple(sorted(MACROS)))
    assert rewritten(KERNEL, Scopes(tags=("kern",))) == (
        '#include "midout.h"\n\n#include "megtrim/tags/kern.h"\n'
        "void f() { MIDOUT_BEGIN(kern, 1) {} }\n"
    )


SPELLINGS = ("MIDOUT_DECL(kern)", "  MIDOUT_DECL( kern ) ;", "\tMIDOUT_DECL (kern);  ")


@pytest.mark.parametrize("line", [*SPELLINGS, "MIDOUT_DECL(kern)\r"])
def test_spellings_of_a_declaration(line: str) -> None:
    text = f"int before;\r\n{line}\nint after;\n"
    end = "\r" if line.endswith("\r") else ""

    assert tags(text) == ("kern",)
    assert rewritten(text, Scopes(tags=("kern",))) == (
        f'int before;\r\n#include "megtrim/tags/kern.h"{end}\nint after;\n'
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("#define DECLARE MIDOUT_DECL(kern)\n", id="the body of a macro"),
        pytest.param("#define DECLARE \\\nMIDOUT_DECL(kern)\n", id="its next line"),
        pytest.param("#define DECLARE \\\r\nMIDOUT_DECL(kern)\r\n", id="with other line ends"),
        pytest.param("MIDOUT_DECL(kern) MIDOUT_DECL(other)\n", id="two on a line"),
        pytest.param("namespace a {} MIDOUT_DECL(kern)\n", id="behind something"),
        pytest.param("MIDOUT_DECL(kern) int x;\n", id="before something"),
        pytest.param("MIDOUT_DECL(\nkern)\n", id="over two lines"),
        pytest.param("MIDOUT_DECL(kern)\n// h\ufffdlt\n", id="not UTF-8"),
        pytest.param("\ufeffMIDOUT_DECL(kern)\n", id="behind a byte order mark"),
    ],
)
def test_a_tag_that_is_declared_otherwise_stays_where_everybody_sees_it(text: str) -> None:
    assert tags(text) == ()
    assert tags(text, KERNEL) == ()
    assert rewritten(text, scopes([text, KERNEL])) == text
    assert rewritten(KERNEL, scopes([text, KERNEL])) == KERNEL


def test_a_comment_and_the_definition_of_the_macro_declare_nothing() -> None:
    """Its parameter is no tag of the tree, unless one is called so."""
    assert tags("// MIDOUT_DECL(kern)  declares it\n", KERNEL) == ("kern",)
    midout = "#define MIDOUT_DECL(tag) \\\n    class tag;\n"

    assert tags(midout, KERNEL) == ("kern",)
    assert tags(midout, "MIDOUT_DECL(tag)\n") == ()


def test_a_file_that_names_a_macro_includes_its_file_first() -> None:
    """Before anything it says itself, and its lines keep their numbers.

    A program that includes the file has no forced header, and leaves the macro's out as well.
    """
    registry = f"#pragma once\n#ifdef {OPERATORS}\n{OPERATORS}\n#endif\n"

    assert rewritten(registry, scopes([registry])) == (
        "#ifdef MGB_BINREDUCE_VERSION\n"
        f'#include "megtrim/macros/{OPERATORS}.h"\n'
        "#endif\n"
        f"#line 1\n{registry}"
    )


def test_a_macro_that_is_named_where_nothing_can_be_written_stays_forced() -> None:
    forced = scopes([f"{ELEMWISE_MODES}(ADD, cb) // \ufffd\n"]).macros

    assert forced == tuple(sorted({OPERATORS, GRAPH_HASHES}))


def test_a_source_that_names_nothing_is_left_alone() -> None:
    """Only whole words name a macro."""
    text = "int main() { return 0; }\n"
    longer = f"#define X {ELEMWISE_MODES}D _{ELEMWISE_MODES}_IMPL_x\n"

    assert rewritten(longer, scopes([longer])) == longer
    assert not names_a_fact(text)
    assert names_a_fact(KERNEL)
    assert names_a_fact(f"{GRAPH_HASHES}\n")
    assert rewritten(text, Scopes(tags=("kern",), macros=MACROS)) == text


def test_the_names_of_generated_files_tell_the_facts() -> None:
    files = ["midout.h", tag_file("b"), tag_file("a"), macro_file(ELEMWISE_MODES), "other/c.h"]

    assert scopes_of(files) == Scopes(tags=("a", "b"), macros=(ELEMWISE_MODES,))
    assert scopes_of(["bin_reduce.h", "midout.h"]) == Scopes()


LINES = st.sampled_from(
    (
        "MIDOUT_DECL(a)",
        "MIDOUT_DECL(b);",
        "// MIDOUT_DECL(a)",
        "#define D \\",
        "D",
        "",
        "MIDOUT_DECL(b) int x;",
        ELEMWISE_MODES,
        "int x;",
        "#if 0",
        "#endif",
    )
)


@given(st.lists(st.lists(LINES, max_size=8).map("\n".join), max_size=4))
def test_no_declaration_of_a_tag_with_a_file_is_left(texts: list[str]) -> None:
    """What is written again names such a tag in comments alone, and has as many lines as before."""
    scoped = scopes(texts)
    for text in texts:
        body = rewritten(text, scoped).split("#line 1\n")[-1]
        code = [line for line in body.split("\n") if not line.startswith("//")]

        assert body.count("\n") == text.count("\n")
        assert not [tag for tag in scoped.tags for line in code if f"MIDOUT_DECL({tag})" in line]
