from pathlib import Path

import pytest

from megtrim.engines.midout.spelling import demangle, parse_demangled, problem
from megtrim.libs.elf.type_names import MAX_NAME, GrammarError, is_identifier, parse_canonical


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


DATA = Path(__file__).parents[3] / "data"
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
