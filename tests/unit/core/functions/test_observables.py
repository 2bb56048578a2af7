from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.core.functions.observables import (
    FunctionList,
    Observables,
    dump_list,
    dump_observables,
    function_list,
    observables,
    parse_list,
    parse_observables,
    read_list,
    read_observables,
)
from megtrim.libs.elf.symbol_table import holding
from megtrim.libs.util.errors import InputError, ProductFailure
from unit.core.functions.made_links import CODE_AT, IFUNC, Symbol, functions, table

LINK = "6e" * 32
TEXT = f"megtrim observables v1\nlink {LINK}\n_Z3barv\n_Z3fooC1v _Z3fooC2v\nmain\n"
FOUND = Observables(link_sha256=LINK, groups=(("_Z3barv",), ("_Z3fooC1v", "_Z3fooC2v"), ("main",)))


def groups(*named: tuple[str, int, int], unprobeable: frozenset[str] = frozenset()) -> object:
    return observables("a" * 64, replace(functions(*named), entry=-1), unprobeable).groups


def test_functions_that_share_code_are_one() -> None:
    assert groups(
        ("alias", 0, 8),
        ("f", 0, 8),
        ("next", 8, 8),
        ("outer", 16, 16),
        ("inner", 24, 4),
        ("last", 28, 4),
        ("behind", 32, 4),
        ("g", 40, 4),
        ("g.cold", 80, 4),
        ("g.cold.1", 84, 4),
        ("g.coldest", 88, 4),
        ("lone.cold", 92, 4),
    ) == (
        ("alias", "f"),
        ("behind",),
        ("g", "g.cold", "g.cold.1"),
        ("g.coldest",),
        ("inner", "last", "outer"),
        ("lone.cold",),
        ("next",),
    )


def test_names_that_lie_in_several_places_join_them() -> None:
    assert groups(("a", 0, 4), ("static", 0, 4), ("b", 8, 4), ("static", 8, 4)) == (
        ("a", "b", "static"),
    )


def test_what_a_recorder_may_miss_is_not_observed() -> None:
    found = table(
        *(Symbol(name=name, at=0) for name in ("malloc", "own_malloc")),
        *(Symbol(name=name, at=4) for name in ("_start", "begins")),
        Symbol(name="memcpy", at=8, kind=IFUNC),
        Symbol(name="choose_memcpy", at=8),
        Symbol(name="memset", at=12),
        Symbol(name="own_memset", at=12),
        *(Symbol(name=name, at=16 + 4 * at) for at, name in enumerate(("f@V1", "megtrim_f", "f"))),
        Symbol(name="entered", at=32),
        Symbol(name="offered", at=36),
        dynamic=(Symbol(name="offered", at=36),),
        entry=CODE_AT + 32,
    )

    assert observables("a" * 64, found, {"memset"}).groups == (("f",),)


def test_a_function_of_no_size_is_observed_where_it_is_alone() -> None:
    assert groups(("empty", 0, 0), ("f", 0, 4), ("label", 2, 0), ("bare", 8, 0)) == (
        ("bare",),
        ("f",),
    )


def test_a_run_is_shown_in_whole_groups() -> None:
    assert FOUND.ran(["_Z3fooC2v", "_Exit"]) == ("_Z3fooC1v", "_Z3fooC2v")
    assert FOUND.ran(["main", "_Z3barv"]) == ("_Z3barv", "main")
    assert FOUND.ran(["_Exit"]) == ()
    assert FOUND.names == {"_Z3barv", "_Z3fooC1v", "_Z3fooC2v", "main"}


SPAN = st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 40), st.integers(0, 12))


@given(st.lists(SPAN, min_size=1, max_size=10), st.data())
def test_entries_tell_the_same_as_all_addresses(
    spans: list[tuple[str, int, int]], data: st.DataObject
) -> None:
    found = replace(functions(*spans), entry=-1)
    seen = observables("a" * 64, found, ())
    entries = data.draw(st.sets(st.sampled_from([each.address for each in found.functions])))
    # What runs from an entry on ends with some function that holds it.
    ends = {
        at: max(e.address + max(e.size_bytes, 1) for e in found.functions if e.address == at)
        for at in entries
    }
    every = {address for at in entries for address in range(at, ends[at])}

    assert seen.ran(holding(found, entries)) == seen.ran(holding(found, every))


def test_what_is_observed_enters_the_identity() -> None:
    found = functions(("f", 0, 4), ("g", 8, 4))
    identities = {
        observables(sha256 * 64, found, hidden).link_sha256
        for sha256, hidden in (("a", ()), ("b", ()), ("a", ("g",)))
    }

    assert len(identities) == 3


