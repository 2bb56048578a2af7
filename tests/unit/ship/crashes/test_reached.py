from dataclasses import replace

import pytest

from megtrim.libs.elf.symbol_table import Function
from megtrim.libs.util.errors import InputError
from megtrim.ship.crashes.program import TrimmedProgram
from megtrim.ship.crashes.reached import describe_passed_over, join_records, parse_record, price
from support.made_programs import FIRST, ID, SECOND, STAYS, UNUSED
from support.made_programs import OTHER as OTHER_AT
from unit.ship.crashes.made_programs import program

AT = 0x20000
BEHIND = 0x20010
LINE = f"{ID} {AT:08x}\n"


def deferring() -> TrimmedProgram:
    """Two functions are one at the end of the file, and a larger one follows."""
    places = ((FIRST, AT, 16), (UNUSED, AT, 16), (SECOND, BEHIND, 32))
    made = program()
    functions = (*made.table.functions[:2], *(Function(*each) for each in places))
    return replace(made, table=replace(made.table, functions=functions))


OTHER = LINE.replace(ID, "1" * 40)
THIRD = LINE.replace(ID, "2" * 40)
BEFORE = f"{ID} {BEHIND:08x}\n"
BOTH = (("second(int)",), ("first()", "unused()"))
LOGCAT = "11-24 03:04:05.678  4800  4800 I app     : "
BRIEF = "I/app     ( 4711): "
ZEROS = "\0" * 4096


def test_what_was_reached_has_a_price() -> None:
    """The largest first; a function that was called in two runs counts once."""
    record = parse_record(f"{LINE}{ID} {BEHIND:08x}\n{LINE}".encode(), source="r")

    places = {function: [each.place for each in said] for function, said in record.calls.items()}
    assert places == {(ID, AT): ["r:1", "r:3"], (ID, BEHIND): ["r:2"]}
    found = price(record, [deferring()])
    assert found.prices == {("second(int)",): 32, ("first()", "unused()"): 16}
    assert found.passed_over == {}


def prefix(text: str, words: str) -> str:
    return "".join(f"{words}{line}" for line in text.splitlines(keepends=True))


