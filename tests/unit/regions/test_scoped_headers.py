from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.regions.header import (
    MACROS,
    Scopes,
    macro_file,
    names_a_fact,
    rewritten,
    scopes,
    scopes_of,
    tag_file,
)

MODES, OPERATORS, HASHES = MACROS
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


@pytest.mark.parametrize(
    "line",
    [
        "MIDOUT_DECL(kern)",
        "  MIDOUT_DECL( kern ) ;",
        "\tMIDOUT_DECL (kern);  ",
        "MIDOUT_DECL(kern)\r",
    ],
)
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


def test_a_comment_declares_nothing() -> None:
    assert tags("// MIDOUT_DECL(kern)  declares it\n", KERNEL) == ("kern",)


def test_the_definition_of_the_macro_declares_nothing() -> None:
    """Its parameter is no tag of the tree, unless one is called so."""
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


def test_only_whole_words_name_a_macro() -> None:
    longer = f"#define X {MODES}D _{MODES}_IMPL_x\n"

    assert rewritten(longer, scopes([longer])) == longer


def test_a_macro_that_is_named_where_nothing_can_be_written_stays_forced() -> None:
    assert scopes([f"{MODES}(ADD, cb) // \ufffd\n"]).macros == tuple(sorted({OPERATORS, HASHES}))


def test_a_source_that_names_nothing_is_left_alone() -> None:
    text = "int main() { return 0; }\n"

    assert not names_a_fact(text)
    assert names_a_fact(KERNEL)
    assert names_a_fact(f"{HASHES}\n")
    assert rewritten(text, Scopes(tags=("kern",), macros=MACROS)) == text


def test_the_names_of_generated_files_tell_the_facts() -> None:
    files = ["midout.h", tag_file("b"), tag_file("a"), macro_file(MODES), "other/c.h"]

    assert scopes_of(files) == Scopes(tags=("a", "b"), macros=(MODES,))
    assert scopes_of(["bin_reduce.h", "midout.h"]) == Scopes()


LINES = st.sampled_from(
    (
        *("MIDOUT_DECL(a)", "MIDOUT_DECL(b);", "// MIDOUT_DECL(a)", "#define D \\", "D", ""),
        *("MIDOUT_DECL(b) int x;", MODES, "int x;", "#if 0", "#endif"),
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
