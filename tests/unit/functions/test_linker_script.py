from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.functions.linker_script import (
    SOURCES,
    STUB,
    droppable,
    is_stub,
    named_script,
    named_sources,
    not_kept,
    numbered_sources,
    script,
)
from megtrim.functions.observables import Observables
from megtrim.util.errors import InputError
from unit.functions.made_links import DATA, Symbol, table


def test_what_neither_ran_nor_must_stay_can_go() -> None:
    names = ("_Z3fiv", "_ZL3fiv", "lookup", "main", "memcpy", "offered", "ran")
    found = table(
        *(Symbol(name=name, at=4 * at) for at, name in enumerate(names)),
        Symbol(name="lookup", kind=DATA),
        dynamic=(Symbol(name="offered"), Symbol(name="puts", at=None)),
    )
    seen = Observables(
        link_sha256="6e" * 32, groups=tuple((name,) for name in names if name[0] != "m")
    )
    every = replace(seen, groups=(*seen.groups, ("main",), ("memcpy",)))

    assert droppable(found, ["ran"], seen) == ("_Z3fiv", "_ZL3fiv")
    assert droppable(found, [], every) == ("_Z3fiv", "_ZL3fiv", "memcpy", "ran")


def test_what_shares_code_goes_together() -> None:
    found = table(*(Symbol(name=name) for name in "abcd"), dynamic=(Symbol(name="d"),))
    seen = Observables(link_sha256="6e" * 32, groups=(("a", "b"), ("c", "d")))

    assert droppable(found, [], seen) == ("a", "b")
    assert droppable(found, ["b"], seen) == ()


def test_the_shipped_link_has_one_stub_for_all() -> None:
    assert script(["_Z3foov", "_ZL3barv", "__cxa_demangle", "a.cold"]) == (
        '"_Z3foov" = megtrim_stub;\n"__cxa_demangle" = megtrim_no_name;\n"a.cold" = megtrim_stub;\n'
    )


def test_the_link_for_diagnosis_has_a_stub_for_each() -> None:
    assert named_script(["_Z3foov", "_ZL3barv", "__cxa_demangle", "a.cold"]) == (
        '"_Z3foov" = megtrim_stub_0;\n'
        '"__cxa_demangle" = megtrim_no_name;\n'
        '"a.cold" = megtrim_stub_3;\n'
    )


def test_a_link_with_crash_ids_has_a_numbered_stub_for_each() -> None:
    (name, text), (no_name, _) = numbered_sources(3)

    assert (name, no_name) == ("megtrim_numbered_stubs.S", "megtrim_no_name.S")
    assert text.endswith("STUB(0)\nSTUB(1)\nSTUB(2)\n")
    assert [is_stub(each) for each in (STUB, f"{STUB}_0", f"{STUB}_x", f"{STUB}s", "main")] == [
        *(True, True, False, False, False)
    ]


@pytest.mark.parametrize("name", ['a"', "a\nb", "", "a b", "a;b", "ä"])
def test_no_name_breaks_out_of_a_script(name: str) -> None:
    for write in (script, named_script):
        with pytest.raises(InputError, match="expected a name that is allowed in a linker"):
            write(["fine", name])


@given(st.lists(st.text(max_size=6), max_size=6))
def test_a_script_is_assignments_alone(names: list[str]) -> None:
    try:
        text = script(names)
    except InputError:
        return

    assert re.fullmatch(r'("[\w.$]+" = megtrim_stub;\n)*', text, re.ASCII)


def test_sources_define_what_scripts_refer_to() -> None:
    shipped = dict(SOURCES)
    named = dict(named_sources(3))

    assert f".globl {STUB}\n" in shipped["megtrim_stub.S"]
    assert ".globl megtrim_no_name\n" in shipped["megtrim_no_name.S"]
    assert shipped["megtrim_no_name.S"] == named["megtrim_no_name.S"]
    assert named["megtrim_named_stubs.S"].endswith("megtrim_stubs:\nSTUB(0)\nSTUB(1)\nSTUB(2)\n")
    assert "void megtrim_stub_ran(void)" in named["megtrim_stub_ran.c"]


@pytest.mark.parametrize(
    ("stderr", "name"),
    [
        ("megtrim: function #1 is not kept\n", "b"),
        ("loading\nhalf a linemegtrim: function #0 is not kept\nTrace trap", "a"),
        ("megtrim: function #2 is not kept\n", None),
        ("megtrim: function #99999999999 is not kept\n", None),
        ("megtrim: function #-1 is not kept\n", None),
        ("Trace trap\n", None),
        ("", None),
    ],
)
def test_what_a_build_for_diagnosis_says_is_read_back(stderr: str, name: str | None) -> None:
    assert not_kept(stderr, ("a", "b")) == name