_NO_ADDRESS = "with an address where no deferred function of app begins"
_TORN = "of zeros, from a write that was torn"
_OTHER = "without a build id and an address"
DAMAGED: dict[str, tuple[str | bytes, dict[str, int]]] = {
    "nothing": (BEFORE + LINE, {}),
    "an older build's line": (OTHER + BEFORE + LINE, {f"of the build {'1' * 40}": 1}),
    "two older builds' lines": (
        OTHER + THIRD + BEFORE + OTHER + LINE,
        {f"of the build {'1' * 40}": 2, f"of the build {'2' * 40}": 1},
    ),
    "CRLF": ((BEFORE + LINE).replace("\n", "\r\n"), {}),
    "CRLF in one line": (BEFORE.replace("\n", "\r\n") + LINE, {}),
    "two ends of CRLF": ((BEFORE + LINE).replace("\n", "\r\r\n"), {}),
    "no last end": (BEFORE + LINE[:-1], {}),
    "empty lines": (f"\n{BEFORE}\n\n{LINE}\n", {}),
    "blanks": (f"  {BEFORE} {LINE[:-1]} \t\n", {}),
    "a cut first line": (LINE[10:] + BEFORE + LINE, {_OTHER: 1}),
    "a cut last line": (BEFORE + LINE + LINE[:30], {"cut off in the middle": 1}),
    "a cut address": (BEFORE + LINE + LINE[:-3], {"cut off in the middle": 1}),
    "a line cut in the middle of the file": (
        f"{LINE[:20]}\n{BEFORE}{LINE}",
        {"cut off in the middle": 1},
    ),
    "a cut caller": (f"{BEFORE}{LINE}{LINE[:-1]} 0000", {"cut off in the middle": 1}),
    "a run of a terminal's command": (f"run: \x1b]0;a\n{BEFORE}{LINE}", {_OTHER: 1}),
    "a run without words": (f"run: \n{BEFORE}{LINE}", {_OTHER: 1}),
    "a run that does not end": (f"run: {'a ' * 100_000}b\n{BEFORE}{LINE}", {_OTHER: 1}),
    "zeros at the end": (BEFORE + LINE + ZEROS, {_TORN: 1}),
    "zeros before": (ZEROS + BEFORE + LINE, {_TORN: 1}),
    "zeros within": (BEFORE + ZEROS + LINE, {_TORN: 1}),
    "zeros in a line": (
        f"{LINE[:20]}{ZEROS}{BEFORE}{LINE}",
        {_TORN: 1, "cut off in the middle": 1},
    ),
    "zeros twice": (f"{ZEROS}\n{BEFORE}{ZEROS}{LINE}", {_TORN: 2}),
    "logcat": (prefix(BEFORE + LINE, LOGCAT), {}),
    "logcat of a year": (prefix(BEFORE + LINE, f"2026-{LOGCAT}"), {}),
    "logcat, brief": (prefix(BEFORE + LINE, BRIEF), {}),
    "a container's log": (prefix(BEFORE + LINE, "2026-11-29T00:00:00.1Z stderr F "), {}),
    "syslog's new form": (prefix(BEFORE + LINE, "<13>1 2026-11-29T00:00:00Z h app 1 - - "), {}),
    "a kernel's log": (prefix(BEFORE + LINE, "[   12.345678] "), {}),
    "a search's file": (prefix(BEFORE + LINE, "field.log:"), {}),
    "counted lines": (prefix(BEFORE + LINE, "      3 "), {}),
    "two files with marks": (f"\ufeff{BEFORE}\ufeff{LINE}", {}),
    "CR alone": ((BEFORE + LINE).replace("\n", "\r"), {}),
    "a digit before the build id": (f"a{LINE}{BEFORE}{LINE}", {_OTHER: 1}),
    "two writers in one line": (f"{LINE[:25]}{BEFORE}{LINE[25:]}{BEFORE}{LINE}", {_OTHER: 2}),
    "logcat, once": (LOGCAT + BEFORE + LINE, {}),
    "logcat with others' lines": (
        f"--------- beginning of main\n{prefix(BEFORE + LINE, LOGCAT)}{LOGCAT}hello\n",
        {_OTHER: 2},
    ),
    "journald": (prefix(BEFORE + LINE, "Nov 28 23:01:06 host app[4711]: "), {}),
    "compose": (prefix(BEFORE + LINE, "app-1  | "), {}),
    "UTF-16": ((BEFORE + LINE).encode("utf-16"), {}),
    "UTF-16 with CRLF": ((BEFORE + LINE).replace("\n", "\r\n").encode("utf-16"), {}),
    "a mark of UTF-8": ((BEFORE + LINE).encode("utf-8-sig"), {}),
    "bytes that are no text": (b"\xff\xfe\xfd"[1:] + b"\n" + (BEFORE + LINE).encode(), {_OTHER: 1}),
    "capital letters": (BEFORE + LINE + LINE.upper(), {_OTHER: 1}),
    "two lines in one": (BEFORE + LINE + LINE[:-1] + LINE, {_OTHER: 1}),
    "two blanks": (BEFORE + LINE + LINE.replace(" ", "  "), {_OTHER: 1}),
    "no number": (BEFORE + LINE + LINE.replace(ID, "g" * 40), {_OTHER: 1}),
    "a terminal's command": (BEFORE + LINE + f"\x1b]0;{LINE}", {_OTHER: 1}),
    "a line without an end": (BEFORE + LINE + "a" * 100_000, {_OTHER: 1}),
    "an address within": (f"{BEFORE}{LINE}{ID} {AT + 4:08x}\n", {_NO_ADDRESS: 1}),
    "an address of what stays": (f"{BEFORE}{LINE}{ID} {STAYS:08x}\n", {_NO_ADDRESS: 1}),
    "an address of nothing": (f"{BEFORE}{LINE}{ID} {'f' * 16}\n", {_NO_ADDRESS: 1}),
    "the program's own words": (
        f"megtrim: the code at 0x01 is in a.rest, which is not there\n{BEFORE}{LINE}",
        {_OTHER: 1},
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_what_fits_is_used_and_the_others_are_counted(name: str) -> None:
    data, kinds = DAMAGED[name]
    raw = data if isinstance(data, bytes) else data.encode()
    found = price(parse_record(raw, source="r"), [deferring()])

    assert tuple(found.prices) == BOTH
    assert {kind: len(places) for kind, places in found.passed_over.items()} == kinds


def test_the_first_lines_of_each_kind_are_named() -> None:
    record = parse_record(f"{OTHER}cut\n{OTHER * 4}{LINE}".encode(), source="r")
    said = [*describe_passed_over(price(record, [deferring()]).passed_over)]

    assert said == [
        f"1 line {_OTHER}: r:2",
        f"5 lines of the build {'1' * 40}: r:1, r:3, r:4, …",
    ]


def test_of_many_builds_the_first_are_told_apart() -> None:
    lines = "".join(f"{number:040x} 00020000\n" for number in range(100))
    found = price(parse_record(f"{lines}{LINE}".encode(), source="r"), [deferring()])

    assert [len(places) for places in found.passed_over.values()] == [1] * 5 + [95]
    assert [*describe_passed_over(found.passed_over)][-1] == (
        "95 lines of still other builds: r:6, r:7, r:8, …"
    )


def test_records_of_several_builds_are_priced_by_their_programs() -> None:
    """A function of two builds counts once."""
    older = replace(
        deferring(), shipped=deferring().shipped.replace(bytes.fromhex(ID), b"\x11" * 20)
    )
    texts = (OTHER, LINE + BEFORE, THIRD)
    record = join_records([parse_record(each.encode(), source=each[:3]) for each in texts])
    found = price(record, [deferring(), older])

    assert tuple(found.prices) == BOTH
    assert found.passed_over == {f"of the build {'2' * 40}": ["222:1"]}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            OTHER,
            f"no line of the record belongs to the build {ID}: 1 line of the build {'1' * 40}: r:1",
        ),
        ("half a line", f"{ID}: 1 line {_OTHER}: r:1"),
        (LINE[:-4], f"{ID}: 1 line cut off in the middle: r:1"),
        (ZEROS, f"{ID}: 1 line {_TORN}: r:1"),
        ("PK\x03\x04", f"1 line {_OTHER}: r:1"),
        (f"{ID} {AT + 1:08x}\n", f"1 line {_NO_ADDRESS}: r:1"),
    ],
)
def test_a_record_in_which_nothing_fits_is_refused(data: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        price(parse_record(data.encode(), source="r"), [deferring()])
    assert said in caught.value.message


@pytest.mark.parametrize("data", ["", "\n", "\r\n \n"])
def test_an_empty_record_says_that_nothing_was_called(data: str) -> None:
    found = price(parse_record(data.encode(), source="r"), [deferring()])
    assert (found.prices, found.passed_over) == ({}, {})


def called(at: int, back: int) -> str:
    return f"{ID} {at:08x} {back:08x}\n"


GROUPS: dict[str, tuple[str, list[tuple[str, int, tuple[str, ...]]]]] = {
    "by what called it": (called(AT, STAYS + 4), [("stays()", 1, ("",))]),
    "a deferred caller": (
        called(AT, STAYS + 4) + called(BEHIND, AT + 8),
        [("stays()", 2, ("",))],
    ),
    "a return behind the caller's last byte": (called(AT, STAYS + 16), [("stays()", 1, ("",))]),
    "two callers": (
        called(AT, STAYS + 4) + called(BEHIND, OTHER_AT + 4),
        [("other()", 1, ("",)), ("stays()", 1, ("",))],
    ),
    "a record of an older runtime": (LINE, [("callers that the record does not name", 1, ("",))]),
    "another file": (called(AT, 0), [("code of another file", 1, ("",))]),
    "no function": (called(AT, 1), [("code that has no name", 1, ("",))]),
    "each other, which is forged": (
        called(AT, BEHIND + 4) + called(BEHIND, AT + 4),
        [("second(int)", 1, ("",)), ("first()", 1, ("",))],
    ),
    "itself": (called(AT, AT + 4), [("first()", 1, ("",))]),
    "a run": (
        f"run: app --fast\n{called(AT, STAYS + 4)}",
        [("stays()", 1, ("app --fast",))],
    ),
    "two runs and the field": (
        called(AT, STAYS + 4) + f"run: app 1\n{called(AT, 0)}run: app 2\n{called(AT, 0)}",
        [("stays()", 1, ("", "app 1", "app 2"))],
    ),
}


@pytest.mark.parametrize("name", GROUPS)
def test_functions_are_grouped_by_what_called_them_first(name: str) -> None:
    data, expected = GROUPS[name]
    found = price(parse_record(data.encode(), source="r"), [deferring()])

    groups = [(each.caller, len(each.functions), each.runs) for each in found.groups]
    assert groups == expected
    assert found.passed_over == {}


def test_a_part_of_a_function_has_the_name_of_the_whole() -> None:
    """It is entered at any of its blocks, so any address in it counts."""
    part = f"{SECOND}.cold"
    made = deferring()
    functions = (*made.table.functions, Function(part, 0x20040, 64))
    made = replace(
        made,
        table=replace(made.table, functions=functions),
        left_out=(*made.left_out, part),
    )
    record = parse_record(f"{ID} {0x20050:08x}\n".encode(), source="r")

    assert price(record, [made]).prices == {("second(int)",): 64}
