import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.core.functions import linker_script
from megtrim.core.functions.calls import parse_code
from megtrim.core.functions.observables import Observables
from megtrim.libs.elf.symbol_table import FunctionTable, parse_table
from megtrim.libs.util.errors import InputError, ProductFailure
from unit.core.functions.made_links import CODE_AT, DATA, Symbol, functions, linked, table


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

    assert linker_script.droppable(found, ["ran"], seen) == ("_Z3fiv", "_ZL3fiv")
    assert linker_script.droppable(found, [], every) == ("_Z3fiv", "_ZL3fiv", "memcpy", "ran")


def test_what_shares_code_goes_together() -> None:
    found = table(*(Symbol(name=name) for name in "abcd"), dynamic=(Symbol(name="d"),))
    seen = Observables(link_sha256="6e" * 32, groups=(("a", "b"), ("c", "d")))

    assert linker_script.droppable(found, [], seen) == ("a", "b")
    assert linker_script.droppable(found, ["b"], seen) == ()


def test_what_has_a_name_for_its_own_object_alone_stays() -> None:
    """Of both names, an assignment reaches one: code that compares them would find them unequal."""
    names = ("_ZN1AD0Ev", "_ZN1AD0Ev.localalias", "b", "b.localalias.3", "b_too", "c", "c.part.0")
    found = table(*(Symbol(name=name) for name in names))
    groups = (names[:2], names[2:5], ("c",), ("c.part.0",))
    seen = Observables(link_sha256="6e" * 32, groups=groups)

    assert linker_script.droppable(found, [], seen) == ("c", "c.part.0")


def test_the_shipped_link_has_one_stub_for_all() -> None:
    names = ["_Z3foov", "_ZL3barv", "__cxa_demangle", "a.cold"]
    assert linker_script.script([each] for each in names) == (
        'HIDDEN("_Z3foov" = megtrim_stub);\n'
        'HIDDEN("__cxa_demangle" = megtrim_no_name);\n'
        'HIDDEN("a.cold" = megtrim_stub);\n'
    )


def test_names_of_one_function_share_a_stub_where_its_address_is_taken() -> None:
    groups = [["first", "also"], ["second"], ["third"]]

    assert linker_script.script(groups, {"also", "third"}) == (
        'HIDDEN("first" = megtrim_stub_0);\n'
        'HIDDEN("also" = megtrim_stub_0);\n'
        'HIDDEN("second" = megtrim_stub);\n'
        'HIDDEN("third" = megtrim_stub_2);\n'
    )
    sources = linker_script.apart_sources(groups, {"also", "third"})
    assert sources[-1][1].endswith("STUB(0)\nSTUB(2)\n")
    assert linker_script.apart_sources(groups, ()) == linker_script.SOURCES


def test_the_link_for_diagnosis_has_a_stub_for_each() -> None:
    assert linker_script.named_script(["_Z3foov", "_ZL3barv", "__cxa_demangle", "a.cold"]) == (
        'HIDDEN("_Z3foov" = megtrim_stub_0);\n'
        'HIDDEN("__cxa_demangle" = megtrim_no_name);\n'
        'HIDDEN("a.cold" = megtrim_stub_3);\n'
    )


def test_a_link_with_crash_ids_has_a_numbered_stub_for_each() -> None:
    (name, text), (no_name, _) = linker_script.numbered_sources(3)

    assert (name, no_name) == ("megtrim_numbered_stubs.S", "megtrim_no_name.S")
    assert text.endswith("STUB(0)\nSTUB(1)\nSTUB(2)\n")
    assert [
        linker_script.is_stub(each)
        for each in (
            linker_script.STUB,
            f"{linker_script.STUB}_0",
            f"{linker_script.STUB}_x",
            f"{linker_script.STUB}s",
            "main",
        )
    ] == [True, True, False, False, False]


@pytest.mark.parametrize("name", ['a"', "a\nb", "", "a b", "a;b", "ä"])
def test_no_name_breaks_out_of_a_script(name: str) -> None:
    for write in (linker_script.script, linker_script.named_script):
        with pytest.raises(InputError, match="expected a name that is allowed in a linker"):
            write(["fine", name])


def test_exports_are_hidden_by_references_and_that_is_checked() -> None:
    ((_, text),) = linker_script.hiding_sources(["_Z3foov"])

    assert text.startswith('.globl "_Z3foov"\n.hidden "_Z3foov"\n')
    assert linker_script.hiding_sources([]) == ()
    with pytest.raises(ProductFailure, match="names that cannot be hidden: a;b"):
        linker_script.hiding_sources(["a;b"])
    found = table(Symbol(name="a"), dynamic=(Symbol(name="a"),))
    with pytest.raises(ProductFailure, match=r"^lib: names are still exported: a\n"):
        linker_script.expect_hidden(found, ["a", "b"], source="lib")


