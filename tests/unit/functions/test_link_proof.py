"""The proof of a link without some functions, and what each kind of wrong link is shown as."""

from __future__ import annotations

from dataclasses import replace

import pytest

from megtrim.elf.symbol_table import FunctionTable, parse_table
from megtrim.functions.calls import parse_code
from megtrim.functions.link_proof import expect_known, prove
from megtrim.util.errors import ProductFailure
from unit.functions.made_links import CODE_AT, Symbol, functions, linked

BEFORE = functions(
    ("main", 0, 40), ("_Z4usedv", 40, 40), ("_Z4gonev", 80, 40), ("_ZL6secretv", 120, 40)
)
STUB = ("megtrim_stub", 200, 4)
AFTER = functions(("main", 0, 40), ("_Z4usedv", 40, 40), ("_Z4gonev", 200, 0), STUB)
DROPPED = ("_Z4gonev", "_ZL6secretv")


def reported(before: FunctionTable, after: FunctionTable, **options: object) -> str:
    given: dict[str, object] = {
        "kept": ("main", "_Z4usedv"),
        "dropped": DROPPED,
        "source": "lar",
    }
    try:
        prove(before, after, **(given | options))  # type: ignore[arg-type]
    except ProductFailure as failure:
        assert failure.hint
        return failure.message
    return ""


def test_a_link_without_what_it_should_is_proven() -> None:
    """What was dropped leads to the stub, and what ran is where it was."""
    assert reported(BEFORE, AFTER) == ""


@pytest.mark.parametrize(
    "gone",
    [
        [],
        [("_Z4gonev", 80, 4)],
        [("_Z4gonev", 200, 0), ("_Z4gonev", 80, 40)],
        [("_Z4gonev", 200, 0), ("_ZL6secretv", 120, 40)],
    ],
    ids=["no name left", "emptied", "an internal one of that name", "an internal one stayed"],
)
def test_other_ways_to_be_gone(gone: list[tuple[str, int, int]]) -> None:
    """An assignment cannot reach internal functions, so they may be there or not."""
    after = functions(("main", 0, 40), ("_Z4usedv", 40, 40), STUB, *gone)

    assert reported(BEFORE, after) == ""


def test_a_link_with_crash_ids_has_a_stub_for_each() -> None:
    """None at all, if nothing refers to what was left out."""
    own = (("megtrim_stub_0", 200, 4), ("_Z4gonev", 200, 0))
    kept = (("main", 0, 40), ("_Z4usedv", 40, 40))

    assert reported(BEFORE, functions(*kept, *own), numbered=True) == ""
    assert reported(BEFORE, functions(*kept), numbered=True) == ""
    still = functions(*kept, ("_Z4gonev", 80, 40))
    assert "are still there: gone()" in reported(BEFORE, still, numbered=True)
    lost = functions(*kept, *own, ("_Z4usedv", 200, 0))
    assert "became stubs: used()" in reported(BEFORE, lost, numbered=True)


def test_an_emptied_function_is_smaller_on_x86_64() -> None:
    before = replace(BEFORE, machine="x86_64")
    parts = (("main", 0, 40), ("_Z4usedv", 40, 40), STUB)

    for size_bytes, said in ((2, ""), (4, "lar: functions that were to be left out are still")):
        after = functions(*parts, ("_Z4gonev", 80, size_bytes), machine="x86_64")
        assert reported(before, after).startswith(said)
        assert bool(reported(before, after)) is bool(said)


def test_a_demangler_leads_to_its_substitute() -> None:
    before = functions(("__cxa_demangle", 0, 400), ("main", 400, 40))
    parts = (("megtrim_no_name", 220, 20), STUB, ("main", 0, 40))
    dropped = ["__cxa_demangle"]

    for place, said in ((220, ""), (300, "lar: functions that were to be left out are still")):
        after = functions(("__cxa_demangle", place, 0), *parts)
        assert reported(before, after, dropped=dropped, kept=["main"]).startswith(said)
        assert bool(reported(before, after, dropped=dropped, kept=["main"])) is bool(said)


def test_a_linker_that_does_not_override_is_found_out() -> None:
    many = [(f"_Z5gone{number}v", 1000 + 40 * number, 40) for number in range(7)]
    names = [name for name, _, _ in many]
    before, after = functions(*many), functions(STUB, *many)

    assert reported(before, after, dropped=names, kept=()) == (
        "lar: functions that were to be left out are still there: "
        "gone0(), gone1(), gone2() and 4 more"
    )


