from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.functions.observables import (
    FunctionList,
    Observables,
    dump_list,
    function_list,
    parse_list,
    read_list,
)
from megtrim.util.errors import InputError, ProductFailure

LINK = "6e" * 32
TEXT = f"megtrim functions v1\nlink {LINK}\n_Z3barv\n_Z3foov\nmain\n"


def observed(*names: str) -> Observables:
    return Observables(link_sha256=LINK, groups=tuple((name,) for name in names))


def test_names_stand_sorted_behind_their_link() -> None:
    found = function_list(
        observed("_Z3barv", "_Z3foov", "main"), ["main", "_Z3foov", "_Z3barv", "main"]
    )

    assert found == FunctionList(link_sha256=LINK, names=("_Z3barv", "_Z3foov", "main"))
    assert dump_list(found) == TEXT
    assert parse_list(TEXT.encode(), source="x") == found


def test_a_list_is_the_same_whoever_recorded_the_run() -> None:
    seen = Observables(link_sha256=LINK, groups=(("_Z3barv",), ("_Z3foov", "main")))

    assert dump_list(function_list(seen, ["_Exit", "main", "_start", "_Z3barv"])) == TEXT
    assert dump_list(function_list(seen, ["_Z3foov", "_Z3barv"])) == TEXT


def test_a_run_of_no_function_is_a_named_failure() -> None:
    with pytest.raises(ProductFailure, match="no function of the list ran"):
        function_list(observed("main"), ["_Exit"])


NAMES = st.from_regex(r"[A-Za-z_.$][A-Za-z0-9_.$]{0,12}", fullmatch=True)


@given(st.sets(NAMES, min_size=1, max_size=20))
def test_any_list_survives_its_file(names: set[str]) -> None:
    seen = observed(*sorted(names))
    found = function_list(seen, names)

    assert parse_list(dump_list(found).encode(), source="x") == found
    assert dump_list(found) == dump_list(function_list(seen, sorted(names, reverse=True)))


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("v1", "v2", 1, "found 'megtrim functions v2', expected"),
        ("6e\n", "6\n", 2, "expected the word link and a sha256"),
        (f"link {LINK}\n", "", 2, "expected the word link and a sha256"),
        ("_Z3barv\n_Z3foov\nmain\n", "", 3, "a list without any function"),
        ("main\n", "ma in\n", 5, "found 'ma in', expected a linkage name"),
        ("main\n", "m\u00e4in\n", 5, "found 'm\\\\xc3\\\\xa4in', expected a linkage name"),
        ("_Z3foov", "_Z3barv", 4, "'_Z3barv' does not come after the line before"),
        ("_Z3foov", "_A", 4, "'_A' does not come after the line before"),
    ],
)
def test_what_is_no_list_is_refused_with_file_and_line(
    old: str, new: str, line: int, said: str
) -> None:
    with pytest.raises(InputError) as caught:
        parse_list(TEXT.replace(old, new, 1).encode(), source="f.txt")

    assert caught.value.message.startswith(f"f.txt:{line}: {said}")
    assert caught.value.hint == "record the functions again"


@given(st.integers(0, len(TEXT)), st.binary(max_size=8))
def test_a_damaged_list_is_read_or_refused(at: int, noise: bytes) -> None:
    data = TEXT.encode()
    try:
        found = parse_list(data[:at] + noise + data[at + len(noise) :], source="x")
    except InputError:
        return

    assert parse_list(dump_list(found).encode(), source="x") == found


def test_a_list_is_read_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text(TEXT, encoding="utf-8")

    assert read_list(tmp_path / "f.txt").names == ("_Z3barv", "_Z3foov", "main")
    with pytest.raises(InputError, match="none: cannot be read"):
        read_list(tmp_path / "none")
