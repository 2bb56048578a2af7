from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.regions.region import (
    MAX_NAME,
    GrammarError,
    demangle,
    is_identifier,
    parse_canonical,
    parse_demangled,
)

DATA = Path(__file__).parents[2] / "data"
LINUX = DATA / "traces" / "resnet18-s.plain.trace"
ANDROID = DATA / "traces-android" / "resnet18-s.plain.trace"


def region(arguments: str) -> str:
    return f"midout::Region<midout::tags::conv{arguments}>"


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


def test_both_libraries_give_equal_values() -> None:
    """libc++ of the NDK spells its inline namespaces, libstdc++ has none here."""
    assert {parse_demangled(n) for n in names(LINUX)} == {
        parse_demangled(n) for n in names(ANDROID)
    }


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
    with pytest.raises(GrammarError) as caught:
        parse_canonical(text)

    assert message in str(caught.value)


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
