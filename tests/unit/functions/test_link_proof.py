from __future__ import annotations

from dataclasses import replace

import pytest

from megtrim.elf.symbol_table import FunctionTable, parse_table
from megtrim.functions.calls import parse_code
from megtrim.functions.linker_script import expect_known, prove
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


STAYED = (("main", 0, 40), ("_Z4usedv", 40, 40))
STILL = "lar: functions that were to be left out are still there: "
NUMBERED = (*STAYED, ("megtrim_stub_0", 200, 4), ("_Z4gonev", 200, 0))


@pytest.mark.parametrize(
    ("after", "options", "said"),
    [
        # An assignment cannot reach internal functions, so they may be there or not.
        (AFTER, {}, ""),
        (functions(*STAYED, STUB), {}, ""),
        (functions(*STAYED, STUB, ("_Z4gonev", 80, 4)), {}, ""),
        (functions(*STAYED, STUB, ("_Z4gonev", 200, 0), ("_Z4gonev", 80, 40)), {}, ""),
        (functions(*STAYED, STUB, ("_Z4gonev", 200, 0), ("_ZL6secretv", 120, 40)), {}, ""),
        # With crash ids there is a stub for each: none at all, if nothing refers to it.
        (functions(*NUMBERED), {"numbered": True}, ""),
        (functions(*STAYED), {"numbered": True}, ""),
        (functions(*STAYED, ("_Z4gonev", 80, 40)), {"numbered": True}, f"{STILL}gone()"),
        (
            functions(*NUMBERED, ("_Z4usedv", 200, 0)),
            {"numbered": True},
            "lar: functions that are needed became stubs: used()",
        ),
        # Where nothing is dropped, no stub is needed.
        (
            functions(*STAYED),
            {},
            "lar: the stub for functions that are left out is not in the link",
        ),
        (functions(*STAYED), {"dropped": ()}, ""),
        # Its last caller was dropped, or the member of an archive that holds it.
        (
            functions(("main", 0, 40), ("_Z4gonev", 200, 0), STUB),
            {},
            "lar: functions that are needed are no longer there: used()",
        ),
        (functions(("main", 0, 40), ("_Z4gonev", 200, 0), STUB), {"kept": ["main"]}, ""),
        # A stub that others see would stand in for a function of theirs.
        (
            replace(AFTER, exported=frozenset({"megtrim_stub"})),
            {},
            "lar: names became exported: megtrim_stub",
        ),
    ],
    ids=[
        *("proven", "no name left", "emptied", "an internal one of that name"),
        *("an internal one stayed", "numbered", "no number", "numbered and there", "lost"),
        *("no stub", "none needed", "needed and gone", "gone", "exported"),
    ],
)
def test_a_link_without_what_it_should_is_proven(
    after: FunctionTable, options: dict[str, object], said: str
) -> None:
    assert reported(BEFORE, after, **options) == said


@pytest.mark.parametrize(("size_bytes", "said"), [(2, ""), (4, f"{STILL}gone()")])
def test_an_emptied_function_is_smaller_on_x86_64(size_bytes: int, said: str) -> None:
    """Its trap has two bytes, and four may do something."""
    after = functions(*STAYED, STUB, ("_Z4gonev", 80, size_bytes), machine="x86_64")

    assert reported(replace(BEFORE, machine="x86_64"), after) == said


@pytest.mark.parametrize(("place", "said"), [(220, ""), (300, f"{STILL}__cxa_demangle")])
def test_a_demangler_leads_to_its_substitute(place: int, said: str) -> None:
    before = functions(("__cxa_demangle", 0, 400), ("main", 400, 40))
    after = functions(
        ("__cxa_demangle", place, 0), ("megtrim_no_name", 220, 20), STUB, ("main", 0, 40)
    )

    assert reported(before, after, dropped=["__cxa_demangle"], kept=["main"]) == said


def test_a_linker_that_does_not_override_is_found_out() -> None:
    many = [(f"_Z5gone{number}v", 1000 + 40 * number, 40) for number in range(7)]
    names = [name for name, _, _ in many]
    before, after = functions(*many), functions(STUB, *many)

    assert reported(before, after, dropped=names, kept=()) == (
        "lar: functions that were to be left out are still there: "
        "gone0(), gone1(), gone2() and 4 more"
    )


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


def test_who_called_what_is_gone_is_shown() -> None:
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


@pytest.mark.parametrize(("size_bytes", "trap"), [(40, False), (8, False), (4, True)])
def test_a_needed_function_that_became_a_stub_is_found_out(size_bytes: int, trap: bool) -> None:
    """By a list of another link; one that was nothing but a trap may share the stub's place.

    Of two instructions, one may be the call that matters.
    """
    before = functions(("main", 0, 40), ("_Z4usedv", 40, size_bytes), ("_Z4gonev", 80, 40))
    after = functions(("main", 0, 40), ("_Z4usedv", 200, 0), ("_Z4gonev", 200, 0), STUB)

    said = "lar: functions that are needed became stubs: used()"
    assert reported(before, after) == ("" if trap else said)


@pytest.mark.parametrize(
    ("options", "lost"), [({}, True), ({"registrations": 42}, True), ({"registrations": 41}, False)]
)
def test_lost_registrations_are_found_out(options: dict[str, int], lost: bool) -> None:
    """The program would run, and know nothing of what was to be registered.

    Optimised as a whole, the base build's own link may have one less than the unfolded one.
    """
    before, after = replace(BEFORE, registrations=42), replace(AFTER, registrations=41)

    said = "41 functions are called before main, expected 42: something is no longer registered"
    assert reported(before, after, **options) == (f"lar: {said}" if lost else "")


def test_names_that_others_use_are_still_offered() -> None:
    before = replace(BEFORE, exported=frozenset({"offered", "more"}))
    after = replace(AFTER, exported=frozenset({"offered"}))

    assert reported(before, after) == "lar: names are no longer exported: more"
