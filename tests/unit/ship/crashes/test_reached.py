from dataclasses import replace

import pytest

from megtrim.libs.elf.symbol_table import Function
from megtrim.libs.util.errors import InputError
from megtrim.ship.crashes.program import TrimmedProgram
from megtrim.ship.crashes.reached import parse_record, price
from unit.ship.crashes.made_programs import FIRST, ID, SECOND, STAYS, UNUSED, program

AT = 0x20000
BEHIND = 0x20010
LINE = f"{ID} {AT:08x}\n"


def deferring() -> TrimmedProgram:
    """Two functions are one at the end of the file, and a larger one follows."""
    places = ((FIRST, AT, 16), (UNUSED, AT, 16), (SECOND, BEHIND, 32))
    made = program()
    functions = (*made.table.functions[:2], *(Function(*each) for each in places))
    return replace(made, table=replace(made.table, functions=functions))


def test_what_was_reached_has_a_price() -> None:
    """The largest first; a function that was called in two runs counts once."""
    record = parse_record(f"{LINE}{ID} {BEHIND:08x}\n{LINE}".encode(), source="r")

    assert record == {(ID, AT): "r:1", (ID, BEHIND): "r:2"}
    assert price(record, [deferring()]) == {("second(int)",): 32, ("first()", "unused()"): 16}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ""),
        (LINE[:-1], "r:1: found"),
        (f"{LINE}\n", "r:2: found b'\\n', expected a build id and an address"),
        (f"{LINE}{LINE[:-2]}g\n", "r:2: found"),
        (f"{LINE} {LINE}", "r:2: found"),
        (LINE.replace("\n", "\r\n"), "r:1: found"),
        (LINE.upper(), "r:1: found"),
        (f"{'0' * 40} 00020000\n", f"r:1: of the build {'0' * 40}, and here is {ID}"),
        (f"{ID} 00020004\n", "r:1: no deferred function of app begins at that address"),
        (f"{ID} {STAYS:08x}\n", "r:1: no deferred function of app begins at that address"),
        (f"{ID} ffffffffffffffff\n", "r:1: no deferred function of app begins"),
        ("\x00" * 70, "r:1: found"),
    ],
)
def test_another_record_is_refused(text: str, said: str) -> None:
    try:
        price(parse_record(text.encode(), source="r"), [deferring()])
        found = ""
    except InputError as error:
        found = error.message
    assert found.startswith(said)
    assert bool(found) == bool(said)
