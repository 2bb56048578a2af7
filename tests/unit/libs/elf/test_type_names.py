import re

import pytest

from megtrim.libs.elf.type_names import MAX_NAME, GrammarError, is_identifier, parse_canonical


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