@given(st.lists(st.text(max_size=6), max_size=6))
def test_a_script_is_assignments_alone(names: list[str]) -> None:
    try:
        text = linker_script.script([each] for each in names)
    except InputError:
        return

    assert re.fullmatch(r'(HIDDEN\("[\w.$]+" = megtrim_stub\);\n)*', text, re.ASCII)


def test_sources_define_what_scripts_refer_to() -> None:
    shipped = dict(linker_script.SOURCES)
    named = dict(linker_script.named_sources(3))

    assert f".globl {linker_script.STUB}\n" in shipped["megtrim_stub.S"]
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
    assert linker_script.not_kept(stderr, ("a", "b")) == name


BEFORE = functions(
    ("main", 0, 40), ("_Z4usedv", 40, 40), ("_Z4gonev", 80, 40), ("_ZL6secretv", 120, 40)
)
THE_STUB = ("megtrim_stub", 200, 4)
AFTER = functions(("main", 0, 40), ("_Z4usedv", 40, 40), ("_Z4gonev", 200, 0), THE_STUB)
DROPPED = ("_Z4gonev", "_ZL6secretv")


def reported(before: FunctionTable, after: FunctionTable, **options: object) -> str:
    given: dict[str, object] = {"kept": ("main", "_Z4usedv"), "dropped": DROPPED, "source": "lar"}
    try:
        linker_script.prove(before, after, **(given | options))  # type: ignore[arg-type]
    except ProductFailure as failure:
        assert failure.hint
        return failure.message
    return ""


STAYED = (("main", 0, 40), ("_Z4usedv", 40, 40))
STILL = "lar: functions that were to be left out are still there: "
NUMBERED = (*STAYED, ("megtrim_stub_0", 200, 4), ("_Z4gonev", 200, 0))


@pytest.mark.parametrize(
    ("after", "options", "said"),
    [
        # An assignment cannot reach internal functions, so they may be there or not.
        (AFTER, {}, ""),
        (functions(*STAYED, THE_STUB), {}, ""),
        (functions(*STAYED, THE_STUB, ("_Z4gonev", 80, 4)), {}, ""),
        (functions(*STAYED, THE_STUB, ("_Z4gonev", 200, 0), ("_Z4gonev", 80, 40)), {}, ""),
        (functions(*STAYED, THE_STUB, ("_Z4gonev", 200, 0), ("_ZL6secretv", 120, 40)), {}, ""),
        # With crash ids there is a stub for each: none at all, if nothing refers to it.
        (functions(*NUMBERED), {"numbered": True}, ""),
        (functions(*STAYED), {"numbered": True}, ""),
        (functions(*STAYED, ("_Z4gonev", 80, 40)), {"numbered": True}, f"{STILL}gone()"),
        (
            functions(*NUMBERED, ("_Z4usedv", 200, 0)),
            {"numbered": True},
            "lar: functions that are needed became stubs: used()",
        ),
        # Nor is there one for all, if only local functions went, which were emptied in place.
        (functions(*STAYED), {}, ""),
        (functions(*STAYED, ("_ZL6secretv", 120, 4)), {"dropped": DROPPED[1:]}, ""),
        (functions(*STAYED, ("_Z4gonev", 80, 40)), {}, f"{STILL}gone()"),
        (functions(*STAYED), {"dropped": ()}, ""),
        # Its last caller was dropped, or the member of an archive that holds it.
        (
            functions(("main", 0, 40), ("_Z4gonev", 200, 0), THE_STUB),
            {},
            "lar: functions that are needed are no longer there: used()",
        ),
        (functions(("main", 0, 40), ("_Z4gonev", 200, 0), THE_STUB), {"kept": ["main"]}, ""),
        # A stub that others see would stand in for a function of theirs.
        (
            replace(AFTER, exported=frozenset({"megtrim_stub"})),
            {},
            "lar: names became exported: megtrim_stub",
        ),
    ],
    ids=[
        "proven",
        "no name left",
        "emptied",
        "an internal one of that name",
        "an internal one stayed",
        "numbered",
        "no number",
        "numbered and there",
        "lost",
        "no stub",
        "emptied, no stub",
        "there, no stub",
        "none needed",
        "needed and gone",
        "gone",
        "exported",
    ],
)
def test_a_link_without_what_it_should_is_proven(
    after: FunctionTable, options: dict[str, object], said: str
) -> None:
    assert reported(BEFORE, after, **options) == said


