"""What is known of a function that was left out: its size before the trim, and its callers."""

import pytest

from megtrim.core.functions.calls import Disassembly, parse_code
from megtrim.core.functions.left_out import LeftOutFunction, find_left_out, find_spelled_so
from megtrim.libs.elf.layout import X86_64
from megtrim.libs.elf.symbol_table import parse_table
from unit.core.functions.made_links import Symbol, linked

RUN = "_ZN3mgb3runEi"
LOAD = "_ZN3mgb4loadEv"
HELPER = "_ZN3mgb6helperEv"
_BYTES = 16


@pytest.fixture
def code() -> Disassembly:
    """``load`` and ``helper`` call ``run``, which calls itself."""
    calls = {RUN: RUN, LOAD: RUN, HELPER: RUN}
    places = {name: _BYTES * at for at, name in enumerate(calls)}
    content = b""
    for caller, called in calls.items():
        distance = places[called] - (places[caller] + 5)
        content += (b"\xe8" + distance.to_bytes(4, "little", signed=True)).ljust(_BYTES, b"\x90")
    symbols = [Symbol(name=name, at=at, size=_BYTES) for name, at in places.items()]
    data = linked(symbols, code=content, machine=X86_64)
    return parse_code(data, parse_table(data, source="x"), source="x")


def test_callers_are_listed_by_whether_they_were_kept(code: Disassembly) -> None:
    assert find_left_out("mgb::run", {RUN, HELPER}, code) == (
        LeftOutFunction(
            name=RUN,
            size_bytes=_BYTES,
            called_by_kept=(LOAD,),
            called_by_left_out=(HELPER,),
        ),
    )


def test_what_nothing_calls_has_no_callers(code: Disassembly) -> None:
    (found,) = find_left_out(HELPER, {HELPER}, code)

    assert (found.called_by_kept, found.called_by_left_out) == ((), ())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (RUN, (RUN,)),
        ("mgb::run", (RUN,)),
        ("mgb::run(int)", (RUN,)),
        ("mgb::run(long)", ()),
        ("run", ()),
        ("mgb", ()),
        ("", ()),
    ],
)
def test_a_function_is_named_whole(text: str, names: tuple[str, ...]) -> None:
    assert find_spelled_so(text, [HELPER, LOAD, RUN]) == names