def test_a_link_without_its_stub_is_found_out() -> None:
    """Then nothing of it was taken; where nothing is dropped, none is needed."""
    after = functions(("main", 0, 40), ("_Z4usedv", 40, 40))

    assert reported(BEFORE, after) == (
        "lar: the stub for functions that are left out is not in the link"
    )
    assert reported(BEFORE, after, dropped=()) == ""


def test_a_name_that_the_link_never_had_is_not_shown_as_one_that_went() -> None:
    """Someone changed the list: that it misses a function is not what is wrong with it."""
    with pytest.raises(ProductFailure) as caught:
        expect_known(BEFORE, ("main", "_Z5ghostv"), source="lar")

    assert caught.value.message == (
        "lar: functions on the list are not in the link that it belongs to: ghost()"
    )
    assert caught.value.hint == (
        "the list was changed after it was recorded: record it again: megtrim trim --accept"
    )


def test_a_function_that_is_needed_and_gone_is_found_out() -> None:
    """Its last caller was dropped, or the member of an archive that holds it."""
    after = functions(("main", 0, 40), ("_Z4gonev", 200, 0), STUB)

    assert reported(BEFORE, after) == "lar: functions that are needed are no longer there: used()"
    assert reported(BEFORE, after, kept=["main"]) == ""


def test_who_called_what_is_gone_is_shown() -> None:
    """That is the function which is missing from the list."""
    call = (0x97FFFFFE).to_bytes(4, "little")  # bl, two instructions back
    data = linked(
        [
            Symbol(name="_Z4usedv", at=0, size=4),
            Symbol(name="_Z4gonev", at=4, size=8),
            Symbol(name="_Z5otherv", at=12, size=4),
        ],
        code=bytes(8) + call + bytes(52),
    )
    before = parse_table(data, source="x")
    code = parse_code(data, before, source="x")
    dropped = ("_Z4gonev", "_Z5otherv")

    assert reported(before, functions(STUB), kept=["_Z4usedv"], dropped=dropped, code=code) == (
        "lar: functions that are needed are no longer there: used(); called by gone()"
    )
    assert code.callers(["_Z4usedv"], dropped) == ("_Z4gonev",)
    assert before.entry == CODE_AT


def test_a_needed_function_that_became_a_stub_is_found_out() -> None:
    """By a list of another link; one that was nothing but a trap may share the stub's place."""
    after = functions(("main", 0, 40), ("_Z4usedv", 200, 0), ("_Z4gonev", 200, 0), STUB)
    trap = functions(("main", 0, 40), ("_Z4usedv", 40, 4), ("_Z4gonev", 80, 40))

    assert reported(BEFORE, after) == "lar: functions that are needed became stubs: used()"
    assert reported(trap, after) == ""


def test_the_smallest_function_that_does_something_is_no_trap() -> None:
    """Two instructions, of which one may be the call that matters."""
    before = functions(("main", 0, 40), ("_Z4usedv", 40, 8), ("_Z4gonev", 80, 40))
    after = functions(("main", 0, 40), ("_Z4usedv", 200, 0), ("_Z4gonev", 200, 0), STUB)

    assert reported(before, after) == "lar: functions that are needed became stubs: used()"


def test_what_a_link_does_in_advance_is_not_lost() -> None:
    """Optimised as a whole, the base build's own link has one less than the unfolded one."""
    before, after = replace(BEFORE, registrations=42), replace(AFTER, registrations=41)

    assert reported(before, after, registrations=41) == ""
    assert reported(before, after, registrations=42).startswith(
        "lar: 41 functions are called before"
    )


def test_lost_registrations_are_found_out() -> None:
    """The program would run, and know nothing of what was to be registered."""
    before, after = replace(BEFORE, registrations=42), replace(AFTER, registrations=41)

    assert reported(before, after) == (
        "lar: 41 functions are called before main, expected 42: something is no longer registered"
    )
    assert reported(BEFORE, after) == ""


def test_names_that_others_use_are_still_offered() -> None:
    before = replace(BEFORE, exported=frozenset({"offered", "more"}))
    after = replace(AFTER, exported=frozenset({"offered"}))

    assert reported(before, after) == "lar: names are no longer exported: more"


def test_names_that_a_link_offers_again_are_found_out() -> None:
    """A stub that others see would stand in for a function of theirs."""
    after = replace(AFTER, exported=frozenset({"megtrim_stub"}))

    assert reported(BEFORE, after) == "lar: names became exported: megtrim_stub"
