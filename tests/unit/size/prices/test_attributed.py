"""What would go from a program: with functions, with regions, with operators."""

from __future__ import annotations

from dataclasses import replace

from megtrim.midout.keepset_parts import NeededParts
from megtrim.midout.region import Region
from megtrim.size.prices.attributed import TRAP_BYTES
from unit.size.prices.made_prices import EXTENTS, FIRST, PLAN_BYTES, SECOND, make_program


def gone(
    *regions: Region,
    functions: frozenset[str] = frozenset(),
    operators: frozenset[str] = frozenset(),
) -> NeededParts:
    """Return what leaves."""
    return NeededParts(regions=frozenset(regions), functions=functions, operators=operators)


def test_nothing_gone_costs_nothing() -> None:
    """All that is reached stays."""
    assert make_program().price(gone()) == 0


def test_a_function_takes_what_only_it_refers_to() -> None:
    """Of several, each takes what is only theirs."""
    program = make_program()

    assert program.price(gone(functions=frozenset({"mul"}))) == 1064
    assert program.price(gone(functions=frozenset({"mul", "sum"}))) == 1564


def test_what_is_already_left_out_has_no_price() -> None:
    """It has no bytes in the program."""
    assert make_program().price(gone(functions=frozenset({"old"}))) == 0


def test_a_region_takes_its_share_and_its_references() -> None:
    """The function stays, with the other region; so does what both refer to."""
    price = make_program().price(gone(FIRST))

    assert price == 1064 + round(0.6 * (PLAN_BYTES - TRAP_BYTES))


def test_without_its_last_region_a_trap_remains() -> None:
    """And nothing refers to what both called."""
    price = make_program().price(gone(FIRST, SECOND))

    assert price == 1064 + 500 + 30 + PLAN_BYTES - TRAP_BYTES


def test_a_trap_does_not_refer_to_what_the_profile_build_inlined() -> None:
    """Of which region a reference is that only the trimmed program has is not known otherwise."""
    known = EXTENTS["plan"]
    extents = {"plan": replace(known, references={"mul": known.references["mul"]})}
    program = replace(make_program(), extents=extents)

    assert program.price(gone(FIRST)) == 1064 + round(0.6 * (PLAN_BYTES - TRAP_BYTES))
    assert program.price(gone(FIRST, SECOND)) == 1064 + 500 + 30 + PLAN_BYTES - TRAP_BYTES


def test_without_a_profile_build_regions_have_no_price() -> None:
    """Where they are is not known."""
    assert make_program(extents=False).price(gone(FIRST)) == 0


def test_an_operator_is_reached_from_where_it_registers() -> None:
    """Its maker goes; an operator with a similar name takes nothing."""
    program = make_program()

    assert program.price(gone(operators=frozenset({"Conv"}))) == 700
    assert program.price(gone(operators=frozenset({"Con"}))) == 0
