import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.engines.megengine.regions.region import (
    MAX_NAME,
    GrammarError,
    Region,
    demangle,
    is_identifier,
    parse_canonical,
    parse_demangled,
    problem,
)
from megtrim.libs.util.errors import InputError

IDENTIFIERS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,12}", fullmatch=True).filter(is_identifier)
NUMBERS = st.integers(-(2**31), 2**31 - 1)
BUILTINS = st.sampled_from(["void", "float", "unsigned char", "long long", "__fp16", "_Float16"])


def _class(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    values = (
        inner | NUMBERS.map(str) | st.just("(engine::Kind)7") | st.just("3ul") | st.just("true")
    )
    templates = st.builds("{}<{}>".format, IDENTIFIERS, st.lists(values, min_size=1).map(", ".join))
    parts = st.lists(IDENTIFIERS | templates, min_size=2, max_size=3)
    return parts.map("::".join).filter(lambda name: not name.startswith("std"))


TYPES = st.recursive(BUILTINS, _class, max_leaves=6)
REGIONS = st.builds(Region, IDENTIFIERS, st.lists(NUMBERS | TYPES, max_size=5).map(tuple))


@given(REGIONS)
def test_a_region_is_read_back_from_its_text(region: Region) -> None:
    assert Region.parse(str(region)) == region


@pytest.mark.parametrize(
    ("text", "region"),
    [
        ("x<>", Region("x", ())),
        ("megdnn_fp32_sgemv<-1290123641>", Region("megdnn_fp32_sgemv", (-1290123641,))),
        ("x<float, a::B, 3>", Region("x", ("float", "a::B", 3))),
        ("x< float ,a::B,3 >", Region("x", ("float", "a::B", 3))),
        ("x<a::B<(c::D)100002> >", Region("x", ("a::B<(c::D)100002>",))),
        ("x<a::B<(unsigned char)4>>", Region("x", ("a::B<(unsigned char)4>",))),
        ("x<half>", Region("x", ("__fp16",))),
        ("x<_Float16>", Region("x", ("_Float16",))),
        ("x<half_float::half>", Region("x", ("half_float::half",))),
        ("x<2147483647, -2147483648>", Region("x", (2**31 - 1, -(2**31)))),
    ],
)
def test_texts_and_the_regions_they_name(text: str, region: Region) -> None:
    assert Region.parse(text) == region


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "x<",
        "x>",
        "<>",
        "x<>y",
        "x<,>",
        "x<1,>",
        "x<1 2>",
        "1x<>",
        "for<>",
        "x y<>",
        "x<2147483648>",
        "x<-2147483649>",
        "x<99999999999999999999999>",
        "x<1u>",
        "x<0x1>",
        "x<Foo>",
        "x<Foo<int>>",
        "x<a::>",
        "x<::a::B>",
        "x<a::for>",
        "x<float const>",
        "x<float*>",
        "x<a::B&>",
        "x<float;>",
        "x<{}>",
        'x<"a">',
        "x<a::B#>",
        "x<a::B\n>",
        "x<(anonymous namespace)::B>",
        "x<a::B::{lambda()#1}>",
        "x<long float>",
        "x<a::operator+>",
        "x<a::B<(int)>>",
        "x<a::B<(a::C)x>>",
        "x<a::B<>>",
        "x<std::__1>",
        "x<unsigned::a>",
        "x<\u0661>",
        "x<" + "a::B<" * 17 + "int" + ">" * 17 + ">",
        "x<" + "1, " * 5000 + "1>",
    ],
)
def test_what_is_no_region(text: str) -> None:
    with pytest.raises(InputError) as caught:
        Region.parse(text)

    assert "is not a region" in caught.value.message
    assert "\n" not in caught.value.message


def test_numbers_come_before_types_and_are_ordered_by_value() -> None:
    texts = ["a<>", "a<-5>", "a<-5, 1>", "a<3>", "a<10>", "a<float>", "a<x::Y>", "b<1>"]
    regions = [Region.parse(text) for text in texts]

    assert sorted({*regions}) == regions
    assert regions[1] < regions[5]
    assert regions[5] > regions[1]
    assert regions[1] <= regions[1]
    assert not regions[1] < regions[1]


def test_a_region_cannot_be_compared_with_anything_else() -> None:
    with pytest.raises(TypeError):
        assert Region("a", ()) < "a"


@pytest.mark.parametrize(
    ("arguments", "args"),
    [
        ("", ()),
        (", std::integral_constant<int, -5> ", (-5,)),
        (", std::__ndk1::integral_constant<int, 5> ", (5,)),
        (", std::__1::integral_constant<int, 5>", (5,)),
        (", std::integral_constant<bool, true> ", ("std::integral_constant<bool, true>",)),
        (", std::__cxx11::basic_string<char> ", ("std::basic_string<char>",)),
        (", half, unsigned", ("__fp16", "unsigned int")),
        (", a::b<(a::c)3, 4ul, d::e<float> >", ("a::b<(a::c)3, 4ul, d::e<float>>",)),
        (", a::__ndk1::B, a::__1::b", ("a::__ndk1::B", "a::__1::b")),
        (", a::B<std::integral_constant<int, 5> > ", ("a::B<std::integral_constant<int, 5>>",)),
    ],
)
def test_demangled_names(arguments: str, args: tuple[int | str, ...]) -> None:
    """The C++ library's own namespaces vanish, and only there; ints are numbers."""
    assert parse_demangled(f"midout::Region<midout::tags::x{arguments}>") == ("x", args)


