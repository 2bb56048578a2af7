import json
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.core.chain import result_store as stores
from megtrim.core.chain.result_store import Store
from megtrim.core.functions.guards import MISSING
from megtrim.libs.elf.symbol_table import parse_table
from megtrim.libs.util.errors import InputError
from megtrim.ship.crashes.program import dump_left_out, parse_left_out
from megtrim.ship.crashes.trimmed_programs import make_program, read_newest
from support.made_programs import ID, STAYS, STUB_AT, numbered_file
from unit.core.chain.made_trims import forget, leave_header, trim_by_functions, trim_by_regions
from unit.core.functions.made_links import ARM, X86_64, Symbol, linked
from unit.ship.crashes.made_programs import program


def test_a_program_knows_its_traps_bytes_and_addresses() -> None:
    made = program()

    assert made.traps == (STAYS + 8, STUB_AT)
    assert [made.is_trap(STAYS + at) for at in (0, 4, 8, 12)] == [False, False, True, False]
    assert made.build_id == ID
    assert (made.is_fixed, program(fixed=True).is_fixed) == (False, True)
    assert made.word(STUB_AT, 4).hex() == "200020d4"
    assert made.word(STUB_AT + 2, 9).hex() == "20d4"
    assert made.word(STAYS - 1, 4) == made.word(STUB_AT + 4, 4) == b""
    assert made.address_of(0x1000) == STAYS
    assert (made.address_of(0xFFF), made.address_of(0x1000 + 36)) == (None, None)


def test_the_traps_of_x86_64() -> None:
    data = linked((), code=b"\x90\x0f\x0b\x90\x0f\xb9\x80\x01\x00\x00\x00", machine=X86_64)

    assert program(shipped=data).traps == (STAYS + 1, STAYS + 4)
    with pytest.raises(InputError, match="app: a damaged ELF file"):
        _ = program(shipped=b"\x7fELF").code


def test_the_traps_of_32_bit_arm() -> None:
    """Those of Thumb code and of Arm code, each where a function has such code."""
    thumb = bytes.fromhex("fede 00bf f1f734a6 00bf")
    arm = bytes.fromhex("fedeffe7 f463f1e7")
    code = (thumb + bytes(2)) + arm + bytes.fromhex("0000 fede fedeffe7")
    symbols = (Symbol(name="t", at=1, size=10), Symbol(name="a", at=12, size=8))
    data = linked(symbols, code=code, machine=ARM)
    made = program(shipped=data, table=parse_table(data, source="app"))

    assert made.traps == tuple(STAYS + at for at in (0, 4, 12, 16, 22, 24))
    assert made.machine == ARM


SHA256 = "5e" * 32


def test_what_is_written_is_read() -> None:
    for made in (program().left_out, ()):
        text = dump_left_out(made, program_sha256=SHA256)
        assert parse_left_out(text, source="s") == (made, SHA256)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"functions": ["b", "a"]}, "functions: found an entry out of order, or twice"),
        ({"functions": ["a", "a"]}, "functions: found an entry out of order, or twice"),
        ({"version": 3}, "version: found 3, expected 4"),
        ({"more": 1}, "more: found 1, expected no such key"),
    ],
)
def test_a_damaged_list(change: dict[str, object], message: str) -> None:
    text = dump_left_out(program().left_out, program_sha256=SHA256)
    changed = json.dumps(json.loads(text) | change)

    with pytest.raises(InputError, match=rf"symbols/app\.left-out\.json.*{message}"):
        parse_left_out(changed, source="symbols/app.left-out.json")


@pytest.mark.parametrize("crash_ids", [False, True])
def test_a_trim_by_functions(tmp_path: Path, crash_ids: bool) -> None:
    made = read_newest(trim_by_functions(tmp_path, crash_ids=crash_ids))

    (program,) = made.programs
    assert (program.name, program.build_id) == ("app", ID)
    assert program.left_out == ("_Z5firstv", "_Z6secondi")
    assert program.crash_ids is crash_ids
    assert [record.id for record in made.keep.scenarios] == ["m/s@any"]


def test_a_library_with_guards_has_no_crash_ids(tmp_path: Path) -> None:
    """Its stubs have numbers as well, but trap all in one place."""
    data = numbered_file()
    table = parse_table(data, source="app")
    guarded = replace(table, exported=frozenset((MISSING,)))
    keep = read_newest(trim_by_functions(tmp_path)).keep

    made = [make_program("app", data, each, (), keep, crash_ids=None) for each in (table, guarded)]

    assert [each.crash_ids for each in made] == [True, False]


@pytest.mark.parametrize("crash_ids", [False, True])
def test_what_a_trim_says_of_itself_is_no_guess(tmp_path: Path, crash_ids: bool) -> None:
    """Each function that was left out may have a stub of its own without crash ids, too."""
    data = numbered_file()
    table = parse_table(data, source="app")
    keep = read_newest(trim_by_functions(tmp_path)).keep

    found = make_program("app", data, table, (), keep, crash_ids=crash_ids)
    assert found.crash_ids is crash_ids


def test_a_trim_by_regions_and_a_header_that_its_program_was_not_made_of(tmp_path: Path) -> None:
    """The header is newer, for a trim that has not ended."""
    store = trim_by_regions(tmp_path)
    made = read_newest(store)
    leave_header(store)

    (program,) = made.programs
    assert (program.left_out, program.trims_regions) == ((), True)
    assert read_newest(store).keep == made.keep


def test_no_trim_or_one_of_another_megtrim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="there is no trimmed program in"):
        read_newest(Store(tmp_path))
    store = trim_by_functions(tmp_path)
    monkeypatch.setattr(stores, "code_digest", lambda: "another")
    with pytest.raises(InputError, match="another version of megtrim made the results in"):
        read_newest(store)
    monkeypatch.undo()
    forget(store, "functions")
    with pytest.raises(InputError, match="there is no trimmed program in"):
        read_newest(store)


def test_a_program_without_symbols_among_others(tmp_path: Path) -> None:
    made = read_newest(trim_by_functions(tmp_path, more={"bin/libbare.so": b"stripped"}))

    assert [each.name for each in made.programs] == ["app"]
    assert made.nameless == ("libbare.so",)


def test_no_twin(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no program has a twin with symbols"):
        read_newest(trim_by_functions(tmp_path, twin=False))
