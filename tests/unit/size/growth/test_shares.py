"""Growth is divided as far as symbols prove it, and adds up to the byte."""

from __future__ import annotations

import random

import pytest

from megtrim.size.byte_change import ByteChange
from megtrim.size.growth.causes import Cause
from megtrim.size.growth.shares import GrowthEvidence, divide_growth

SOURCE, FLAGS, KEEP, DEPENDENCIES, TOOLCHAIN = (
    Cause.SOURCE,
    Cause.FLAGS,
    Cause.KEEP_SET,
    Cause.DEPENDENCIES,
    Cause.TOOLCHAIN,
)

WORDS = frozenset({"Add", "run", "helper"})


def change(label: str, before: int, after: int, component: str = "operators") -> ByteChange:
    return ByteChange(component=component, label=label, before_bytes=before, after_bytes=after)


def causes_of(one: ByteChange, *causes: Cause, **evidence: object) -> tuple[Cause, ...]:
    """Return who has a change."""
    known = GrowthEvidence(causes=causes, **evidence)  # type: ignore[arg-type]
    (share,) = divide_growth([one], known)
    return share.causes


def test_one_cause_has_everything() -> None:
    """Whatever changed."""
    changes = [change("f", 1, 9), change("[padding]", 5, 2, "padding")]

    (share,) = divide_growth(changes, GrowthEvidence(causes=(FLAGS,)))

    assert (share.causes, share.growth_bytes) == ((FLAGS,), 5)
    assert (share.grown_bytes, share.shrunk_bytes, share.largest) == (8, 3, ("f",))


@pytest.mark.parametrize(
    ("one", "left"),
    [
        (change("mgb::opr::Add::run(…)", 10, 20), (SOURCE, TOOLCHAIN)),
        (change("mgb::opr::Sub::run(…)", 10, 20), (TOOLCHAIN,)),
        (change("mgb::opr::Sub::run(…)", 0, 20), (SOURCE, TOOLCHAIN)),
        (change("mgb::opr::helper(…)", 10, 20), (SOURCE, TOOLCHAIN)),
        (change("mgb::(anonymous namespace)::run(…)", 10, 20), (SOURCE, TOOLCHAIN)),
        (change("mgb::opr::other(…)", 10, 20), (TOOLCHAIN,)),
        (change("mgb::opr::Sub<…>::run(…)", 10, 20), (SOURCE, TOOLCHAIN)),
        (change("memcpy", 10, 20, "C library"), (TOOLCHAIN,)),
        (change("regcomp", 0, 20, "C library"), (SOURCE, TOOLCHAIN)),
        (change("[relocations]", 10, 20, "relocations"), (SOURCE, TOOLCHAIN)),
    ],
)
def test_source_is_ruled_out_by_names(one: ByteChange, left: tuple[Cause, ...]) -> None:
    """A function that stayed, and that no file that differs names, is as it was written."""
    assert causes_of(one, SOURCE, TOOLCHAIN, source_words=WORDS) == left


def test_a_header_may_change_anything() -> None:
    """And so may a link that inlines."""
    one = change("mgb::opr::Sub::run(…)", 10, 20)

    assert causes_of(one, SOURCE, TOOLCHAIN) == (SOURCE, TOOLCHAIN)
    whole = causes_of(one, SOURCE, TOOLCHAIN, source_words=WORDS, links_as_a_whole=True)
    assert whole == (SOURCE, TOOLCHAIN)


def test_functions_that_are_kept_are_linked_as_they_are() -> None:
    """One that was there before has other bytes for another reason."""
    known = {"functions_only": True, "kept_names": frozenset({"f"})}

    assert causes_of(change("f", 0, 9), KEEP, FLAGS, **known) == (KEEP, FLAGS)
    assert causes_of(change("g", 4, 9), KEEP, FLAGS, **known) == (FLAGS,)
    assert causes_of(change("g", 4, 9), KEEP, FLAGS) == (KEEP, FLAGS)


@pytest.mark.parametrize(
    ("component", "headers", "left"),
    [
        ("dependencies/cpuinfo", False, (DEPENDENCIES,)),
        ("operators", False, (SOURCE,)),
        ("operators", True, (SOURCE, DEPENDENCIES)),
        ("other", False, (SOURCE, DEPENDENCIES)),
    ],
)
def test_a_third_party_has_its_own_code(
    component: str, headers: bool, left: tuple[Cause, ...]
) -> None:
    """The engine's code is of it only if it includes a file that differs."""
    found = causes_of(
        change("f", 4, 9, component),
        SOURCE,
        DEPENDENCIES,
        dependencies=frozenset({"cpuinfo"}),
        headers_of_dependencies=headers,
    )
    assert found == left


def test_if_all_are_ruled_out_all_are_left() -> None:
    """What is known is wrong then."""
    one = change("f", 4, 9, "dependencies/gflags")
    found = causes_of(one, SOURCE, DEPENDENCIES, headers_of_dependencies=False)

    assert found == (SOURCE, DEPENDENCIES)


def test_shares_add_up() -> None:
    """Of any changes and causes."""
    numbers = random.Random(7)
    for _ in range(200):
        changes = [
            change(
                numbers.choice(["f", "a::g(…)", "v<…>::h", "[padding]"]),
                numbers.randrange(3) * numbers.randrange(500),
                numbers.randrange(500),
                numbers.choice(["operators", "C library", "dependencies/x", "padding"]),
            )
            for _ in range(20)
        ]
        evidence = GrowthEvidence(
            causes=tuple(each for each in Cause if numbers.random() < 0.5),
            source_words=frozenset({"g"}) if numbers.random() < 0.5 else None,
            headers_of_dependencies=numbers.random() < 0.5,
            functions_only=numbers.random() < 0.5,
        )
        shares = divide_growth(changes, evidence)
        assert sum(each.growth_bytes for each in shares) == sum(
            each.growth_bytes for each in changes
        )
        assert len({each.causes for each in shares}) == len(shares)