@pytest.mark.parametrize(
    "name",
    [
        "midout::Region<midout::tags::x",
        "midout::Region<midout::tags::x> >",
        "midout::Region<midout::tags::x<int> >",
        "midout::Region<tags::x>",
        "midout::Region<midout::tags::x, 5>",
        "midout::Region<midout::tags::x, std::integral_constant<int, 4294967296> >",
        "::midout::Region<midout::tags::x>",
        "other::Region<midout::tags::x>",
    ],
)
def test_demangled_names_that_are_refused(name: str) -> None:
    with pytest.raises(GrammarError):
        parse_demangled(name)


NAME = "N6midout6RegionINS_4tags1xEJSt17integral_constantIiLi7EEEEE"


def test_a_region_has_a_readable_name() -> None:
    nonsense = "N6midout6RegionIoops"

    assert demangle([NAME, NAME, nonsense]) == {
        NAME: "midout::Region<midout::tags::x, std::integral_constant<int, 7> >",
        nonsense: "",
    }
    assert problem(NAME) == problem(nonsense) == ""


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("", "expected the mangled name of a midout::Region"),
        ("N6midout6RegionI", "expected the mangled name of a midout::Region"),
        ("_ZN3mgb3fooEv", "expected the mangled name of a midout::Region"),
        (f"{NAME};rm", "expected the mangled name of a midout::Region"),
        (f"{NAME}\n", "expected the mangled name of a midout::Region"),
        (NAME + "x" * MAX_NAME, "expected at most 4096"),
        (NAME + "S0_" * 13, "more than 12 back references"),
    ],
)
def test_what_could_harm_the_demangler_does_not_reach_it(name: str, found: str) -> None:
    assert found in problem(name)


DATA = Path(__file__).parents[4] / "data"
LINUX = DATA / "traces" / "resnet18-s.plain.trace"
ANDROID = DATA / "traces-android" / "resnet18-s.plain.trace"


def names(path: Path) -> list[str]:
    return sorted(set(demangle(path.read_text(encoding="ascii").splitlines()[1:]).values()))


@pytest.mark.parametrize("path", [LINUX, ANDROID], ids=["linux", "android"])
def test_every_recorded_name_is_read_and_spelt_again(path: Path) -> None:
    found = [parse_demangled(name) for name in names(path)]

    assert len(found) == 149
    for tag, arguments in found:
        assert is_identifier(tag)
        text = f"{tag}<{', '.join(map(str, arguments))}>"
        assert parse_canonical(text) == (tag, arguments)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("conv", "found the end after 'conv', expected '<'"),
        ("for<1>", "found 'for', expected the name of a class"),
        ("conv<1", "found the end after 'conv<1', expected '>'"),
        ("conv<1> x", "found 'x' after 'conv<1>', expected the end"),
        ("conv<Foo>", "found '>' after 'conv<Foo', expected '::'"),
        ("conv<std::__1>", "expected a type"),
        ("conv<2147483648>", "found 2147483648, expected a number of 32 bits"),
        ("conv<-2147483649>", "expected a number of 32 bits"),
        ("conv<a::b<(int)x>>", "expected a number"),
        ("conv<a::b*>", "found '*>', expected the name of a type"),
        ("conv<1>\n", "expected the name of a type"),
        ("conv<1>;int x", "found ';int x', expected the name of a type"),
    ],
)
def test_anything_else_is_refused(text: str, message: str) -> None:
    with pytest.raises(GrammarError, match=re.escape(message)):
        parse_canonical(text)


def test_length_and_depth_are_bounded() -> None:
    longest = f"a{'b' * 200}<" + "1, " * ((MAX_NAME - 204) // 3)
    longest += "1" * (MAX_NAME - len(longest) - 1) + ">"
    assert len(longest) == MAX_NAME
    parse_canonical(longest)
    with pytest.raises(GrammarError, match="a name of 4097 characters, expected at most 4096"):
        parse_canonical(f"{longest} ")

    def nested(levels: int) -> str:
        return f"x<{'a::b<' * levels}1{'>' * levels}>"

    parse_canonical(nested(16))
    with pytest.raises(GrammarError, match="templates within templates, expected at most 16"):
        parse_canonical(nested(17))


@pytest.mark.parametrize(
    ("text", "usable"),
    [("conv", True), ("_x9", True), ("form", True), ("for", False), ("9x", False), ("", False),
     ("a" * 255, True), ("a" * 256, False), ("x\n", False), ("é", False)],
)  # fmt: skip
def test_identifiers(text: str, usable: bool) -> None:
    assert is_identifier(text) is usable