def test_a_file_holds_one_group_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert dump_observables(FOUND) == TEXT
    (tmp_path / "f").write_text(TEXT, encoding="utf-8")
    assert parse_observables(TEXT.encode(), source="x") == read_observables(tmp_path / "f") == FOUND
    with pytest.raises(InputError, match="none: cannot be read"):
        read_observables(tmp_path / "none")
    monkeypatch.setattr("megtrim.core.functions.observables.MAX_BYTES", len(TEXT) - 1)
    with pytest.raises(InputError, match=r"f\.txt:1: more than"):
        parse_observables(TEXT.encode(), source="f.txt")


def refusal(parse: Callable[..., object], text: str) -> InputError:
    with pytest.raises(InputError) as caught:
        parse(text.encode(), source="f.txt")
    return caught.value


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        (TEXT, "", 1, "found '', expected 'megtrim observables v1'"),
        ("observables v1", "functions v1", 1, "found 'megtrim functions v1', expected"),
        ("link 6e", "link 6E", 2, "expected the word link and a sha256"),
        ("main", "ma;in", 5, "found 'ma;in', expected a linkage name"),
        ("C1v _Z3", "C1v  _Z3", 4, "found '', expected a linkage name"),
        ("main", "_Z3fooC2v", 5, "a name occurs twice"),
        ("_Z3fooC1v _Z3fooC2v", "_Z3fooC1v _Z3fooC1v", 4, "a name occurs twice"),
        ("_Z3fooC1v _Z3fooC2v", "_Z3fooC2v _Z3fooC1v", 4, "its names are not sorted"),
        ("main", "_A", 5, "'_A' does not come after the line before"),
        ("main\n", "main", 5, "the last line does not end with a newline: is the file truncated?"),
    ],
)
def test_what_is_no_such_file_is_refused(old: str, new: str, line: int, said: str) -> None:
    error = refusal(parse_observables, TEXT.replace(old, new, 1))

    assert error.message.startswith(f"f.txt:{line}: {said}")
    assert error.hint == "it is written with each link: trim again"


LISTED = f"megtrim functions v1\nlink {LINK}\n_Z3barv\n_Z3foov\nmain\n"


def observed(*names: str) -> Observables:
    return Observables(link_sha256=LINK, groups=tuple((name,) for name in names))


def test_names_stand_sorted_behind_their_link(tmp_path: Path) -> None:
    ran = ["main", "_Z3foov", "_Z3barv", "main"]
    found = function_list(observed("_Z3barv", "_Z3foov", "main"), ran)
    (tmp_path / "f.txt").write_text(LISTED, encoding="utf-8")

    assert found == FunctionList(link_sha256=LINK, names=("_Z3barv", "_Z3foov", "main"))
    assert dump_list(found) == LISTED
    assert parse_list(LISTED.encode(), source="x") == read_list(tmp_path / "f.txt") == found
    with pytest.raises(InputError, match="none: cannot be read"):
        read_list(tmp_path / "none")


def test_a_list_is_the_same_whoever_recorded_the_run() -> None:
    """A run of no function is a named failure."""
    seen = Observables(link_sha256=LINK, groups=(("_Z3barv",), ("_Z3foov", "main")))

    assert dump_list(function_list(seen, ["_Exit", "main", "_start", "_Z3barv"])) == LISTED
    assert dump_list(function_list(seen, ["_Z3foov", "_Z3barv"])) == LISTED
    with pytest.raises(ProductFailure, match="none of the listed functions ran"):
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
        *(
            ("main\n", f"{name}\n", 5, f"found {shown}, expected a linkage name")
            for name, shown in (
                ("ma in", "'ma in'"),
                ('"', "'\"'"),
                ("", "''"),
                ("main\r", r"'main\r'"),
                ("m\u00e4in", r"'m\\xc3\\xa4in'"),
            )
        ),
        ("_Z3foov", "_Z3barv", 4, "'_Z3barv' does not come after the line before"),
        ("_Z3foov", "_A", 4, "'_A' does not come after the line before"),
    ],
)
def test_what_is_no_list_is_refused_with_file_and_line(
    old: str, new: str, line: int, said: str
) -> None:
    error = refusal(parse_list, LISTED.replace(old, new, 1))

    assert error.message.startswith(f"f.txt:{line}: {said}")
    assert error.hint == "record the functions again"


@given(st.integers(0, len(LISTED)), st.binary(max_size=8))
def test_a_damaged_list_is_read_or_refused(at: int, noise: bytes) -> None:
    data = LISTED.encode()
    try:
        found = parse_list(data[:at] + noise + data[at + len(noise) :], source="x")
    except InputError:
        return

    assert parse_list(dump_list(found).encode(), source="x") == found