def test_a_name_whose_stub_went_is_gone() -> None:
    """GNU ld drops a stub that only local code would use, and its name remains, in no section."""
    rare = "_Z4usedv.cold"
    before = table(Symbol(name="main"), Symbol(name=rare, at=8, size=16))
    after = table(Symbol(name="main"), Symbol(name=rare, size=0, absolute=True))

    assert rare not in after.names
    assert reported(before, after, kept=["main"], dropped=[rare], numbered=True) == ""
    assert reported(before, before, kept=["main"], dropped=[rare], numbered=True) == (
        f"{STILL}used() [clone .cold]"
    )


@pytest.mark.parametrize(("size_bytes", "said"), [(2, ""), (4, f"{STILL}gone()")])
def test_an_emptied_function_is_smaller_on_x86_64(size_bytes: int, said: str) -> None:
    """Its trap has two bytes, and four may do something."""
    after = functions(*STAYED, THE_STUB, ("_Z4gonev", 80, size_bytes), machine="x86_64")

    assert reported(replace(BEFORE, machine="x86_64"), after) == said


@pytest.mark.parametrize(("place", "said"), [(220, ""), (300, f"{STILL}__cxa_demangle")])
def test_a_demangler_leads_to_its_substitute(place: int, said: str) -> None:
    before = functions(("__cxa_demangle", 0, 400), ("main", 400, 40))
    substitute = ("megtrim_no_name", 220, 20)
    after = functions(("__cxa_demangle", place, 0), substitute, THE_STUB, ("main", 0, 40))

    assert reported(before, after, dropped=["__cxa_demangle"], kept=["main"]) == said


def test_a_linker_that_does_not_override_is_found_out() -> None:
    many = [(f"_Z5gone{number}v", 1000 + 40 * number, 40) for number in range(7)]
    names = [name for name, _, _ in many]
    before = functions(*many)
    after = functions(THE_STUB, *many)

    assert reported(before, after, dropped=names, kept=()) == (
        "lar: functions that were to be left out are still there: "
        "gone0(), gone1(), gone2() and 4 more"
    )


def test_a_name_that_the_link_never_had_is_not_shown_as_one_that_went() -> None:
    """Someone changed the list: that it misses a function is not what is wrong with it."""
    with pytest.raises(ProductFailure) as caught:
        linker_script.expect_known(BEFORE, ("main", "_Z5ghostv"), source="lar")

    assert str(caught.value) == (
        "lar: functions on the list are not in the link that it belongs to: ghost()\n"
        "  the list was changed after it was recorded: record it again: megtrim trim --accept"
    )


def test_who_called_what_is_gone_is_shown() -> None:
    call = (0x97FFFFFE).to_bytes(4, "little")  # bl, two instructions back
    placed = (("_Z4usedv", 0, 4), ("_Z4gonev", 4, 8), ("_Z5otherv", 12, 4))
    symbols = [Symbol(name=name, at=at, size=size) for name, at, size in placed]
    data = linked(symbols, code=bytes(8) + call + bytes(52))
    before = parse_table(data, source="x")
    code = parse_code(data, before, source="x")
    dropped = ("_Z4gonev", "_Z5otherv")

    assert reported(before, functions(THE_STUB), kept=["_Z4usedv"], dropped=dropped, code=code) == (
        "lar: functions that are needed are no longer there: used(); called by gone()"
    )
    assert code.callers(["_Z4usedv"], dropped) == ("_Z4gonev",)
    assert before.entry == CODE_AT


@pytest.mark.parametrize(("size_bytes", "trap"), [(40, False), (8, False), (4, True)])
def test_a_needed_function_that_became_a_stub_is_found_out(size_bytes: int, trap: bool) -> None:
    """By a list of another link; one that was nothing but a trap may share the stub's place.

    Of two instructions, one may be the call that matters.
    """
    before = functions(("main", 0, 40), ("_Z4usedv", 40, size_bytes), ("_Z4gonev", 80, 40))
    after = functions(("main", 0, 40), ("_Z4usedv", 200, 0), ("_Z4gonev", 200, 0), THE_STUB)

    said = "lar: functions that are needed became stubs: used()"
    assert reported(before, after) == ("" if trap else said)


@pytest.mark.parametrize(
    ("options", "lost"), [({}, True), ({"registrations": 42}, True), ({"registrations": 41}, False)]
)
def test_lost_registrations_are_found_out(options: dict[str, int], lost: bool) -> None:
    """The program would run, and know nothing of what was to be registered.

    Optimised as a whole, the base build's own link may have one less than the unfolded one.
    """
    before = replace(BEFORE, registrations=42)
    after = replace(AFTER, registrations=41)

    said = "41 functions are called before main, expected 42, so the link lost a registration"
    assert reported(before, after, **options) == (f"lar: {said}" if lost else "")


def test_names_that_others_use_are_still_offered() -> None:
    before = replace(BEFORE, exported=frozenset({"offered", "more"}))
    after = replace(AFTER, exported=frozenset({"offered"}))

    assert reported(before, after) == "lar: names are no longer exported: more"
