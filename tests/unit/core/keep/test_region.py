import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.core.keep.region import Region
from megtrim.libs.elf.type_names import is_identifier
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
