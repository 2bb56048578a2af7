"""The programs of a release, as crashes are looked up in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.crashes.left_out import LeftOutFunctions
from megtrim.crashes.program import TrimmedProgram
from megtrim.release.prove import read_release
from megtrim.util.errors import InputError, ProductFailure
from unit.crashes.made_programs import ID, numbered, program
from unit.release.made_releases import write_release


@pytest.mark.parametrize("make", [program, numbered])
def test_it_is_what_the_results_have(make: Callable[[], TrimmedProgram], tmp_path: Path) -> None:
    """The file that ships, the functions of its twin, and what was left out."""
    expected = make()
    folder = write_release(tmp_path / "release", expected)
    trim = read_release(folder, shown="release")

    (found,) = trim.programs
    assert (found.shipped, found.table, found.left_out) == (
        expected.shipped,
        expected.table,
        expected.left_out,
    )
    assert (found.build_id, found.crash_ids) == (ID, expected.crash_ids)
    assert found.trims_regions
    assert len(trim.keep.scenarios) == 3


def test_without_the_list_regions_alone_were_trimmed(tmp_path: Path) -> None:
    """A release by regions has no such list."""
    made = replace(program(), left_out=LeftOutFunctions())
    (found,) = read_release(write_release(tmp_path / "r", made, left_out=""), shown="r").programs

    assert found.left_out == LeftOutFunctions()


def test_without_symbols(tmp_path: Path) -> None:
    """A toolchain whose link strips leaves none."""
    folder = write_release(tmp_path / "r", program(), symbols=False)

    with pytest.raises(InputError, match="r: no program has a twin with symbols"):
        read_release(folder, shown="r")


def test_a_damaged_release(tmp_path: Path) -> None:
    """Nothing is looked up in what is not whole."""
    folder = write_release(tmp_path / "r", program())
    (folder / "symbols/app").write_bytes(b"another")

    with pytest.raises(ProductFailure, match="symbols/app was changed"):
        read_release(folder, shown="r")
