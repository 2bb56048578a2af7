from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.chain import store as stores
from megtrim.chain.store import Store
from megtrim.crashes.trimmed_programs import read_newest
from megtrim.util.errors import InputError
from unit.chain.made_trims import forget, leave_header, trim_by_functions, trim_by_regions
from unit.crashes.made_programs import ID


@pytest.mark.parametrize("crash_ids", [False, True])
def test_a_trim_by_functions(tmp_path: Path, crash_ids: bool) -> None:
    made = read_newest(trim_by_functions(tmp_path, crash_ids=crash_ids))

    (program,) = made.programs
    assert (program.name, program.build_id) == ("app", ID)
    assert program.left_out == ("_Z5firstv", "_Z6secondi")
    assert program.crash_ids is crash_ids
    assert [record.id for record in made.keep.scenarios] == ["m/s@any"]


def test_a_trim_by_regions(tmp_path: Path) -> None:
    made = read_newest(trim_by_regions(tmp_path))

    (program,) = made.programs
    assert (program.left_out, program.trims_regions) == ((), True)


def test_a_header_that_the_program_was_not_made_of(tmp_path: Path) -> None:
    """It is newer, for a trim that has not ended."""
    store = trim_by_regions(tmp_path)
    before = read_newest(store).keep
    leave_header(store)

    assert read_newest(store).keep == before


def test_no_trim(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no trimmed program in"):
        read_newest(Store(tmp_path))
    store = trim_by_functions(tmp_path)
    forget(store, "functions")
    with pytest.raises(InputError, match="there is no trimmed program in"):
        read_newest(store)


def test_a_trim_of_another_megtrim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = trim_by_functions(tmp_path)
    monkeypatch.setattr(stores, "code_digest", lambda: "another")

    with pytest.raises(InputError, match="another version of megtrim made the results in"):
        read_newest(store)


def test_a_program_without_symbols_among_others(tmp_path: Path) -> None:
    made = read_newest(trim_by_functions(tmp_path, more={"bin/libbare.so": b"stripped"}))

    assert [each.name for each in made.programs] == ["app"]
    assert made.nameless == ("libbare.so",)


def test_no_twin(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no program has a twin with symbols"):
        read_newest(trim_by_functions(tmp_path, twin=False))
