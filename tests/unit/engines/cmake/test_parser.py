"""Reading CMake as far as options need it: commands, declarations, questions."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.engines.cmake.parser import CMakeCommand, calls, names


def read(text: str) -> list[CMakeCommand]:
    return list(calls(text))


def test_commands_and_their_arguments() -> None:
    """Names in lower case, quotes taken off, the line where each begins."""
    assert read('Option(A "help ; text" ON)\n\nset(B\n  1\n  CACHE STRING "")\n') == [
        CMakeCommand("option", ("A", "help ; text", "ON"), 1),
        CMakeCommand("set", ("B", "1", "CACHE", "STRING", ""), 3),
    ]


def test_conditions_have_parentheses_of_their_own() -> None:
    """They hold one argument list together."""
    assert read("if((A STREQUAL B) AND NOT (C))\nendif()") == [
        CMakeCommand("if", ("A", "STREQUAL", "B", "AND", "NOT", "C"), 1),
        CMakeCommand("endif", (), 2),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "# option(NO)\noption(A)",
        "#[[ option(NO)\n]]\noption(A)",
        "#[==[ option(NO) ]] ]=] \n]==]option(A)",
        'message("option(NO)")\noption(A)',
        'message("a \\" option(NO)")\noption(A)',
        # An escaped quote opens no quoted text: what follows is read as it stands.
        'add_definitions(-DX=\\"y\\")\noption(A "a" ON)',
        "message(a\\(b\\ c)\noption(A)",
        'message([[option(NO) "]])\noption(A)',
        "message([=[option(NO) ]] ]=])\noption(A)",
    ],
)
def test_what_looks_like_a_command_and_is_none(text: str) -> None:
    """Comments, quoted and bracket texts."""
    assert set(names(text).declared) == {"A"}


@pytest.mark.parametrize(
    "text",
    [
        "option(A",
        'option(A "b)',
        "#[[ option(A)",
        "message([[ option(A)",
        ")",
        "((",
        "option",
        "(A)",
    ],
)
def test_a_cut_off_text_yields_no_command(text: str) -> None:
    """Nor does it raise."""
    assert read(text) == []


@pytest.mark.parametrize(
    ("text", "declared"),
    [
        ('option(A "a" ON)', {"A"}),
        ('cmake_dependent_option(A "a" OFF "B;NOT C" OFF)', {"A"}),
        ('set(A 1 CACHE STRING "x")', {"A"}),
        ("set(A 1)", set()),
        ("set(CACHE 1)", set()),
        ("find_program(A ccache)", {"A"}),
        ("find_path(A NAMES x)", {"A"}),
        ("find_library(A NAMES x)", {"A"}),
        ("CHECK_CXX_COMPILER_FLAG(-fuse-ld=gold A)", {"A"}),
        ("check_include_file(stdint.h A)", {"A"}),
        ("option(${A} x)", set()),
        ("option()", set()),
        ("add_option(A)", set()),
    ],
)
def test_declarations(text: str, declared: set[str]) -> None:
    """Everything that leaves an entry in CMake's cache."""
    assert set(names(text).declared) == declared


def test_the_first_declaration_counts() -> None:
    """A second one has no effect in CMake either."""
    assert names("\noption(A)\noption(A)").declared == {"A": 2}


@pytest.mark.parametrize(
    ("text", "effective"),
    [
        ('message("${A} $CACHE{B}_x")', {"A", "B"}),
        ("if(A)\nendif()", {"A"}),
        ("if(NOT DEFINED A)\n  set(A 1)\nendif()", {"NOT", "DEFINED", "A"}),
        ("set(A 1)\nmessage(${A})", set()),
        ("function(f)\n  set(A 1)\nendfunction()\nmessage(${A})", {"A"}),
        ("if(X)\nendif()\nset(A 1)\nmessage(${A})", {"X"}),
        ("message($ENV{A})", set()),
        ("message(A)", set()),
    ],
)
def test_variables_that_a_user_may_set_all_the_same(text: str, effective: set[str]) -> None:
    """They are asked for, and not overwritten whatever the user said."""
    assert names(text).effective == effective


def test_packages_that_are_looked_for() -> None:
    """Their places can be given by ``NAME_ROOT`` and ``NAME_DIR``."""
    assert names("find_package(Threads)\nfind_package(PythonInterp 3 REQUIRED)").packages == {
        *("Threads", "PythonInterp"),
    }


WORDS = ["option(", ")", "(", '"', "\\", "[[", "]]", "#", "#[=[", "]=]", "\n", " ", "A", "${", "}"]


@given(st.text(max_size=80) | st.lists(st.sampled_from(WORDS), max_size=40).map("".join))
def test_any_text_is_read(text: str) -> None:
    """Lines are within the text, names are identifiers."""
    last = text.count("\n") + 1
    assert all(1 <= call.line <= last for call in calls(text))
    assert all(name.isidentifier() for name in names(text).declared)


@pytest.mark.parametrize("piece", ['"', '\\"', "[", "[=", "#[", "(", ")", "${", "a", "a(", " "])
def test_a_hostile_text_takes_no_longer_than_its_length(piece: str) -> None:
    """A long text of what makes a careless reader look back again and again."""
    begin = time.monotonic()
    names(piece * (2**18 // len(piece)))

    assert time.monotonic() - begin < 10


@given(st.lists(st.from_regex(r"[A-Z][A-Z0-9_]{0,8}", fullmatch=True), unique=True, max_size=8))
def test_every_option_is_found(options: list[str]) -> None:
    """With the line that it stands on."""
    text = "".join(f'option({name} "about ({name}) # it" ON)\n' for name in options)

    assert names(text).declared == {name: line for line, name in enumerate(options, start=1)}
