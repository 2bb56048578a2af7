"""What a committed keep set misses of what was traced now."""

from __future__ import annotations

from dataclasses import replace

from megtrim.midout.keepset import KeepSet, ScenarioRecord
from megtrim.midout.staleness import differing, find_gaps, of_another_link
from megtrim.models.operators import OperatorNeeds
from unit.stages.support import keep_set

LINK, OTHER = "c" * 64, "d" * 64


def keep(*records: ScenarioRecord) -> KeepSet:
    return replace(keep_set(), scenarios=records)


def record(*numbers: int, **changes: object) -> ScenarioRecord:
    """Return a scenario that ran ``kern<N>`` for each number."""
    [made] = keep_set(*numbers).scenarios
    return replace(made, **changes)  # type: ignore[arg-type]


def test_what_holds_all_misses_nothing() -> None:
    """More than is needed is no lack, nor is another trace of the same regions."""
    before = keep(record(1, 2, 3), record(4, id="gone/s@any"))

    assert find_gaps(before, keep(record(1, 2))) == ()
    assert find_gaps(before, keep(record(1, 2, trace_sha256="e" * 64))) == ()


def test_regions_that_no_scenario_lists_are_named() -> None:
    """The first five; one that another scenario lists is kept all the same."""
    before = keep(record(1), record(2, id="n/s@any"))

    assert find_gaps(before, keep(record(1, 2))) == ()
    assert find_gaps(before, keep(record(1, *range(3, 9)))) == (
        "m/s@any needs kern<3>, kern<4>, kern<5>, kern<6>, kern<7> and 1 more",
    )


def test_a_scenario_that_is_new_or_another_is_named() -> None:
    """A build from the file would refuse to verify it."""
    before = keep(record(1))
    changes = {"arguments": ("--x",), "threads": 2, "environment": (("A", "b"),)}
    now = keep(record(1, **changes), record(1, id="n/s@any"))

    assert find_gaps(before, now) == (
        (
            "m/s@any is not what was traced: the arguments, the number of threads, the environment "
            "changed"
        ),
        "n/s@any is not in it",
    )
    assert differing(record(1), record(2)) == ""


def test_functions_count_within_one_link() -> None:
    """Another link inlines others: that it is another is all that can be said."""
    before = keep(record(1, functions=("a",), link_sha256=LINK))
    more = keep(record(1, functions=("a", "b"), link_sha256=LINK))
    elsewhere = keep(record(1, functions=("a", "b"), link_sha256=OTHER))

    assert find_gaps(before, more) == ("m/s@any needs b",)
    assert of_another_link(before, more) == ()
    assert find_gaps(before, elsewhere) == ()
    assert of_another_link(before, elsewhere) == ("m/s@any",)


def test_functions_that_were_never_recorded_lack() -> None:
    """A file of regions alone, and functions are trimmed now."""
    now = keep(record(1, functions=("a",), link_sha256=LINK))

    assert find_gaps(keep(record(1)), now) == ("m/s@any needs a",)
    assert of_another_link(keep(record(1)), now) == ()


def test_operators_and_the_header_count() -> None:
    """All operators are more than some, and another generation is another file."""

    def needs(*names: str) -> OperatorNeeds:
        users = tuple((name, ("m",)) for name in names)
        return OperatorNeeds(hashes=(), dtypes=(), operators=users, elemwise_modes=())

    before = replace(keep(record(1)), operators=needs("A"))

    assert find_gaps(before, replace(before, operators=needs("A", "B", "C"))) == (
        "the models need the operators B, C",
    )
    assert find_gaps(before, replace(before, operators=None)) == (
        "all operators are needed, and it lists some",
    )
    assert find_gaps(replace(before, operators=None), before) == ()
    assert find_gaps(before, replace(before, generation=20190219)) == (
        "the engine has header generation 20190219, not 20220507",
    )
